"""Columns that are written come back, by every reader, with any text in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from veclink.errors import InputError
from veclink.files.tables import read_columns, read_csv, write_table

TEXT = np.array(["plain", "a,b", 'said "so"', "two\nlines", "lone\rreturn", "ä 日本 🙂"], dtype=object)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_any_text_comes_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table{ending}"
    write_table(path, {"id": np.arange(len(TEXT)), "text": TEXT})
    table = read_columns(path, ["text"])
    assert table.names == ["id", "text"] and table.values == {"text": TEXT.tolist()}


def test_what_is_missing_is_null_in_parquet_and_empty_in_csv(tmp_path: Path) -> None:
    columns = {"b": np.array(["x", None], dtype=object), "probability": np.array([0.5, np.nan])}
    for ending in (".csv", ".parquet"):
        write_table(tmp_path / f"table{ending}", columns)
    assert (tmp_path / "table.csv").read_text() == "b,probability\nx,0.5\n,\n"
    assert pq.read_table(tmp_path / "table.parquet").to_pydict() == {"b": ["x", None], "probability": [0.5, None]}


def test_formats_are_those_of_csv_only(tmp_path: Path) -> None:
    columns = {"near": np.array([1 / 3], np.float32)}
    for ending in (".csv", ".parquet"):
        write_table(tmp_path / f"table{ending}", columns, {"near": "{:.2f}".format})
    assert (tmp_path / "table.csv").read_text() == "near\n0.33\n"
    assert pq.read_table(tmp_path / "table.parquet").column("near").to_numpy() == columns["near"]


def test_lines_that_are_too_short_or_empty(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n\n3\n")
    table = read_csv(path)
    assert table.values == {"a": ["1", "3"], "b": ["2", None]} and list(table.places) == [2, 4]
    with pytest.raises(InputError, match="0 values in line 3 and 2 columns"):
        read_csv(path, whole=True)
