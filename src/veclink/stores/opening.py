"""Opening what a URL or a path names: as a store, or as a whole collection, with other payload where some is given."""

from __future__ import annotations

import mmap
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from veclink.data.collection import Collection, as_ids
from veclink.errors import InputError, OutputError, StoreError, UnusedIdsWarning, named, plural, readable_size
from veclink.files.atomic import MORE_ROOM, scratch_file, unchanged
from veclink.files.memory import limited, reading_memory, size_of
from veclink.files.tables import read_parquet, readable
from veclink.progress import Progress, ProgressListener
from veclink.stores.arrow import (
    IDS,
    NAMELESS,
    arrow_table,
    can_be_ids,
    collection_of,
    id_field,
    ids_of,
    index_columns,
    is_frame,
    one_table,
)

# What reads files and stores is imported where it is used: arrays are linked without.
if TYPE_CHECKING:
    from veclink.stores.protocol import Store
    from veclink.stores.urls import Address


def open_collection(
    source: Any,
    *,
    ids: str | Path | Sequence[Any] | np.ndarray | None = None,
    payload: Any = True,
    memory: int | str | None = None,
    progress: ProgressListener | None = None,
) -> Collection:
    """Open a collection: a file, a store's URL, an array or a frame.

    Parameters
    ----------
    source : path, URL, (n, d) array, list of vectors, frame or Collection
        A store is read once, read-only, into a memory-mapped scratch file. A frame is one of pandas or polars, an Arrow
        table, or a column of fixed-size lists.
    ids : path or (n,) ids, optional
        The ids themselves, or a file of them (.txt with one a line, .csv with a column `id`, .npy); they replace the
        collection's own. Without it, a file `X.ids.txt` beside `X.npy` (or any other ending) is used where X has none.
    payload : bool, path, frame, mapping or (n,) titles
        Whether to read a store's payload. Or another payload: a CSV, Parquet or JSONL file, a text file with a title a
        line, a frame, columns by their names, or a list of titles. With ids, a column `id` finds each object's line.
        Without, line i is row i: the lines must be in the order of the vectors.
    memory : int or str, optional
        Memory to use on top of the size of the input, such as "500MB" (default: what the machine has). What would
        unpack to more is refused.
    progress : callable, optional
        Called with the progress.
    """
    if isinstance(source, Collection):
        collection = source
    elif isinstance(source, (str, Path)):
        collection = _opened(source, memory, progress, ids=ids is None, payload=payload is True)
    elif is_frame(source):
        collection = collection_of(source)
    elif hasattr(source, "collect"):
        raise InputError(f"This is a {type(source).__name__}; give what its .collect() returns.")
    else:
        collection = Collection.from_array(source)
    if isinstance(ids, (str, Path)):
        from veclink.stores.files import read_ids

        collection = replace(collection, ids=read_ids(ids))
    elif ids is not None:
        given: Any = ids  # they take their form there
        collection = replace(collection, ids=given)
    if not isinstance(payload, bool):
        collection = with_payload(collection, payload)
    elif isinstance(source, Collection):  # whoever opened it was told
        return collection
    if collection.ids is None and collection.payload is not None:
        _tell_of_ids(collection, collection.payload)
    return collection


def open_store(source: str | Path, *, write: bool = False) -> Store:
    """The store behind a URL or a path, opened read-only unless `write`; it need not be there in order to write it.

    Reading one that is not there is an InputError; one that cannot be reached is a StoreError.
    """
    store = open_target(source, write=write)
    if write:
        return store
    try:
        there = store.exists()
        if store.half_written():
            raise InputError(f"{store.name} was left half-written by a run that was stopped; write it again.")
        if not there:
            raise InputError(f"{store.name} does not exist; check the name.")
    except BaseException:
        store.close()
        raise
    return store


def open_target(source: str | Path, *, write: bool) -> Store:
    """The store that a result goes to; in a dry run, without `write`, looking at it makes nothing."""
    from veclink.stores.urls import CLASSES

    address = address_of(source)
    module, _, name = CLASSES[address.kind].rpartition(".")
    kind: type[Store] = getattr(import_module(f"veclink.stores.{module}"), name)
    return kind(address, writable=write)


def check_free(target: str | Path) -> None:
    """Refuse a target where something is already, before the long work that would fill it."""
    with open_target(target, write=False) as store:
        store.check_free()


