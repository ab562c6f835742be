"""Frames are collections: pandas, polars, Arrow, and columns of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from veclink import open_collection

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)
IDS = ["p", "q", "r", "s"]
TITLES = ["one", "two", "three", "four"]


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame({"id": IDS, "title": TITLES, "embedding": list(VECTORS)})


FRAMES: dict[str, Any] = {
    "pandas": pandas_frame(),
    "pandas with ids as its index": pandas_frame().set_index("id").rename_axis(None),
    "pandas with a named index": pandas_frame().set_index("id").rename_axis("paper"),
    "pandas with ids and rows that were chosen": pandas_frame().iloc[[0, 1, 2, 3]],
    "polars": pl.DataFrame({"id": IDS, "title": TITLES, "v": VECTORS}),
    "polars in pieces": pl.concat([pl.DataFrame({"id": [i], "title": [t], "v": [v]})
                                   for i, t, v in zip(IDS, TITLES, VECTORS.tolist(), strict=True)], rechunk=False),
    "an Arrow table": pl.DataFrame({"id": IDS, "title": TITLES, "v": VECTORS}).to_arrow(),
}  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_a_frame_gives_vectors_ids_and_payload(frame: Any) -> None:
    collection = open_collection(frame)
    np.testing.assert_array_equal(collection.vectors, VECTORS)
    assert collection.ids is not None and collection.ids.tolist() == IDS
    assert collection.payload is not None
    assert collection.payload.take(pa.array([0, 1, 2, 3])).to_pydict() == {"title": TITLES}  # not of a view of text


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(VECTORS),
        pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 3),
        pa.chunked_array([pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 3)]),
        pd.DataFrame(VECTORS),
        VECTORS.tolist(),
        list(VECTORS),
    ],
    ids=["polars", "Arrow", "Arrow in chunks", "a column a dimension", "lists", "arrays"],
)
def test_vectors_alone_are_a_collection(column: Any) -> None:
    collection = open_collection(column)
    np.testing.assert_array_equal(collection.vectors, VECTORS)
    assert collection.ids is None and collection.payload is None


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["new", "new", "old", "old"], name="kind"),
        pd.Index([0.5, 1.5, 2.5, 3.5], name="weight"),
        pd.Index(IDS, name="code"),
    ],
    ids=["repeats", "is no id", "stands beside ids"],
)
def test_a_named_index_that_is_not_the_ids_is_payload(index: pd.Index) -> None:
    frame = pd.DataFrame({"title": TITLES, "embedding": list(VECTORS)}, index=index)
    if index.name == "code":
        frame.insert(0, "id", [7, 8, 9, 10])
    collection = open_collection(frame)
    assert collection.payload.to_pydict() == {"title": TITLES, index.name: index.tolist()}
    assert (collection.ids is None) == (index.name != "code")
