"""Nearest rows, clusters, components and lookups give what their definitions say, on numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from directions import unit_rows
from veclink.geometry.arrays import ArrayRows
from veclink.geometry.nearest import largest, largest_values, nearest_rows


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_largest_of_each_row_are_found_on_numpy_and_torch(make, count):
    similarity = unit_rows(20, 30, seed=1)
    expected = np.sort(similarity, axis=1)[:, ::-1][:, :count]
    found = np.take_along_axis(similarity, np.asarray(largest(make(similarity), count)), axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1)[:, ::-1], expected)
    values = np.asarray(largest_values(make(similarity), count))
    np.testing.assert_array_equal(np.sort(values, axis=1)[:, ::-1], expected)


@pytest.mark.parametrize("block", [7, 100, 5000])
def test_nearest_rows_are_those_of_all_cosines_whatever_the_block(block):
    queries, cloud = unit_rows(600, 12, seed=2), unit_rows(730, 12, seed=3)
    found = nearest_rows(queries, ArrayRows(cloud), 5, block=block)
    expected = np.argsort(-(queries @ cloud.T), axis=1)[:, :5]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
