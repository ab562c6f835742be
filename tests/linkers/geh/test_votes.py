"""Votes, posterior, Otsu, one-to-one."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veclink.linkers.geh.linker import Votes, otsu, posterior

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), unique=True, max_size=12)


def _array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


@given(st.lists(st.tuples(PAIRS, st.integers(1, 5)), max_size=6))
def test_votes_count_every_proposal_of_every_view(views: list[tuple[list[tuple[int, int]], int]]) -> None:
    votes = Votes(n_b=8)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for pairs, times in views:
        scores = np.array([a - 0.5 * b for a, b in pairs], np.float32)
        votes.add(_array(pairs), scores, times=times)
        for pair, gain in zip(pairs, scores.tolist(), strict=True):
            counts[pair] += times
            sums[pair] += times * gain
    known = sorted(counts)
    assert [tuple(p) for p in votes.pairs().tolist()] == known
    assert votes.counts.tolist() == [counts[p] for p in known]
    assert np.allclose(votes.mean_scores(), [sums[p] / counts[p] for p in known])
    assert np.all(np.diff(votes.keys) > 0)


def test_posterior_is_the_beta_mean() -> None:
    assert posterior(np.array([0, 5, 10]), 10).tolist() == pytest.approx([1 / 12, 0.5, 11 / 12])


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_otsu_separates_as_well_as_any_threshold(counts: list[int]) -> None:
    values = posterior(np.array(counts), 12)

    def between(threshold: float) -> float:
        low, high = values[values < threshold], values[values >= threshold]
        return len(low) * len(high) * (low.mean() - high.mean()) ** 2 if len(low) and len(high) else 0.0

    best = max(between(t) for t in np.unique(values))
    assert between(otsu(values)) == pytest.approx(best, abs=1e-12)
    assert (values >= otsu(values)).any()
