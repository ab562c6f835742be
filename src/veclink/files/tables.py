"""Tables of named columns in CSV and Parquet files: read as they are, and written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veclink.errors import InputError, VeclinkError
from veclink.files.atomic import written_whole
from veclink.files.memory import check_fits, limited, most_memory

Values = Sequence[Any] | np.ndarray
KEY = b"veclink"
"""Where the metadata of an Arrow table or a Parquet file holds what veclink says of it, as JSON."""


@dataclass(frozen=True)
class Columns:
    """Columns of a file."""

    names: list[str]  # all columns of the file, in their order
    values: dict[str, list[Any]]  # the columns that were read: text in CSV, None where a line is too short
    unit: str  # what a row is called: a "line" in CSV, a "row" in Parquet
    places: Sequence[int]  # the number of each row's line or row


def table_ending(path: Path, otherwise: str) -> str:
    """`.csv` or `.parquet`, as the name of a file ends; `otherwise` tells what to do where it ends differently."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        told = path if path.name else "An empty name"
        raise InputError(f"{told} does not end in .csv or .parquet; {otherwise}.")
    return ending


@contextmanager
def readable(trouble: str, otherwise: str) -> Iterator[None]:
    """Turn an error of reading into one sentence: what the trouble is, the reason, and what to do."""
    try:
        yield
    except (VeclinkError, MemoryError):
        raise
    except Exception as error:  # each parser has errors of its own
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = getattr(error, "strerror", None) or lines[0]
        raise InputError(f"{trouble} ({reason}); {otherwise}.") from error


def read_columns(path: Path, wanted: Sequence[str]) -> Columns:
    """Those of the `wanted` columns that a .csv or .parquet file has."""
    if path.suffix.lower() == ".csv":
        return read_csv(path, wanted)
    names = pq.read_schema(path).names
    table = read_parquet(path, [name for name in wanted if name in names])
    values = {name: table.column(name).to_pylist() for name in table.column_names}
    return Columns(names, values, "row", range(table.num_rows))


def read_csv(path: Path, wanted: Sequence[str] | None = None, *, whole: bool = False) -> Columns:
    """The `wanted` columns of a CSV file, or all of them.

    With `whole`, every line must have a value for each column. Otherwise empty lines are left out, and values are
    missing at the end of a line that is too short.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        rows, lines = [], []
        for row in reader:
            if whole and len(row) != len(names):
                raise InputError(
                    f"{path} has {len(row)} values in line {reader.line_num:,} and {len(names)} columns; repair it."
                )
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    place_of = {name: place for place, name in enumerate(names) if wanted is None or name in wanted}
    values = {name: [row[place] if place < len(row) else None for row in rows] for name, place in place_of.items()}
    return Columns(names, values, "line", lines)


def read_parquet(path: Path, wanted: Sequence[str] | None = None) -> pa.Table:
    """The `wanted` columns of a Parquet file that fits into memory, or all of them, with its metadata."""
    with limited(most_memory(), str(path)), pq.ParquetFile(path) as file:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        check_fits(path, sum(each.total_byte_size for each in groups))
        table = file.read(columns=wanted)
    table.validate(full=True)  # text that is none would be noticed only where it is looked at
    return table


def write_table(
    path: str | Path, columns: Mapping[str, Values], formats: Mapping[str, Callable[[Any], str]] | None = None
) -> None:
    """Save columns by the ending of `path`; what is missing (None, NaN) is null in Parquet and empty in CSV.

    `formats` says how the values of some columns are written in CSV.
    """
    ending = table_ending(Path(path), "tables are written as one of these")
    with written_whole(path) as temporary:
        if ending == ".parquet":
            arrays = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
            pq.write_table(pa.table(arrays), temporary)
        else:
            write_csv(temporary, columns, formats)


def write_csv(
    path: Path, columns: Mapping[str, Values], formats: Mapping[str, Callable[[Any], str]] | None = None
) -> None:
    """Write columns of one length, with their names in the first line; `formats` as in `write_table`."""
    text = [map((formats or {}).get(name, _text), values) for name, values in columns.items()]
    with path.open("w", encoding="utf-8", newline="") as file:
        _write_lines(file, columns, zip(*text, strict=True), quoted=any(map(_has_return, columns.values())))


def csv_text(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file of these rows."""
    lines = list(rows)
    file = io.StringIO()
    _write_lines(file, names, lines, quoted=any(map(_has_return, lines)))
    return file.getvalue()


def metadata_of(schema: pa.Schema) -> dict[str, Any]:
    """What veclink wrote into the metadata of a schema; empty where there is nothing."""
    stored = (schema.metadata or {}).get(KEY)
    return json.loads(stored) if stored else {}


def with_metadata(schema: pa.Schema, metadata: Mapping[str, Any]) -> pa.Schema:
    """The schema with this, and nothing else, as its metadata."""
    return schema.with_metadata({KEY: json.dumps(metadata, ensure_ascii=False).encode()})


def _write_lines(file: TextIO, names: Iterable[str], rows: Iterable[Iterable[Any]], *, quoted: bool) -> None:
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerow(names)
    writer.writerows(rows)


def _has_return(values: Values) -> bool:
    """Whether a lone carriage return inside a text would end its line: the writer quotes only line feeds by itself."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return False
    return any("\r" in value for value in values if isinstance(value, str))


def _text(value: Any) -> Any:
    return "" if value is None or value != value else value
