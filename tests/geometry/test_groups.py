"""Groups: spherical k-means finds what its definition says, on numpy and torch; connected components."""

from __future__ import annotations

import numpy as np
import torch

from directions import unit_rows
from veclink.geometry.nearest import components, spherical_kmeans


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
    points = unit_rows(600, 12, seed=31)
    in_numpy = spherical_kmeans(points, 9, 3, np.random.default_rng(1))
    in_torch = spherical_kmeans(torch.from_numpy(points), 9, 3, np.random.default_rng(1))
    np.testing.assert_allclose(in_torch.numpy(), in_numpy, atol=1e-5)


def test_components_carry_the_lowest_node_of_theirs():
    assert components(6, np.array([4, 2, 5]), np.array([2, 1, 0])).tolist() == [0, 1, 1, 3, 1, 0]
    assert components(3, np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == [0, 1, 2]
