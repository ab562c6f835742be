"""Pairs find their rows by id or by number, and anchors have the geometry of their clouds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veclink.data.collection import Collection
from veclink.data.pairs import read_pairs, resolve_pairs
from veclink.data.payload_pairs import ColumnMatches
from veclink.errors import InputError
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import MAX_FROM_COLUMN, anchors_from_column, anchors_from_pairs, anchors_from_vectors


def collection(n: int, ids: list | None = None, d: int = 4, seed: int = 0) -> Collection:
    return Collection.from_array(np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32), ids=ids)


PLAIN = collection(5)
NUMBERED = collection(5, ids=[10, 20, 30, 40, 50])
NAMED = collection(5, ids=["10", "020", "ö,", "d\ne", "e"])


@pytest.mark.parametrize(
    ("pairs", "a", "b", "rows"),
    [
        ([(0, 1), (2, 3)], PLAIN, PLAIN, [[0, 1], [2, 3]]),
        (np.array([[0, 1], [2, 3]], np.int32), PLAIN, PLAIN, [[0, 1], [2, 3]]),
        ([("0", "1")], PLAIN, PLAIN, [[0, 1]]),
        (np.array([[4.0, 0.0]]), PLAIN, PLAIN, [[4, 0]]),
        ([(50, 0), (10, 1)], NUMBERED, PLAIN, [[4, 0], [0, 1]]),
        ([("50", "e")], NUMBERED, NAMED, [[4, 4]]),
        ([(10, 3), ("ö,", 4)], NAMED, PLAIN, [[0, 3], [2, 4]]),
        ([["020", "d\ne"]], NAMED, NAMED, [[1, 3]]),
        ((np.array(["10", "e"], object), np.array([1, 0])), NAMED, PLAIN, [[0, 1], [4, 0]]),
    ],
)
def test_values_are_ids_where_there_are_ids_and_else_rows(
    pairs: object, a: Collection, b: Collection, rows: list[list[int]]
) -> None:
    resolved = resolve_pairs(pairs, a, b)
    assert resolved.dtype == np.int64 and resolved.tolist() == rows


def test_text_ids_that_look_like_numbers_are_compared_as_text() -> None:
    with pytest.raises(InputError, match=r"among its 5: '20';"):
        resolve_pairs([("20", "e")], NAMED, NAMED)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_of_pairs_is_resolved_whatever_else_it_holds(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"seeds{ending}"
    if ending == ".csv":
        path.write_bytes('\ufeffscore,b,a\r\n1,"ö,",10\r\n2,e,50\r\n'.encode())
    else:
        pq.write_table(pa.table({"score": [1, 2], "b": ["ö,", "e"], "a": [10, 50]}), path)
    assert resolve_pairs(path, NUMBERED, NAMED).tolist() == [[0, 2], [4, 4]]
    assert resolve_pairs(read_pairs(str(path)), NUMBERED, NAMED).tolist() == [[0, 2], [4, 4]]


@given(order=st.permutations(range(5)), ids=st.lists(st.text(), min_size=5, max_size=5, unique=True))
def test_renaming_rows_does_not_change_what_pairs_mean(order: list[int], ids: list[str]) -> None:
    try:
        renamed = collection(5, ids=ids)
    except InputError:  # lone surrogates are no text
        assert any("\ud800" <= letter <= "\udfff" for letter in "".join(ids))
        return
    by_row = resolve_pairs(list(zip(order, range(5), strict=True)), PLAIN, PLAIN)
    by_id = resolve_pairs([(ids[row], place) for place, row in enumerate(order)], renamed, PLAIN)
    assert np.array_equal(by_row, by_id)


@pytest.mark.parametrize("centre", [True, False])
def test_anchors_from_pairs_are_rows_of_the_clouds(centre: bool) -> None:
    a, b = (prepare(collection(9, d=d, seed=d), centre=centre) for d in (4, 6))
    anchors = anchors_from_pairs(a, b, np.array([[8, 0], [3, 7]]))
    assert np.array_equal(anchors.left, a.dense()[[8, 3]]) and np.array_equal(anchors.right, b.dense()[[0, 7]])
    assert anchors.pairs is not None and anchors.pairs.tolist() == [[8, 0], [3, 7]] and len(anchors) == 2


def test_anchors_after_skipped_rows_are_positions_in_the_cloud() -> None:
    source = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    source[2] = 0
    a, b = prepare(Collection.from_array(source), skip_zero=True), prepare(collection(9))
    anchors = anchors_from_pairs(a, b, np.array([[1, 1], [3, 3]]))
    assert anchors.pairs is not None and anchors.pairs.tolist() == [[1, 1], [2, 3]]
    assert np.array_equal(anchors.left, a.project(source[[1, 3]]))


def test_out_of_domain_anchors_lose_the_mean_of_the_cloud() -> None:
    a, b = prepare(collection(9, d=4)), prepare(collection(9, d=6), centre=False)
    left, right = (np.random.default_rng(5).normal(size=(3, d)) for d in (4, 6))
    anchors = anchors_from_vectors(a, b, left, right)
    assert a.mean is not None and anchors.pairs is None
    moved = left / np.linalg.norm(left, axis=1, keepdims=True) - a.mean
    assert np.allclose(anchors.left, moved / np.linalg.norm(moved, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(anchors.right, right / np.linalg.norm(right, axis=1, keepdims=True), atol=1e-6)


def test_anchors_of_a_column_are_a_part_that_is_drawn_the_same_way_and_may_be_wrong() -> None:
    n = MAX_FROM_COLUMN + 50
    cloud = prepare(collection(n))
    pairs = np.stack([np.arange(n)] * 2, axis=1)
    matches = ColumnMatches(("title", "title"), pairs)
    found = anchors_from_column(cloud, cloud, matches, 0)
    assert len(found) == MAX_FROM_COLUMN and not found.trusted and found.name == "equal titles"
    assert np.array_equal(found.pairs, anchors_from_column(cloud, cloud, matches, 0).pairs)
    assert not np.array_equal(found.pairs, anchors_from_column(cloud, cloud, matches, 1).pairs)


def test_anchors_of_a_column_leave_out_vectors_that_were_skipped() -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    vectors[2] = 0
    cloud = prepare(Collection.from_array(vectors), skip_zero=True)
    matches = ColumnMatches(("title", "title"), np.array([[1, 3], [2, 4], [5, 2], [3, 1]]))
    found = anchors_from_column(cloud, cloud, matches, 0)
    assert np.array_equal(cloud.rows[found.pairs], [[1, 3], [3, 1]])
