"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good is luck: of the turns that are drawn, one in a hundred or a thousand ends right. That one does,
shows in how much of the two clouds it makes agree. So thousands are tried, on a few hundred groups of rows at first,
the best of them on more groups, and the best of those on rows, or on more groups still where there are many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from veclink.geometry.sides import Sides, both, rows_of
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.span.annealing import Schedule, anneal, first_joint
from veclink.linkers.span.beginnings import Means, broad_profiles_of, profile_exponent, random_turns
from veclink.linkers.span.constants import (
    ANNEALED,
    ANNEALED_PAIRS,
    ANNEALED_POWER,
    AT_ONCE,
    BEGINNINGS,
    BEGINNINGS_OF_MANY,
    CARRIED,
    CARRIED_HALFWAY,
    CARRIED_OF_MANY,
    CARRIED_THROUGH,
    GROUPINGS,
    GROUPS,
    HALFWAY,
    HELD,
    LAST_GROUPS,
    MANY_ROWS,
    PAIRS_FOR_ONE,
    SEARCHED_PAIRS,
    SEEDED,
    SIFTED,
    SIFTED_GROUPS,
    SIFTED_SHARE,
    TRIED,
)
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.groups import Grouped, grouped
from veclink.linkers.span.samples import Sampled, sample, whitened
from veclink.progress import RoundListener
from veclink.threads import computing, thread_count

Begun = TypeVar("Begun")


def searched(clouds: Sides, rng: np.random.Generator, listener: RoundListener | None = None) -> Sides:
    """Projections (d1, r) and (d2, r) on which two clouds of unit rows look alike, from many beginnings.

    Of all beginnings the best are carried on, of those the best to the end: early on the sum says little, and halfway
    it tells most wrong ones.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    everything = whitened(clouds, sampled.whitening)
    carried = Schedule(*CARRIED)
    runs = partial(_in_parallel, n_rows=len(sampled.rows[0]), listener=listener)

    def on_groups(joints: np.ndarray, count: int, schedule: Schedule) -> np.ndarray:
        groups = grouped(everything, count, rng)

        def run(some: np.ndarray) -> np.ndarray:
            return anneal(groups.rows, some, schedule, masses=groups.masses)

        return np.concatenate(runs(run, _parts(joints, AT_ONCE)))

    effort = _effort(sampled, everything, rng)
    last = effort.last

    def slowly(joint: np.ndarray, rounds: range) -> np.ndarray:
        return anneal(last.rows, joint, carried, rounds=rounds, masses=last.masses)

    begun = random_turns(effort.beginnings, everything[0].shape[1], rng)
    short = Schedule(*TRIED)
    parts = np.array_split(begun, GROUPINGS)
    tried = np.concatenate([on_groups(part, GROUPS, short) for part in parts])
    best = _best(tried, max(effort.carried, round(SIFTED_SHARE * len(tried))))
    sifted = on_groups(best, SIFTED_GROUPS, Schedule(*SIFTED))
    halfway = runs(partial(slowly, rounds=range(HALFWAY)), _best(sifted, effort.carried))
    rest = range(HALFWAY, carried.rounds)
    found = runs(partial(slowly, rounds=rest), _best(np.stack(halfway), CARRIED_THROUGH))
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
        schedule = Schedule(*ANNEALED, held=held)
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
    schedule = Schedule(*ANNEALED)

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
    jobs = list(of)
    count = thread_count()
    of_each = max(1, count // max(1, len(jobs)))

    def alone(job: Begun) -> np.ndarray:
        with computing(of_each):
            return run(job)

    found = []
    with ThreadPoolExecutor(count) as threads:
        for joint in threads.map(alone, jobs):
            found.append(joint)
            if listener is not None:
                listener(len(found), n_rows, 0.0)
    return found


@dataclass(frozen=True, eq=False)
class _Effort:
    """How many beginnings are tried, how many of them are carried on, and on which rows or groups."""

    beginnings: int
    carried: int
    last: Grouped


def _effort(sampled: Sampled, everything: Sides, rng: np.random.Generator) -> _Effort:
    """On few rows no more beginnings than take about as long as what follows; on many rows fewer do, and groups alone.

    Two samples of many rows have few partners in one another, and rows without one lead astray. Groups have theirs.
    """
    if min(both(len, everything)) >= MANY_ROWS:
        return _Effort(BEGINNINGS_OF_MANY, CARRIED_OF_MANY, grouped(everything, LAST_GROUPS, rng))
    n_a, n_b = both(len, sampled.rows)
    fewest, most = BEGINNINGS
    worthwhile = min(max(fewest, n_a * n_b // PAIRS_FOR_ONE), most)
    return _Effort(worthwhile, CARRIED_HALFWAY, Grouped(sampled.rows))


def _parts(joints: np.ndarray, size: int) -> list[np.ndarray]:
    return [joints[start : start + size] for start in range(0, len(joints), size)]


def _best(joints: np.ndarray, count: int) -> np.ndarray:
    """Those that make most of the two clouds agree, the best first."""
    width = np.count_nonzero(joints[0].any(axis=0))  # what was not looked at yet is zero
    order = np.argsort(-agreement(joints[:, :width, :width]), kind="stable")
    return joints[order[:count]]


def _best_projections(sampled: Sampled, joints: list[np.ndarray]) -> Sides:
    """The projections of the cross-covariance that makes most of the two clouds agree."""
    best = max(joints, key=agreement)
    return sampled.projections(best, ANNEALED_POWER)
