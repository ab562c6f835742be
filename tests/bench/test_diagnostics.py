"""Diagnostics: the measures behind the curves, on cases whose answer is known."""

from __future__ import annotations

import numpy as np

from small_papers import small_papers
from veclink_bench.diagnostics import (
    distance_consistency,
)


def papers() -> tuple[np.ndarray, np.ndarray]:
    left, right, truth = small_papers()
    return left[: len(truth)], right[: len(truth)]


def test_a_rotated_copy_is_consistent_at_every_distance() -> None:
    left = papers()[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((left.shape[1],) * 2))[0]
    found = distance_consistency(left, left @ turn)
    known = ~np.isnan(found.within)
    assert known.sum() > 5 and np.allclose(found.within[known], 1, atol=1e-3)
    assert np.allclose(found.scale[known], 1, atol=1e-3) and found.pairs.sum() == len(left) * (len(left) - 1) / 2


def test_two_models_agree_and_unrelated_vectors_do_not() -> None:
    left, right = papers()
    noise = np.random.default_rng(1).standard_normal(right.shape)
    assert distance_consistency(left, right).up_to[-1] > 0.5
    assert abs(distance_consistency(left, noise).up_to[-1]) < 0.1
