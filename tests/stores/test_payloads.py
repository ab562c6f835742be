"""Payload that is given apart from the vectors: the right line for each row, or a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from veclink.data.collection import Collection
from veclink.data.pairs import resolve_pairs
from veclink.errors import InputError, UnusedIdsWarning
from veclink.review import side
from veclink.stores.opening import open_collection, with_payload

PLAIN = Collection.from_array(np.eye(3), name="a.npy")
NAMED = Collection.from_array(np.eye(3), ids=["7", "x", "08"], name="a.npy")
TITLES = ["one", 'two, with a "quote"\nand a line end', "three"]


def write(path: Path, columns: dict[str, list[object]]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        rows = zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_line_i_is_row_i_without_ids(tmp_path: Path, ending: str) -> None:
    found = with_payload(PLAIN, write(tmp_path / f"titles.{ending}", {"title": TITLES, "year": [1, 2, 3]}))
    assert [side(found, row)["headline"] for row in range(3)] == TITLES
    assert side(found, 2)["payload"] == {"title": "three", "year": "3"}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_ids_find_their_lines_whatever_the_order(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"titles.{ending}", {"id": ["08", "other", "7"], "title": TITLES})
    found = with_payload(NAMED, path)
    assert [side(found, row)["headline"] for row in range(3)] == ["three", "x", "one"]


def test_an_empty_cell_is_nobodys_id(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,title\na,one\n,two\nc,three\n")
    found = with_payload(PLAIN, path)
    assert found.ids is None and found.payload.column("title").to_pylist() == ["one", "two", "three"]


@pytest.mark.parametrize("column", ["id", "ids"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_row_numbers_find_their_rows_where_there_are_no_ids(tmp_path: Path, ending: str, column: str) -> None:
    path = write(tmp_path / f"t.{ending}", {column: [2, 0, 1], "title": TITLES})
    assert with_payload(PLAIN, path).payload.column("title").to_pylist() == [TITLES[1], TITLES[2], TITLES[0]]
    other = write(tmp_path / f"o.{ending}", {"id": [2, 0, 7], "title": TITLES})
    assert with_payload(PLAIN, other).payload.column("title").to_pylist() == TITLES, "these are names, not rows"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_column_of_ids_names_rows_that_came_without(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"t.{ending}", {"id": ["08", "x", "7"], "title": TITLES})
    found = with_payload(PLAIN, path)
    assert found.ids.tolist() == ["08", "x", "7"] and found.ids_from == str(path)
    assert found.payload.column_names == ["title"]
    with pytest.raises(InputError, match=rf"its ids are those of .*t\.{ending}"):
        resolve_pairs([(0, 0)], found, PLAIN)
    with pytest.warns(UnusedIdsWarning, match=r"not give every line an id of its own.*row numbers"):
        repeating = with_payload(PLAIN, {"id": ["x", "x", "7"], "title": TITLES})
    assert repeating.ids is None and repeating.payload.column_names == ["id", "title"], "these name nothing"


def test_a_text_file_gives_each_row_the_text_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "titles.txt").write_text("Sony Turntable, PSLX350H\n\nBose \u2028 Speaker\n")
    found = with_payload(PLAIN, tmp_path / "titles.txt").payload
    assert found.to_pydict() == {"title": ["Sony Turntable, PSLX350H", None, "Bose \u2028 Speaker"]}
    (tmp_path / "titles.txt").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match=r"cannot be read as \.txt"):
        with_payload(PLAIN, tmp_path / "titles.txt")


def test_ids_of_digits_keep_their_noughts_and_match_integers(tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("id,title\n08,eight\n7,seven\n")
    assert [side(with_payload(NAMED, tmp_path / "titles.csv"), row)["headline"] for row in (0, 2)] == ["seven", "eight"]
    numbers = Collection.from_array(np.eye(3), ids=[7, 8, 9])
    assert side(with_payload(numbers, tmp_path / "titles.csv"), 0)["headline"] == "seven"


@pytest.mark.parametrize(
    ("name", "columns", "said"),
    [
        ("few.csv", {"title": ["one", "two"]}, "2 lines and a.npy 3 rows"),
        ("twice.csv", {"id": ["x", "x", "y"], "title": TITLES}, "more than one line for the id 'x'"),
        ("both.jsonl", {"ID": ["p", "q", "r"], "id": ["p", "q", "r"], "title": TITLES}, "no line for any of the 3 ids"),
        ("others.csv", {"id": ["p", "q", "r"], "title": TITLES}, "no line for any of the 3 ids"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, name: str, columns: dict[str, list[object]], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        with_payload(NAMED, write(tmp_path / name, columns))


@pytest.mark.parametrize(
    "payload",
    [
        pd.DataFrame({"title": TITLES}),
        pl.DataFrame({"title": TITLES}),
        pa.table({"title": TITLES}),
        {"title": TITLES},
        TITLES,
        np.array(TITLES),
        pd.Series(TITLES),
        pl.Series(TITLES),
    ],
    ids=lambda payload: type(payload).__module__ + "." + type(payload).__name__,
)
def test_what_a_notebook_holds_is_payload_as_it_is(payload: Any) -> None:
    found = open_collection(np.eye(3), payload=payload)
    assert found.payload.to_pydict() == {"title": TITLES}
