"""Tables as files: columns written as CSV or Parquet, whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from veclink.errors import InputError, needed
from veclink.files.atomic import written_whole

ENDINGS = (".csv", ".parquet")


def write_table(path: str | Path, columns: Mapping[str, Sequence[Any]], *, what: str = "tables") -> None:
    """Write columns of equal length by the ending of `path`; None is an empty cell.

    what: how an error calls that which is written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path} does not end in {' or '.join(ENDINGS)}; {what} are written as one of these.")
    with written_whole(path) as temporary:
        if ending == ".parquet":
            arrow: Any = needed("pyarrow", "Writing Parquet")
            parquet: Any = needed("pyarrow.parquet", "Writing Parquet")
            parquet.write_table(arrow.table(dict(columns)), temporary)
        else:
            text = csv_text(columns, zip(*columns.values(), strict=True))
            temporary.write_text(text, encoding="utf-8", newline="")


def csv_text(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV with a line of names; None is an empty cell."""
    lines = [list(names), *(["" if value is None else value for value in row] for row in rows)]
    # a lone carriage return inside a value would end the line unless it is quoted
    loose = any("\r" in value for line in lines for value in line if isinstance(value, str))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if loose else csv.QUOTE_MINIMAL)
    writer.writerows(lines)
    return file.getvalue()
