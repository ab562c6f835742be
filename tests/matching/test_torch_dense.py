"""All cosines at once on a torch device rank as the reference does: here on the CPU, in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from directions import unit_rows
from veclink.matching import reference, torch_dense
from veclink.matching.certify import Ranks


def check(left: np.ndarray, right: np.ndarray, k: int, depth: int) -> None:
    """The same partners, ties included, densities and scores."""
    found = torch_dense.match(torch.from_numpy(left), torch.from_numpy(right), Ranks(k, depth))
    expected = reference.match(left, right, k=k, depth=depth)
    for mine, theirs in ((found.forward, expected.forward), (found.backward, expected.backward)):
        np.testing.assert_array_equal(mine.index, theirs.index)
        np.testing.assert_allclose(mine.density, theirs.density, rtol=0, atol=1e-6)
        np.testing.assert_allclose(mine.score, theirs.score, rtol=0, atol=2e-6)
        assert mine.index.dtype == theirs.index.dtype
        assert mine.score.dtype == theirs.score.dtype


@pytest.mark.parametrize("n1, n2", [(1, 1), (1, 9), (3, 2), (257, 1031), (1025, 90)])
@pytest.mark.parametrize("k, depth", [(1, 1), (10, 3), (50, 1)])
def test_any_sizes_rank_as_the_reference(n1: int, n2: int, k: int, depth: int) -> None:
    check(unit_rows(n1, 24, seed=1), unit_rows(n2, 24, seed=2), k, depth)


def test_more_partners_than_there_are_rows_are_none() -> None:
    check(unit_rows(30, 8, seed=7), unit_rows(4, 8, seed=8), 100, 6)


def test_of_copies_the_lowest_row_wins() -> None:
    distinct = unit_rows(40, 12, seed=9)
    draw = np.random.default_rng(10)
    check(distinct[draw.integers(0, 40, 900)], distinct[draw.integers(0, 40, 1100)], 10, 3)


def test_what_does_not_fit_is_not_tried() -> None:
    assert torch_dense.fits(1000, 1000, 1 << 30)
    assert not torch_dense.fits(1000, 1000, 1 << 20)
    assert not torch_dense.fits(1 << 16, 1 << 15, 1 << 40)
