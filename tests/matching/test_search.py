"""The quick search for best partners: near the exact answer, and the same in every implementation."""

from __future__ import annotations

import numpy as np
import pytest

from directions import unit_rows
from veclink.geometry.arrays import ArrayRows
from veclink.matching import best_partners, searched
from veclink.matching.rankings import searched as plainly_searched


def _copies(n: int, more: int, dimension: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and noisy copies of them among others."""
    rows = unit_rows(n, dimension, seed=1)
    noisy = rows + 0.25 * unit_rows(n, dimension, seed=2)
    others = np.concatenate([noisy, unit_rows(more, dimension, seed=3)])
    return rows, (others / np.linalg.norm(others, axis=1, keepdims=True)).astype(np.float32)


def _exact(queries: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    cosine = queries @ others.T
    return (2 * cosine - np.sort(cosine, axis=0)[-k:].mean(axis=0)).argmax(axis=1)


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
def test_nearly_every_row_finds_the_partner_that_exact_csls_finds(device: str) -> None:
    queries, others = _copies(400, 2700)
    found, score = best_partners(queries, others, k=10, device=device)
    assert (found == _exact(queries, others, 10)).mean() > 0.97
    right = found == np.arange(400)
    assert right.mean() > 0.97 and score[right].mean() > score[~right].mean() if (~right).any() else True


def test_the_compiled_loops_agree_with_the_plain_ones() -> None:
    queries, others = _copies(333, 1500)
    best, index, nearest = searched(queries, others, k=10)
    expected = plainly_searched(queries, ArrayRows(others), 10)
    assert np.array_equal(index, expected[1])
    np.testing.assert_allclose(best, expected[0], atol=1e-6)
    np.testing.assert_allclose(nearest, expected[2], atol=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("memory", [None, 200_000])
def test_the_search_in_torch_agrees_with_the_one_in_numpy_also_block_by_block(memory: int | None) -> None:
    queries, others = _copies(200, 900)
    ours = best_partners(queries, others, k=10)
    theirs = best_partners(queries, others, k=10, device="torch:cpu", memory=memory)
    assert np.array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
@pytest.mark.parametrize(("n", "more", "k"), [(3, 0, 10), (1, 4, 1), (12, 1030, 10), (7, 1, 100)])
def test_few_rows_on_either_side_are_searched_too(n: int, more: int, k: int, device: str) -> None:
    queries, others = _copies(n, more)
    found, score = best_partners(queries, others, k=k, device=device)
    assert np.all((found >= 0) & (found < len(others))) and np.isfinite(score).all()
