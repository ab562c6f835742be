"""Payload from a file of its own, for collections that have none: a table next to a `.npy` file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from veclink.data.collection import Collection
from veclink.errors import InputError, VeclinkError, named, needed, plural
from veclink.files.tables import UNREADABLE, read_parquet

ENDINGS = (".csv", ".parquet", ".jsonl")


def with_payload(collection: Collection, path: str | Path) -> Collection:
    """The collection with the table in `path` as its payload.

    A column `id` finds each object's line, where the collection has ids; else line i is row i.
    """
    path = Path(path)
    table = _read(path)
    if collection.ids is not None and "id" in table.column_names:
        table = _by_id(table, collection, path)
    elif table.num_rows != len(collection):
        raise InputError(
            f"{path} has {plural(table.num_rows, 'line')} and {collection.name} {plural(len(collection), 'row')}; "
            "give one line for each, or a column `id` where the collection has ids."
        )
    return replace(collection, payload=table)


def _read(path: Path) -> Any:
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} does not end in {', '.join(ENDINGS)}; payload is read from one of these.")
    if not path.is_file():
        raise InputError(f"{path} does not exist or is not a file; check the name.")
    arrow: Any = needed("pyarrow", "Reading payload")
    reader = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json"}[path.suffix.lower()]
    module: Any = needed(f"pyarrow.{reader}", "Reading payload")
    try:
        if reader == "csv":
            quoted = module.ParseOptions(newlines_in_values=True)
            # ids stay text: 08 is not 8
            return module.read_csv(
                path, parse_options=quoted, convert_options=module.ConvertOptions(column_types={"id": arrow.string()})
            )
        return module.read_json(path) if reader == "json" else read_parquet(path)
    except VeclinkError:
        raise
    except (*UNREADABLE, arrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} cannot be read as {path.suffix.lower()} ({reason}); check or write it again."
        ) from error


def _by_id(table: Any, collection: Collection, path: Path) -> Any:
    """The lines in the order of the collection's rows; a row without a line has empty payload."""
    arrow: Any = needed("pyarrow", "Reading payload")
    assert collection.ids is not None
    # as text on both sides: a file may hold as text what the collection holds as integers
    keys = [str(key) for key in table.column("id").to_pylist()]
    line_of = {key: line for line, key in enumerate(keys)}
    if len(line_of) < len(keys):
        repeated = [key for line, key in enumerate(keys) if line_of[key] != line]
        raise InputError(f"{path} has more than one line for the id {named(repeated)}; keep one for each.")
    lines = [line_of.get(str(key)) for key in collection.ids.tolist()]
    if all(line is None for line in lines):
        raise InputError(f"{path} has no line for any of the {len(lines):,} ids of {collection.name}; check the ids.")
    rest = table.drop_columns(["id"])
    return rest.take(arrow.array(lines, type=arrow.int64()))
