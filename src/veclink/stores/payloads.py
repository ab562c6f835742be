"""Payload that is given apart from the vectors: a table in a file beside a `.npy` file, a frame, a list of titles."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.errors import InputError, UnusedIdsWarning, named, plural
from veclink.files.tables import read_parquet, readable
from veclink.stores.arrow import (
    IDS,
    NAMELESS,
    arrow_table,
    can_be_ids,
    id_field,
    ids_of,
    index_columns,
    is_frame,
)

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
        table, name = _read(Path(payload)), str(payload)
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


def tell_of_ids(collection: Collection) -> None:
    """Warn of rows without ids where just one column, called like ids, could name them: it is not taken unasked.

    Seeds that were given as row numbers would name other rows.
    """
    if collection.ids is not None or collection.payload is None:
        return
    table = collection.payload
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
        return pa.table({str(name): _column(values) for name, values in columns.items()})
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        kind = type(payload).__name__
        raise InputError(f"The payload, a {kind}, cannot be read ({reason}); give a file, frame or list.") from error


def _column(values: Any) -> Any:
    return pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)


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


def _read(path: Path) -> Any:
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
