"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good is luck: of 1,000 turns that are drawn, 5 to 15 end right (reddit with e5). So up to 1,536 are
tried, on a few hundred groups of rows. How much of the two clouds each makes agree says which may be right, and how
much they agree along directions that it did not look at says which is. The best are carried on, on rows, and teach
themselves in the end. Where there are many rows, the sum alone decides, the last rounds run on groups, and nothing is
taught. A few known pairs draw many beginnings their way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.linkers.span.annealing import Schedule, anneal, first_joint, unseen_agreement
from veclink.linkers.span.beginnings import Means, broad_profiles_of, profile_exponent, random_turns
from veclink.linkers.span.directions import agreement, cross_covariance
from veclink.linkers.span.groups import WeightedRows, grouped
from veclink.linkers.span.samples import Sampled, sample, whitened, wide_rows
from veclink.linkers.span.search_constants import (
    ANNEALED,
    ANNEALED_PAIRS,
    ANNEALED_POWER,
    AT_ONCE,
    BEGINNINGS,
    BEGINNINGS_OF_GIVEN,
    BEGINNINGS_OF_MANY,
    CARRIED,
    CARRIED_OF_MANY,
    CARRIED_OF_ROWS,
    CARRIED_THROUGH,
    GIVEN_WEIGHT,
    GROUPINGS,
    GROUPS,
    HALFWAY,
    HELD,
    LAST_GROUPS,
    LOOKED_AT,
    MANY_ROWS,
    PAIRS_FOR_ONE,
    SEARCHED_PAIRS,
    SIFTED,
    SIFTED_GROUPS,
    SIFTED_OF_ROWS,
    SIFTED_SHARE,
    TRIED,
)
from veclink.linkers.span.teaching import taught
from veclink.progress import RoundListener
from veclink.threads import computing, thread_count

Begun = TypeVar("Begun")
Found = TypeVar("Found")


