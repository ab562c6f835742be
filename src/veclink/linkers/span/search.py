"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good differs by data and by luck; that one is, shows in how much of the two clouds it makes agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TypeVar

import numpy as np

from veclink.geometry.sides import Sides, both, rows_of
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.span.annealing import Schedule, anneal, first_joint
from veclink.linkers.span.beginnings import (
    Beginning,
    Means,
    beginnings,
    broad_profiles_of,
    profile_exponent,
)
from veclink.linkers.span.constants import (
    ANNEALED,
    ANNEALED_PAIRS,
    ANNEALED_POWER,
    BEGINNINGS,
    CARRIED,
    CARRIED_HALFWAY,
    CARRIED_THROUGH,
    HALFWAY,
    HELD,
    NARROWEST,
    SEARCHED_PAIRS,
    SEEDED,
    TRIED,
)
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.samples import Sampled, sample
from veclink.progress import RoundListener
from veclink.threads import thread_count

Begun = TypeVar("Begun")


def searched(clouds: Sides, means: Means, rng: np.random.Generator, listener: RoundListener | None = None) -> Sides:
    """Projections (d1, r) and (d2, r) on which two clouds of unit rows look alike, from many beginnings.

    Of all beginnings the best are carried on, of those the best to the end: early on the sum says little, and halfway
    it tells most wrong ones.

    means: what was subtracted from the rows of either side, where it is known.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    rows = sampled.rows
    short = Schedule(*TRIED)
    carried = Schedule(*CARRIED)
    first_half = range(HALFWAY)
    rest = range(HALFWAY, carried.rounds)

    def tried(begun: Beginning) -> np.ndarray:
        return anneal(rows, begun.joint, short, begun.hint)

    def halfway(joint: np.ndarray) -> np.ndarray:
        return anneal(rows, joint, carried, rounds=first_half)

    def to_the_end(joint: np.ndarray) -> np.ndarray:
        return anneal(rows, joint, carried, rounds=rest)

    every = beginnings(clouds, means, sampled, rng)
    first = list(islice(every, BEGINNINGS))
    in_parallel = partial(_in_parallel, n_rows=len(rows[0]), listener=listener)
    found = in_parallel(tried, first)
    found = in_parallel(halfway, _best(found, CARRIED_HALFWAY, NARROWEST))
    found = in_parallel(to_the_end, _best(found, CARRIED_THROUGH))
    return _best_projections(sampled, found)


def annealed(clouds: Sides, means: Means, rng: np.random.Generator) -> Sides:
    """Projections on which two clouds look alike, from their broad profiles, which are let go over all rounds.

    Slow runs on as many rows as there is time for: what a hint that is nearly good enough needs is more rows. How much
    the profiles should weigh differs by data; the sum tells.
    """
    profiles = broad_profiles_of(clouds, means, rng)
    sampled = sample(clouds, ANNEALED_PAIRS, rng)
    hint = profile_exponent(profiles, sampled)

    def run(held: float) -> np.ndarray:
        schedule = Schedule(*ANNEALED, let_go=1.0, held=held)
        first = first_joint(sampled.rows, np.float32(held) * hint)
        return anneal(sampled.rows, first, schedule, hint)

    found = _in_parallel(run, HELD, len(hint))
    return _best_projections(sampled, found)


def annealed_from(given: Sides, clouds: Sides, means: Means, ridge: float, rng: np.random.Generator) -> Sides:
    """Projections on which two clouds look alike, from given pairs too few to place a row, with and without profiles.

    Which of the two helps differs by data; the sum tells which ended right.

    given: vectors (m, d1) and (m, d2) of the pairs.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    profiles = broad_profiles_of(clouds, means, rng)
    by_profiles = profile_exponent(profiles, sampled)
    rows = rows_of(clouds, sampled.chosen)
    of_a, of_b = both(projected, rows, span_projections(given, ridge))
    by_given = of_a @ of_b.T - np.float32(1.0)
    schedule = Schedule(*ANNEALED, let_go=1.0)

    def run(weights: tuple[float, float]) -> np.ndarray:
        of_given, of_profiles = map(np.float32, weights)
        hint = of_given * by_given + of_profiles * by_profiles
        first = first_joint(sampled.rows, hint)
        return anneal(sampled.rows, first, schedule, hint)

    found = _in_parallel(run, SEEDED, len(by_given))
    return _best_projections(sampled, found)


def _in_parallel(
    run: Callable[[Begun], np.ndarray],
    of: Iterable[Begun],
    n_rows: int,
    listener: RoundListener | None = None,
) -> list[np.ndarray]:
    """Cross-covariances of independent runs, on all processors, in the order of what they are made of."""
    found = []
    with ThreadPoolExecutor(thread_count()) as threads:
        for joint in threads.map(run, of):
            found.append(joint)
            if listener is not None:
                listener(len(found), n_rows, 0.0)
    return found


def _best(joints: list[np.ndarray], count: int, width: int | None = None) -> list[np.ndarray]:
    """Those that make most of the two clouds agree, as seen along the first `width` directions."""

    def disagreement(joint: np.ndarray) -> float:
        return -agreement(joint[:width, :width])

    return sorted(joints, key=disagreement)[:count]


def _best_projections(sampled: Sampled, joints: list[np.ndarray]) -> Sides:
    """The projections of the cross-covariance that makes most of the two clouds agree."""
    best = max(joints, key=agreement)
    return sampled.projections(best, ANNEALED_POWER)
