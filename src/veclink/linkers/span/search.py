"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good is luck: of 1,000 turns that are drawn, 5 to 15 end right (reddit with e5). That one does, shows
in how much of the two clouds it makes agree. So up to 2,048 are tried, on a few hundred groups of rows at first,
the best of them on more groups, and the best of those on rows, or on more groups still where there are many rows. A few
known pairs draw many beginnings their way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from veclink.geometry.sides import Sides, both
from veclink.linkers.span.annealing import Schedule, anneal, first_joint
from veclink.linkers.span.beginnings import Means, broad_profiles_of, profile_exponent, random_turns
from veclink.linkers.span.constants import (
    ANNEALED,
    ANNEALED_PAIRS,
    ANNEALED_POWER,
    AT_ONCE,
    BEGINNINGS,
    BEGINNINGS_OF_GIVEN,
    BEGINNINGS_OF_MANY,
    CARRIED,
    CARRIED_HALFWAY,
    CARRIED_OF_GIVEN,
    CARRIED_OF_MANY,
    CARRIED_THROUGH,
    GIVEN_WEIGHT,
    GROUPINGS,
    GROUPS,
    HALFWAY,
    HELD,
    LAST_GROUPS,
    MANY_ROWS,
    PAIRS_FOR_ONE,
    SEARCHED_PAIRS,
    SIFTED,
    SIFTED_GROUPS,
    SIFTED_SHARE,
    TRIED,
)
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.groups import WeightedRows, grouped
from veclink.linkers.span.samples import Sampled, sample, whitened
from veclink.progress import RoundListener
from veclink.threads import computing, thread_count

Begun = TypeVar("Begun")


def searched(
    clouds: Sides,
    rng: np.random.Generator,
    listener: RoundListener | None = None,
    given: Sides | None = None,
) -> Sides:
    """Projections (d1, r) and (d2, r) on which two clouds of unit rows look alike, from many beginnings.

    Of all beginnings the best are carried on, of those the best to the end: early on the sum says little, and halfway
    it tells most wrong ones. Given pairs are part of every cross-covariance.

    given: unit rows (m, d1) and (m, d2) of known pairs.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    everything = whitened(clouds, sampled.whitening)
    known = None if given is None else _cross_covariance(given, sampled)
    best = partial(_best, known=known)
    carried = Schedule(*CARRIED)
    runs = partial(_in_parallel, n_rows=len(sampled.rows[0]), listener=listener)

    def on_groups(joints: np.ndarray, count: int, schedule: Schedule) -> np.ndarray:
        groups = grouped(everything, count, rng)

        def run(some: np.ndarray) -> np.ndarray:
            return anneal(groups.rows, some, schedule, masses=groups.masses, known=known)

        return np.concatenate(runs(run, _parts(joints, AT_ONCE)))

    effort = _effort(sampled, everything, rng)
    if given is not None:
        effort = replace(effort, beginnings=min(effort.beginnings, BEGINNINGS_OF_GIVEN), carried=CARRIED_OF_GIVEN)
    last = effort.last

    def slowly(joint: np.ndarray, rounds: range) -> np.ndarray:
        return anneal(last.rows, joint, carried, rounds=rounds, masses=last.masses, known=known)

    begun = random_turns(effort.beginnings, everything[0].shape[1], rng)
    short = Schedule(*TRIED)
    parts = np.array_split(begun, GROUPINGS)
    tried = np.concatenate([on_groups(part, GROUPS, short) for part in parts])
    likely = best(tried, max(effort.carried, round(SIFTED_SHARE * len(tried))))
    sifted = on_groups(likely, SIFTED_GROUPS, Schedule(*SIFTED))
    halfway = runs(partial(slowly, rounds=range(HALFWAY)), best(sifted, effort.carried))
    rest = range(HALFWAY, carried.rounds)
    found = runs(partial(slowly, rounds=rest), best(np.stack(halfway), CARRIED_THROUGH))
    return sampled.projections(best(np.stack(found), 1)[0], ANNEALED_POWER)


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
    return sampled.projections(_best(np.stack(found), 1)[0], ANNEALED_POWER)


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
    last: WeightedRows


def _effort(sampled: Sampled, everything: Sides, rng: np.random.Generator) -> _Effort:
    """On few rows no more beginnings than take about as long as what follows; on many rows fewer do, and groups alone.

    Two samples of many rows have few partners in one another, and rows without one lead astray. Groups have theirs.
    """
    if min(both(len, everything)) >= MANY_ROWS:
        return _Effort(BEGINNINGS_OF_MANY, CARRIED_OF_MANY, grouped(everything, LAST_GROUPS, rng))
    n_a, n_b = both(len, sampled.rows)
    fewest, most = BEGINNINGS
    worthwhile = min(max(fewest, n_a * n_b // PAIRS_FOR_ONE), most)
    return _Effort(worthwhile, CARRIED_HALFWAY, WeightedRows(sampled.rows))


def _cross_covariance(given: Sides, sampled: Sampled) -> np.ndarray:
    """Of given pairs as they are whitened, (r, r), times what they weigh beside all rows."""
    left, right = whitened(given, sampled.whitening)
    return np.float32(GIVEN_WEIGHT / len(left)) * (left.T @ right)


def _parts(joints: np.ndarray, size: int) -> list[np.ndarray]:
    return [joints[start : start + size] for start in range(0, len(joints), size)]


def _best(joints: np.ndarray, count: int, known: np.ndarray | None = None) -> np.ndarray:
    """Those that make most of the two clouds agree, the best first; what was known before does not count."""
    width = np.count_nonzero(joints[0].any(axis=0))  # what was not looked at yet is zero
    seen = joints[:, :width, :width]
    if known is not None:
        seen = seen - known[:width, :width]
    order = np.argsort(-agreement(seen), kind="stable")
    return joints[order[:count]]