def _opened(
    source: str | Path, memory: int | str | None, progress: ProgressListener | None, *, ids: bool, payload: bool
) -> Collection:
    """The collection behind a URL or a path. ids: whether those of a file beside it are read."""
    from veclink.stores.files import ids_file, read_file, read_ids_beside

    address = address_of(source)
    most = reading_memory(memory, address.path)
    with limited(most, address.shown):
        if address.kind == "files":
            return read_file(address, most, ids=ids)
        with open_store(source) as store:
            if address.kind != "parquet_file" or address.path is None:
                return read_store(store, payload=payload, progress=progress)
            with unchanged(address.path, ids_file(address.path)):
                collection = read_store(store, progress=progress)  # titles of a file cost little, and check the links
                if ids and collection.ids is None:
                    collection = replace(collection, ids=read_ids_beside(address.path))
                return collection


def address_of(source: str | Path) -> Address:
    """The address of a URL, of a file by its ending, or of a folder by what is in it."""
    from veclink.stores.urls import FILE_ENDINGS, STORE_ENDINGS, Address, is_url, parse_url

    if isinstance(source, str) and is_url(source):
        return parse_url(source)
    if not str(source).strip():
        raise InputError("The name of a collection is empty; give a file, or the URL of a store.")
    path = Path(source)
    before, mark, options = str(source).partition("?")
    try:
        if mark and Path(before).is_file() and not path.exists():  # a file with the options of a URL: t.parquet?id=sku
            return parse_url(f"{Path(before).absolute().as_uri()}?{options}")
        ending = path.suffix.lower()
        kind = STORE_ENDINGS.get(ending, "files")
        if ending not in (*FILE_ENDINGS, *STORE_ENDINGS) and path.is_dir():
            if all(each.name.startswith(".") for each in path.glob("*.parquet")):
                raise InputError(f"{path} is a folder, and no collection; name a file in it.")
            kind = "parquet_folder"
        with suppress(PermissionError):  # which is told when it is read
            path.exists()
    except OSError as error:  # a name that is too long
        raise InputError(f"{str(source)[:60]}… cannot be opened ({error.strerror}); check the name.") from error
    return Address(kind=kind, path=path, shown=str(path))


SCALE = "scale"
"""The field of what int8 vectors are to be multiplied by."""
SUSPECT, RATIO = 1 << 30, 100
"""Bytes of vectors from which on they are suspect if they are so many times the bytes of the files they are in."""
BATCH_BYTES = 16 << 20  # of vectors, at most: a batch is held a few times over while it is read


