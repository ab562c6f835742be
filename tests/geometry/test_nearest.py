"""Nearest rows, clusters, components and lookups give what their definitions say, on numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from veclink.data.pairs import lookup
from veclink.geometry.components import components
from veclink.geometry.kmeans import spherical_kmeans
from veclink.geometry.nearest import largest, largest_values, nearest_rows
from veclink.geometry.rows import ArrayRows, ProjectedRows


def _directions(n: int, dimension: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_largest_of_each_row_are_found_on_numpy_and_torch(make, count):
    similarity = _directions(20, 30, seed=1)
    expected = np.sort(similarity, axis=1)[:, ::-1][:, :count]
    found = np.take_along_axis(similarity, np.asarray(largest(make(similarity), count)), axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1)[:, ::-1], expected)
    values = np.asarray(largest_values(make(similarity), count))
    np.testing.assert_array_equal(np.sort(values, axis=1)[:, ::-1], expected)


@pytest.mark.parametrize("block", [7, 100, 5000])
def test_nearest_rows_are_those_of_all_cosines_whatever_the_block(block):
    queries, cloud = _directions(600, 12, seed=2), _directions(730, 12, seed=3)
    found = nearest_rows(queries, ArrayRows(cloud), 5, block=block)
    expected = np.argsort(-(queries @ cloud.T), axis=1)[:, :5]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


def test_rows_that_are_read_in_blocks_or_singly_are_the_same():
    class Wide:
        """Rows that are read when asked, as float64."""

        shape = (50, 6)

        def block(self, start: int, stop: int) -> np.ndarray:
            return _directions(50, 6, seed=4)[start:stop].astype(np.float64)

        def take(self, rows: np.ndarray) -> np.ndarray:
            return _directions(50, 6, seed=4)[rows].astype(np.float64)

    whole, chosen = _directions(50, 6, seed=4), np.array([49, 3, 3, 0])
    for rows in (ArrayRows(whole.astype(np.float16)), ArrayRows(Wide()), ArrayRows(Wide(), 10**6)):
        np.testing.assert_allclose(rows.take(chosen), whole[chosen], atol=1e-3)
        np.testing.assert_allclose(rows.block(10, 20), whole[10:20], atol=1e-3)
        assert rows.take(chosen).dtype == np.float32
    projected = ProjectedRows(ArrayRows(whole), np.eye(6, 4, dtype=np.float32))
    np.testing.assert_allclose(projected.take(chosen), projected.block(0, 50)[chosen], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(projected.block(0, 50), axis=1), 1, atol=1e-6)


def test_k_means_finds_groups_that_lie_apart():
    centres = np.eye(4, 16)
    rng = np.random.default_rng(5)
    member = rng.integers(0, 4, 400)
    points = centres[member] + 0.05 * rng.standard_normal((400, 16))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    # any start with one point of each group ends at the groups; several starts have one
    found = [spherical_kmeans(points, 4, 10, np.random.default_rng(seed)) for seed in range(12)]
    best = max(found, key=lambda each: (points @ each.T).max(axis=1).mean())
    assert len(np.unique((best @ centres.T).argmax(axis=1))) == 4
    np.testing.assert_allclose(np.linalg.norm(best, axis=1), 1, atol=1e-5)


def test_k_means_moves_its_centres_in_torch_as_in_numpy():
    points = _directions(600, 12, seed=31)
    in_numpy = spherical_kmeans(points, 9, 3, np.random.default_rng(1))
    in_torch = spherical_kmeans(torch.from_numpy(points), 9, 3, np.random.default_rng(1))
    np.testing.assert_allclose(in_torch.numpy(), in_numpy, atol=1e-5)


def test_components_carry_the_lowest_node_of_theirs():
    assert components(6, np.array([4, 2, 5]), np.array([2, 1, 0])).tolist() == [0, 1, 1, 3, 1, 0]
    assert components(3, np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == [0, 1, 2]


def test_keys_that_are_not_there_are_looked_up_as_minus_one():
    keys = np.array([2, 5, 9])
    assert lookup(keys, np.array([9, 1, 5, 10, 2])).tolist() == [2, -1, 1, -1, 0]
    assert lookup(keys[:0], np.array([1, 2])).tolist() == [-1, -1]
