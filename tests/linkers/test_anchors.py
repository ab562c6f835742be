"""Pairs find their rows by id or by number, and anchors have the geometry of their clouds."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import MAX_FROM_COLUMN, anchors_from_pairs, anchors_from_vectors, anchors_in_doubt


def collection(n: int, ids: list | None = None, d: int = 4, seed: int = 0) -> Collection:
    return Collection.from_array(np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32), ids=ids)


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
    found = anchors_in_doubt(cloud, cloud, pairs, 0, name="equal titles")
    assert len(found) == MAX_FROM_COLUMN and not found.trusted and found.name == "equal titles"
    assert np.array_equal(found.pairs, anchors_in_doubt(cloud, cloud, pairs, 0).pairs)
    assert not np.array_equal(found.pairs, anchors_in_doubt(cloud, cloud, pairs, 1).pairs)
