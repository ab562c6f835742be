"""The table of a merged collection with new rows: which of its columns their payload fills."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from veclink import Collection
from veclink.uses.merged_rows import Placed, grown


def earlier() -> pa.Table:
    """Two rows, one of A and one of B, as an earlier version merged a `name` of A with a `title` of B."""
    return pa.table(
        {
            "origin": ["a", "b"],
            "id_a": ["x", None],
            "id_b": [None, "y"],
            "link_probability": pa.array([None, None], pa.float64()),
            "a_name": ["of A", None],
            "b_title": [None, "of B"],
            "name": ["of A", None],
            "title": pa.array([None, "of B"], pa.string()),
        }
    )


def new(column: str) -> Collection:
    payload = pa.table({column: ["joined", "alone"]})
    return Collection.from_array(np.eye(2, dtype=np.float32), ["n", "m"], payload)


@pytest.mark.parametrize(("side", "at", "column"), [("a", 1, "name"), ("b", 0, "title")])
def test_new_rows_fill_both_titles_of_a_collection_that_has_two(side: str, at: int, column: str) -> None:
    placed = Placed(np.array([0]), np.array([at]), np.array([0.99]), np.array([1]))
    rows = grown(earlier(), new(column), np.array([-1, -1]), placed, side)[0].to_pylist()
    assert (rows[2]["name"], rows[2]["title"]) == ("alone", "alone")
    assert rows[at][column] == "joined"
    other = "title" if column == "name" else "name"
    assert rows[at][other] == earlier().to_pylist()[at][other], "what was there stays"