def searched(
    clouds: Sides,
    rng: np.random.Generator,
    listener: RoundListener | None = None,
    given: Sides | None = None,
) -> Sides:
    """Projections (d1, r) and (d2, r) on which two clouds of unit rows look alike, from many beginnings.

    Given pairs are part of every cross-covariance, and draw beginnings their way: fewer do then.

    given: unit rows (m, d1) and (m, d2) of known pairs.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    known = None
    if given is not None:
        known = cross_covariance(whitened(given, sampled.whitening), GIVEN_WEIGHT)
    runs = partial(_in_parallel, n_rows=len(sampled.rows[0]), listener=listener)
    search = _Search(whitened(clouds, sampled.whitening), known, rng, runs)
    if min(both(len, clouds)) >= MANY_ROWS:
        joint = _among_groups(search)
    else:
        joint = _among_rows(search, sampled, wide_rows(clouds, sampled))
    return sampled.projections(joint, ANNEALED_POWER)


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
    joint = taught(sampled, _best(np.stack(found), 1)[0])
    return sampled.projections(joint, ANNEALED_POWER)


def _in_parallel(
    run: Callable[[Begun], Found],
    of: Iterable[Begun],
    n_rows: int,
    listener: RoundListener | None = None,
) -> list[Found]:
    """What independent runs find, on all processors, in the order of what they are made of."""
    jobs = list(of)
    count = thread_count()
    of_each = max(1, count // max(1, len(jobs)))

    def alone(job: Begun) -> Found:
        with computing(of_each):
            return run(job)

    found = []
    with ThreadPoolExecutor(count) as threads:
        for each in threads.map(alone, jobs):
            found.append(each)
            if listener is not None:
                listener(len(found), n_rows, 0.0)
    return found


@dataclass(frozen=True, eq=False)
class _Search:
    """What all parts of a search share.

    Attributes
    ----------
    everything : ndarrays of shape (n1, r) and (n2, r)
        All rows, whitened.
    known : ndarray of shape (r, r), optional
        What given pairs say of the cross-covariance.
    rng : numpy.random.Generator
        Draws beginnings and groups.
    runs : callable
        Results of independent jobs, on all processors.
    """

    everything: Sides
    known: np.ndarray | None
    rng: np.random.Generator
    runs: Callable[..., list[Any]]

    def tried(self, beginnings: int) -> np.ndarray:
        """So many random turns after a few rounds on groups, the best first."""
        if self.known is not None:
            beginnings = min(beginnings, BEGINNINGS_OF_GIVEN)
        begun = random_turns(beginnings, self.everything[0].shape[1], self.rng)
        parts = np.array_split(begun, GROUPINGS)
        joints = [self.on_groups(part, GROUPS, Schedule(*TRIED)) for part in parts]
        return self.best(np.concatenate(joints), beginnings)

    def on_groups(self, joints: np.ndarray, count: int, schedule: Schedule) -> np.ndarray:
        """Where cross-covariances (b, r, r) lead on so many groups, which are drawn anew."""
        groups = grouped(self.everything, count, self.rng)

        def run(some: np.ndarray) -> np.ndarray:
            return anneal(groups.rows, some, schedule, masses=groups.masses, known=self.known)

        parts = [joints[start : start + AT_ONCE] for start in range(0, len(joints), AT_ONCE)]
        return np.concatenate(self.runs(run, parts))

    def carried(self, joints: np.ndarray, on: WeightedRows, rounds: range) -> np.ndarray:
        """Where these rounds of the slow schedule lead each of them."""

        def run(joint: np.ndarray) -> np.ndarray:
            return anneal(on.rows, joint, Schedule(*CARRIED), rounds=rounds, masses=on.masses, known=self.known)

        return np.stack(self.runs(run, joints))

    def best(self, joints: np.ndarray, count: int) -> np.ndarray:
        """Those that make most of the two clouds agree, the best first."""
        return _best(joints, count, self.known)


def _among_rows(search: _Search, sampled: Sampled, wide: Sides) -> np.ndarray:
    """The best cross-covariance of many beginnings: of the likely ones, those that fit what they did not look at.

    On few rows no more beginnings are tried than take about as long as what follows.
    """
    rows = sampled.rows
    fewest, most = BEGINNINGS
    worthwhile = min(max(fewest, len(rows[0]) * len(rows[1]) // PAIRS_FOR_ONE), most)

    def fitting(joints: np.ndarray, schedule: Schedule, count: int) -> np.ndarray:
        def fit(joint: np.ndarray) -> float:
            return unseen_agreement(rows, wide, joint, schedule)

        fits = np.array(search.runs(fit, joints))
        return joints[np.argsort(-fits, kind="stable")[:count]]

    def taught_by_itself(joint: np.ndarray) -> np.ndarray:
        return taught(sampled, joint, search.known)

    tried = search.tried(worthwhile)
    likely = tried[: max(SIFTED_OF_ROWS, round(LOOKED_AT * len(tried)))]
    fit_more = fitting(likely, Schedule(*TRIED), SIFTED_OF_ROWS)
    sifted = search.on_groups(fit_more, SIFTED_GROUPS, Schedule(*SIFTED))
    hopeful = fitting(sifted, Schedule(*SIFTED), CARRIED_OF_ROWS)
    ends = search.carried(hopeful, WeightedRows(rows), range(CARRIED[0]))
    learned = search.runs(taught_by_itself, search.best(ends, CARRIED_THROUGH))
    return search.best(np.stack(learned), 1)[0]


def _among_groups(search: _Search) -> np.ndarray:
    """The same on groups alone: two samples of many rows have few partners in one another, and groups have theirs."""
    tried = search.tried(BEGINNINGS_OF_MANY)
    likely = tried[: round(SIFTED_SHARE * len(tried))]
    sifted = search.on_groups(likely, SIFTED_GROUPS, Schedule(*SIFTED))
    on = grouped(search.everything, LAST_GROUPS, search.rng)
    halfway = search.carried(search.best(sifted, CARRIED_OF_MANY), on, range(HALFWAY))
    through = search.best(halfway, CARRIED_THROUGH)
    return search.best(search.carried(through, on, range(HALFWAY, CARRIED[0])), 1)[0]


def _best(joints: np.ndarray, count: int, known: np.ndarray | None = None) -> np.ndarray:
    """Those that make most of the two clouds agree, the best first; what was known before does not count."""
    width = np.count_nonzero(joints[0].any(axis=0))  # what was not looked at yet is zero
    seen = joints[:, :width, :width]
    if known is not None:
        seen = seen - known[:width, :width]
    order = np.argsort(-agreement(seen), kind="stable")
    return joints[order[:count]]
