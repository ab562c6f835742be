"""An alignment that teaches itself: one that is a little right ends right, one that is all wrong does not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from span_papers import all_papers, whole_cloud_pair
from veclink.linkers.span.annealing import turned
from veclink.linkers.span.constants import (
    SHARED_DIRECTIONS,
)
from veclink.linkers.span.nearness import csls_of_all, mutual_pairs
from veclink.linkers.span.samples import Sampled, sample
from veclink.linkers.span.search_constants import (
    ANNEALED_POWER,
    SEARCHED_PAIRS,
)
from veclink.linkers.span.teaching import taught

N_ROWS = 400


@cache
def _paired() -> Sampled:
    """Shared rows of both clouds, partners in the same place."""
    clouds = whole_cloud_pair()
    truth = all_papers().truth[:N_ROWS]
    both = clouds.a.array[truth[:, 0]], clouds.b.array[truth[:, 1]]
    return sample(both, SEARCHED_PAIRS, np.random.default_rng(0))


def _guess(share: float, state: int) -> np.ndarray:
    """The cross-covariance of pairs of which this share is right, and the others are shifted by one."""
    wrong = np.random.default_rng(state).permutation(N_ROWS)[round(share * N_ROWS) :]
    partners = np.arange(N_ROWS)
    partners[wrong] = np.roll(wrong, 1)
    p, q = _paired().rows
    return p.T @ q[partners] / N_ROWS


def _share_right(joint: np.ndarray) -> float:
    """Of the rows, how many are mutual neighbours of the row in the same place."""
    seen = turned(_paired().rows, joint, SHARED_DIRECTIONS, ANNEALED_POWER)
    pairs, _ = mutual_pairs(csls_of_all(seen))
    return float((pairs[:, 0] == pairs[:, 1]).sum() / N_ROWS)


@pytest.mark.parametrize("state", [0, 1, 2])
def test_an_alignment_that_is_a_seventh_right_ends_right(state: int) -> None:
    guess = _guess(0.15, state)
    assert _share_right(guess) < 0.2
    assert _share_right(taught(_paired(), guess)) > 0.9


@pytest.mark.parametrize("state", [0, 1, 2])
def test_an_alignment_that_is_all_wrong_stays_wrong(state: int) -> None:
    assert _share_right(taught(_paired(), _guess(0.0, state))) < 0.1
