"""The largest of each row, on numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from directions import unit_rows
from veclink.geometry.nearest import largest, largest_values


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_largest_of_each_row_are_found_on_numpy_and_torch(make, count):
    similarity = unit_rows(20, 30, seed=1)
    expected = np.sort(similarity, axis=1)[:, ::-1][:, :count]
    found = np.take_along_axis(similarity, np.asarray(largest(make(similarity), count)), axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1)[:, ::-1], expected)
    values = np.asarray(largest_values(make(similarity), count))
    np.testing.assert_array_equal(np.sort(values, axis=1)[:, ::-1], expected)
