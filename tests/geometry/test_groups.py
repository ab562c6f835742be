"""Groups: spherical k-means is the same on numpy and torch; connected components."""

from __future__ import annotations

import numpy as np
import torch

from directions import unit_rows
from veclink.geometry.nearest import components, spherical_kmeans


def test_k_means_moves_its_centres_in_torch_as_in_numpy():
    points = unit_rows(600, 12, seed=31)
    in_numpy = spherical_kmeans(points, 9, 3, np.random.default_rng(1))
    in_torch = spherical_kmeans(torch.from_numpy(points), 9, 3, np.random.default_rng(1))
    np.testing.assert_allclose(in_torch.numpy(), in_numpy, atol=1e-5)


def test_components_carry_the_lowest_node_of_theirs():
    assert components(6, np.array([4, 2, 5]), np.array([2, 1, 0])).tolist() == [0, 1, 1, 3, 1, 0]
    assert components(3, np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == [0, 1, 2]
