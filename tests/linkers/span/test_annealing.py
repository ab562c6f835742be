"""Annealing: what a schedule says, and that a right turn is found and agrees."""

from __future__ import annotations

from functools import cache

import numpy as np

from span_papers import all_papers, whole_cloud_pair
from veclink.linkers.span.annealing import Schedule, anneal, turned
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.samples import Sampled, sample
from veclink.linkers.span.search_constants import (
    SEARCHED_PAIRS,
)

SHORT = Schedule(30, (6, 32), (1.0, 3.0))


@cache
def _clouds() -> tuple[np.ndarray, np.ndarray]:
    """The shared rows of both clouds, partners in the same place."""
    clouds = whole_cloud_pair()
    truth = all_papers().truth
    return clouds.a.array[truth[:, 0]], clouds.b.array[truth[:, 1]]


@cache
def _paired() -> Sampled:
    return sample(_clouds(), SEARCHED_PAIRS, np.random.default_rng(0))


def test_a_right_turn_agrees_more_than_a_wrong_one() -> None:
    p, q = _paired().rows
    right = anneal((p, q), p.T @ q / len(p), SHORT)
    flipped = (p.T @ q / len(p)) * np.where(np.arange(p.shape[1]) % 2, -1, 1).astype(np.float32)
    wrong = anneal((p, q), flipped, SHORT)
    of_p, of_q = turned((p, q), right, 32, SHORT.power)
    assert np.mean((of_p @ of_q.T).argmax(axis=1) == np.arange(len(p))) > 0.5
    assert agreement(right) > 1.05 * agreement(wrong)


def test_directions_and_sharpness_rise_and_the_hint_is_let_go() -> None:
    schedule = Schedule(11, (4, 60), (1.0, 4.0))
    counts, sharpness, hinted = zip(*(schedule.at(step) for step in range(11)), strict=True)
    assert counts[0] == 4 and counts[-1] == 60 and list(counts) == sorted(counts)
    assert sharpness[0] == 1.0 and np.isclose(sharpness[-1], 4.0) and np.isclose(sharpness[5], 2.0)
    assert hinted[0] == 1.0 and hinted[5] == 0.5 and hinted[-1] == 0.0
    assert Schedule(11, (4, 60), (1.0, 4.0), held=3.0).at(1)[2] == 3.0 * hinted[1]
    assert schedule.width(0, 60) == 16 and schedule.width(11, 60) == 60
