"""Opening what a URL or a path names: as a store, or as a whole collection."""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from veclink.data.collection import Collection, as_ids
from veclink.errors import InputError, OutputError, StoreError, readable_size
from veclink.files.atomic import MORE_ROOM, scratch_file, unchanged
from veclink.files.memory import limited, reading_memory, size_of
from veclink.progress import Progress, ProgressListener
from veclink.stores.arrow import collection_of, is_frame, one_table
from veclink.stores.files import ids_file, read_file, read_ids, read_ids_beside
from veclink.stores.payloads import tell_of_ids, with_payload
from veclink.stores.protocol import BATCH, Store
from veclink.stores.urls import CLASSES, FILE_ENDINGS, STORE_ENDINGS, Address, is_url, parse_url


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
        collection = _read(source, memory, progress, ids=ids is None, payload=payload is True)
    elif is_frame(source):
        collection = collection_of(source)
    else:
        collection = Collection.from_array(source)
    if ids is not None:
        given: Any = read_ids(ids) if isinstance(ids, (str, Path)) else ids
        collection = replace(collection, ids=given)
    if not isinstance(payload, bool):
        collection = with_payload(collection, payload)
    elif isinstance(source, Collection):  # whoever opened it was told
        return collection
    tell_of_ids(collection)
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
    address = address_of(source)
    module, _, name = CLASSES[address.kind].rpartition(".")
    kind: type[Store] = getattr(import_module(f"veclink.stores.{module}"), name)
    return kind(address, writable=write)


def check_free(target: str | Path) -> None:
    """Refuse a target where something is already, before the long work that would fill it."""
    with open_target(target, write=False) as store:
        store.check_free()


def _read(
    source: str | Path, memory: int | str | None, progress: ProgressListener | None, *, ids: bool, payload: bool
) -> Collection:
    """The collection behind a URL or a path. ids: whether those of a file beside it are read."""
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
    count, dimension, dtype = store.count(), store.dimension(), store.dtype
    shape = count, dimension if count else max(dimension, 1)
    like = Collection.from_array(np.broadcast_to(np.zeros((), dtype), shape), name=store.name)  # or it is refused
    if not count:
        return like
    width = dimension * dtype.itemsize
    _check_ratio(store, count * width)
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


def _check_ratio(store: Store, size: int) -> None:
    """Refuse vectors that are far more than the files that they are in: real ones hardly get smaller when packed."""
    path = store.address.path
    if path is not None and size > max(SUSPECT, RATIO * size_of(path)):
        packed, unpacked = readable_size(size_of(path)), readable_size(size)
        raise InputError(f"{store.name} has {packed} and would unpack to {unpacked} of vectors; no real ones do.")


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