def read_store(
    store: Store, *, payload: bool = True, progress: ProgressListener | None = None, size: int | None = None
) -> Collection:
    """The whole collection; its files have no names, and the system frees them with the last use."""
    from veclink.stores.protocol import BATCH

    count, dimension, dtype = store.count(), store.dimension(), store.dtype
    shape = count, dimension if count else max(dimension, 1)
    like = Collection.from_array(np.broadcast_to(np.zeros((), dtype), shape), name=store.name)  # or it is refused
    if not count:
        return like
    width, path = dimension * dtype.itemsize, store.address.path
    # real vectors hardly get smaller when packed
    if path is not None and count * width > max(SUSPECT, RATIO * size_of(path)):
        packed, unpacked = readable_size(size_of(path)), readable_size(count * width)
        raise InputError(f"{store.name} has {packed} and would unpack to {unpacked} of vectors; no real ones do.")
    scaled = dtype == np.int8 and SCALE in store._fields
    vectors = scratch_file(count * width, f"vectors of {store.name}")
    tables = scratch_file(0, "payload")
    ids: list[np.ndarray] = []
    rows, began = 0, time.monotonic()
    batches = store.batches(size or max(1, min(BATCH, BATCH_BYTES // width)), payload=payload or scaled)
    with vectors, tables, closing(batches):  # no engine is closed under a reader
        for batch in batches:
            try:
                vectors.write(np.ascontiguousarray(batch.vectors, dtype).data)
                if batch.payload is not None:
                    with ipc.new_stream(tables, batch.payload.schema) as writer:
                        writer.write_table(batch.payload)
            except OSError as error:
                reason = error.strerror or error
                raise OutputError(f"The scratch space is full after {rows:,} rows ({reason}); {MORE_ROOM}.") from error
            if batch.ids is not None:
                ids.append(batch.ids.copy())  # a view of an Arrow column would keep the batch's vectors as well
            rows += len(batch)
            if progress is not None:
                rate = rows / max(time.monotonic() - began, 1e-9)
                progress(Progress(rows, count, 0, None, f"reading {store.name}", rows_per_second=rate))
        if rows != count:
            raise StoreError(f"{store.name} changed while it was read: of {count:,} rows {rows:,} came; read again.")
        vectors.flush()
        mapped = np.memmap(vectors, dtype, "r", shape=(rows, dimension))
        table, scale = _mapped_tables(tables), None
        if scaled:
            # one row would read as one number for all, which is the same thing
            scale, table = table.column(SCALE).to_numpy().reshape(-1, 1), table.drop_columns([SCALE])
        kept = table if payload and table is not None and table.num_columns else None
        return Collection.from_array(mapped, _one_kind(ids), kept, scale, store.name)


def _mapped_tables(file: Any) -> Any:
    """The payload of all batches as one table, read where it lies."""
    file.flush()
    if not file.tell():
        return None
    source = pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    tables = []
    while source.tell() < source.size():
        tables.append(ipc.open_stream(source).read_all())
    return one_table(tables)


def _one_kind(parts: list[np.ndarray]) -> np.ndarray | None:
    """The ids of all batches: integers if all are, else text."""
    if any(part.dtype == object for part in parts):
        return as_ids([each for part in parts for each in part.tolist()])
    return np.concatenate(parts) if parts else None


ENDINGS = (".csv", ".parquet", ".jsonl", ".txt")
TITLE = "title"
"""The column that values without a name become."""
LIKE_ID = re.compile(r"(^|[_\W])(id|uid|uuid|guid|key)$|^(doc|document)id$|(?-i:[a-z]I[Dd]$)", re.IGNORECASE)
"""How a column may be called whose values name the rows, though nobody said so: doc_id, docId, uid, key."""
SPELLINGS = {spelling: name for name in IDS for spelling in (name, name.upper(), name.capitalize())}
"""What the column of ids may be called, and the name it then has."""


def with_payload(collection: Collection, payload: Any) -> Collection:
    """The collection with other payload than its own.

    A column `id` (or `ids`, also in capitals) finds each object's line, where the collection has ids, and so does the
    index of a pandas frame that holds them; else line i is row i, and such a column gives the rows their ids.

    Parameters
    ----------
    collection : Collection
        The vectors, of n rows.
    payload : path, frame, mapping or (n,) values
        A CSV, Parquet or JSONL file; a .txt file with a text a line; a frame of pandas or polars, or an Arrow table;
        columns by their names; or one column of values. Texts without a name are called `title`.
    """
    if isinstance(payload, (str, Path)):
        table, name = _read_table(Path(payload)), str(payload)
        source = name
    else:
        table, name, source = _table_of(payload), "The payload", "the payload"
    table = _with_plain_id(table)
    key, own = _key(table, collection), None
    if key is not None:
        table = _by_id(table, key, collection, name)
    elif (numbers := _row_numbers(table, collection)) is not None:
        table = table.take(np.argsort(numbers))
    elif table.num_rows != len(collection):
        sizes = f"{plural(table.num_rows, 'line')} and {collection.name} {plural(len(collection), 'row')}"
        raise InputError(f"{name} has {sizes}; give a line for each row, in their order, or a column `id`.")
    else:
        own = _own_ids(table, collection, source)
    index = [each for each in table.column_names if each.startswith(NAMELESS)]
    table = table.drop_columns(index).replace_schema_metadata(None)
    if own is None:
        return replace(collection, payload=table if table.num_columns else None)
    rest = table.drop_columns([own])
    return replace(
        collection, ids=ids_of(table.column(own), name), ids_from=source, payload=rest if rest.num_columns else None
    )


def _tell_of_ids(collection: Collection, table: pa.Table) -> None:
    """Warn of rows without ids where just one column, called like ids, could name them: it is not taken unasked.

    Seeds that were given as row numbers would name other rows.
    """
    like = [name for name in table.column_names if LIKE_ID.search(name) and name not in SPELLINGS]
    named_so = [name for name in like if can_be_ids(table.column(name))]
    if len(named_so) == 1:
        warnings.warn(
            f"{collection.name} has no ids, but `{named_so[0]}` could be them: call it `id`, or say ?id={named_so[0]}.",
            UnusedIdsWarning,
            stacklevel=3,
        )


def _with_plain_id(table: Any) -> Any:
    """The table with its column of ids called `id` also where that is spelled `ID`."""
    names = list(table.column_names)
    found = id_field(names) or next((each for each in names if each in SPELLINGS), None)
    if found is None:
        return table
    return table.rename_columns([SPELLINGS[each] if each == found else each for each in names])


def _table_of(payload: Any) -> Any:
    """What is given in memory, as a table."""
    if hasattr(payload, "to_frame") and hasattr(payload, "index"):
        payload = payload.to_frame(TITLE)  # a Series of pandas: its index may hold the ids
    if is_frame(payload) and hasattr(payload, "columns"):
        return arrow_table(payload)
    columns = payload if isinstance(payload, Mapping) else {TITLE: payload}
    try:
        given = {
            str(name): pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
            for name, values in columns.items()
        }
        return arrow_table(pa.table(given))
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        kind = type(payload).__name__
        raise InputError(f"The payload, a {kind}, cannot be read ({reason}); give a file, frame or list.") from error


def _key(table: Any, collection: Collection) -> str | None:
    """The column that names the objects, where the collection has ids: `id`, or the index of a pandas frame."""
    if collection.ids is None:
        return None
    if (column := id_field(table.column_names)) is not None:
        return column
    index = next(iter(index_columns(table)), None)
    if index is None:
        return None
    ids = set(collection.ids.tolist())
    found = ids.intersection(table.column(index).to_pylist())
    # row numbers that a filter left in a frame may be some of the ids by chance
    by_chance = collection.ids.dtype != object and found != ids
    return index if found and not by_chance else None


def _own_ids(table: Any, collection: Collection, source: str) -> str | None:
    """The column that gives a collection without ids some; None, and a warning, where it is not unique and whole."""
    column = id_field(table.column_names)
    if collection.ids is not None or column is None or can_be_ids(table.column(column)):
        return column if collection.ids is None else None
    warnings.warn(
        f"`{column}` of {source} does not give every line an id of its own: {collection.name} goes by row numbers.",
        UnusedIdsWarning,
        stacklevel=3,
    )
    return None


def _row_numbers(table: Any, collection: Collection) -> np.ndarray | None:
    """The row of each line, where a column of ids holds the numbers of all rows of a collection that has no ids."""
    column = id_field(table.column_names)
    if collection.ids is not None or column is None:
        return None
    try:
        numbers = np.asarray(table.column(column).cast(pa.int64()).to_numpy())
    except (pa.ArrowException, TypeError, ValueError):
        return None
    return numbers if np.array_equal(np.sort(numbers), np.arange(len(collection))) else None


def check_payload_file(path: Path) -> None:
    """Refuse a file that payload cannot be read from, by its name."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} does not end in {', '.join(ENDINGS)}; payload is read from one of these.")
    if not path.is_file():
        raise InputError(f"{path} does not exist or is not a file; check the name.")


def _read_table(path: Path) -> Any:
    from pyarrow import csv, json  # here: most runs read no payload of a file

    check_payload_file(path)
    ending = path.suffix.lower()
    with readable(f"{path} cannot be read as {ending}", "check or write it again"):
        if ending == ".txt":
            lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            table = pa.table({TITLE: [line or None for line in lines]})
        elif ending == ".csv":
            quoted = csv.ParseOptions(newlines_in_values=True)
            # ids stay text: 08 is not 8
            kinds = dict.fromkeys(SPELLINGS, pa.string())
            options = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True, null_values=[""])
            table = csv.read_csv(path, parse_options=quoted, convert_options=options)
        else:
            table = json.read_json(path) if ending == ".jsonl" else read_parquet(path)
        # columns may not share a name; those without one, as of trailing commas, are left out
        names = table.column_names  # one that is no UTF-8 shows only when it is asked for
        repeated = sorted({name for name in names if name and names.count(name) > 1})
        if repeated:
            raise InputError(f"{path} has more than one column called {named(repeated)}; rename all but one.")
        return table.select([place for place, name in enumerate(names) if name or names.count(name) == 1])


def _by_id(table: Any, key: str, collection: Collection, name: str) -> Any:
    """The lines in the order of the collection's rows; a row without a line has empty payload."""
    assert collection.ids is not None
    # as text on both sides: a file may hold as text what the collection holds as integers
    keys = [str(value) for value in table.column(key).to_pylist()]
    line_of = {value: line for line, value in enumerate(keys)}
    if len(line_of) < len(keys):
        repeated = [value for line, value in enumerate(keys) if line_of[value] != line]
        raise InputError(f"{name} has more than one line for the id {named(repeated)}; keep one for each.")
    lines = [line_of.get(str(value)) for value in collection.ids.tolist()]
    if all(line is None for line in lines):
        raise InputError(f"{name} has no line for any of the {len(lines):,} ids of {collection.name}; check the ids.")
    # first the lines, then the columns: a table without columns forgets how many lines it has
    return table.take(pa.array(lines, type=pa.int64())).drop_columns([key])
