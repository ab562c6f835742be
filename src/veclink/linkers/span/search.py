"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good is luck: of 1,000 turns that are drawn, 5 to 15 end right (reddit with e5). So up to 1,536 are
tried, on a few hundred groups of rows. How much of the two clouds each makes agree says which may be right, and how
much they agree along directions that it did not look at says which is. The best are carried on, on rows. Where there
are many rows, the sum alone decides, and the last rounds run on groups. A few known pairs draw many beginnings their
way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import matmul
from typing import Any, Final, TypeVar

import numpy as np

from veclink.geometry.arrays import Sides, both, rows_of
from veclink.geometry.nearest import nearest_centre, spherical_kmeans
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span.annealing import Schedule, anneal, unseen_agreement
from veclink.linkers.span.constants import ALIGNMENT_POWER, PRINCIPAL_DIRECTIONS, SHARED_DIRECTIONS
from veclink.linkers.span.directions import agreement, cross_covariance, leading, whitening
from veclink.progress import RoundListener
from veclink.threads import computing, thread_count

Begun = TypeVar("Begun")
Found = TypeVar("Found")

# Pairs of rows, one of each cloud, that a search looks at: all of 500 × 4,400, or 1,483 of both. Chosen for its time.
SEARCHED_PAIRS: Final = 2_200_000

# Beginnings (at least, at most), one for so many pairs of rows; the groups of either side that they are tried on,
# sifted on, and carried on where there are many rows; how often the groups are drawn anew, and the steps of that. Of
# 1,000 turns on reddit with e5 (α = .3, four splits), 5, 7, 12 and 15 end right on 200 groups, 2 and 14 on 100, 10 and
# 14 on 400, which take four times as long; on all rows none to four. Groups of equal mass lead nowhere (3 of 4,000),
# nor do those that are alike in 16 directions alone (9). That small clouds have fewer beginnings bounds their time.
BEGINNINGS: Final = (64, 1536, 600)
GROUPS: Final = (200, 400, 1_500)
GROUPINGS: Final = (4, 10)

# Share of them, the best by their sum, of which it is asked how they fit directions that they did not look at (of all
# PRINCIPAL_DIRECTIONS); how many are then sifted on groups, how many of those carried on, on rows or, where there are
# many, on groups, and how many of those go on to the end there. Of 2,048 turns the nearest to the right one is by its
# sum in place 1 to 331, among the best 500 by how it fits the rest in place 2 to 10, and a second one in 0 to 16
# (reddit and stackexchange, mpnet–e5 at α = .3, minilm–e5 at .15); after sifting the rest still tells more than the
# sum. The sum of those carried on was 24.4 to 25.5 where nothing was right, 25.4 to 26.1 with 96 to 220 of 613 right,
# enough to grow from.
LOOKED_AT: Final = 0.25
SIFTED_OF_ROWS: Final = 64
CARRIED_ON: Final = (8, 3)

# Where there are many rows, the share of turns, the best by their sum, that is sifted; the round at which the others
# are let go is HALFWAY. Right ones are among the first 64 of 1,000 or far behind (reddit with e5, α = .15: places 3 to
# 238 of 2,048), and afterwards in places 0 to 13.
SIFTED_SHARE: Final = 0.125

# Rows of a cloud that a search draws its groups from at most; rows of the smaller cloud from which the last rounds run
# on groups too; and how many beginnings are tried there. Two halves of 24,000 titles
# that share no row (minilm–e5): from 1,483 rows of both no title comes near its partner, from so many groups of 12,000
# rows 33 to 40 % are nearest to theirs, of 8,000 rows 37 %, of 4,096 none; from 600 groups 32 %, from 3,000 47 % in
# twice the time. With 2,048 beginnings 3 of 3 splits end so, with 1,024 and 8 carried on 3 of 3, with 512 and 4 2 of 3.
SEARCHED_ROWS: Final = 32_768
MANY_ROWS: Final = 6_000
BEGINNINGS_OF_MANY: Final = 1024

# Rounds, directions (from, to) and sharpness β (from, to) of the three. With 15 rounds instead of 30 a third fewer
# of the tried end right, with 60 a third more, at twice the cost; sifting to 32 or 40 directions tells less than to 24,
# and as much in 40 rounds as in 60. Slow is what matters in the end: 120 rounds from 6 to 60 directions end right in 3
# of 8 where 60 rounds from 16 to 60 do in 1 (reddit minilm–mpnet, α = .15).
TRIED: Final = Schedule(30, (4, 16), (1.0, 2.0))
SIFTED: Final = Schedule(40, (6, 24), (1.0, 2.5))
CARRIED: Final = Schedule(120, (6, 60), (1.0, 4.0))
HALFWAY: Final = CARRIED.rounds // 2

# Leading principal directions that a random turn is of, and how far it mixes neighbouring ones: 44, 39 and 22 of 4,000
# end right with 0.3, 0.5 and 1 (between the first two by choice), 25 with four directions, 33 with eight (reddit with
# e5, α = .3).
TURNED: Final = (6, 0.4)

# From given pairs: what they weigh in a cross-covariance beside all rows, and how many beginnings. From 4 pairs,
# weights of 0, .01, .02 and .05 have 3, 4, 4 and 1 of four splits of reddit mpnet–e5 end right (α = .3, 1,024
# beginnings). With .015 and 512, 12 of 12 searches on three splits do (reddit mpnet–e5 at .15, stackexchange mpnet–e5
# at .3); with .01 and 256, 9. Films from 8 pairs do not end right with any of these.
GIVEN_WEIGHT: Final = 0.015
BEGINNINGS_OF_GIVEN: Final = 512


def searched(
    clouds: Sides, rng: np.random.Generator, listener: RoundListener | None = None, given: Sides | None = None
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
    return sampled.projections(joint)


def _in_parallel(
    run: Callable[[Begun], Found], of: Iterable[Begun], n_rows: int, listener: RoundListener | None = None
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
        parts = np.array_split(begun, GROUPINGS[0])
        joints = [self.on_groups(part, GROUPS[0], TRIED) for part in parts]
        return self.best(np.concatenate(joints), beginnings)

    def on_groups(self, joints: np.ndarray, count: int, schedule: Schedule) -> np.ndarray:
        """Where cross-covariances (b, r, r) lead on so many groups, which are drawn anew."""
        groups = grouped(self.everything, count, self.rng)

        def run(some: np.ndarray) -> np.ndarray:
            return anneal(groups.rows, some, schedule, masses=groups.masses, known=self.known)

        # side by side: one at a time takes 6 ms each, 8 at a time 3.6, and 32 of more groups leave the cache
        parts = [joints[start : start + 8] for start in range(0, len(joints), 8)]
        return np.concatenate(self.runs(run, parts))

    def carried(self, joints: np.ndarray, on: WeightedRows, rounds: range) -> np.ndarray:
        """Where these rounds of the slow schedule lead each of them."""

        def run(joint: np.ndarray) -> np.ndarray:
            return anneal(on.rows, joint, CARRIED, rounds=rounds, masses=on.masses, known=self.known)

        return np.stack(self.runs(run, joints))

    def best(self, joints: np.ndarray, count: int) -> np.ndarray:
        """Those that make most of the two clouds agree, the best first."""
        return _best(joints, count, self.known)


def _among_rows(search: _Search, sampled: Sampled, wide: Sides) -> np.ndarray:
    """The best cross-covariance of many beginnings: of the likely ones, those that fit what they did not look at.

    On few rows no more beginnings are tried than take about as long as what follows.
    """
    rows = sampled.rows
    fewest, most, one_for = BEGINNINGS
    worthwhile = min(max(fewest, len(rows[0]) * len(rows[1]) // one_for), most)

    def fitting(joints: np.ndarray, schedule: Schedule, count: int) -> np.ndarray:
        def fit(joint: np.ndarray) -> float:
            return unseen_agreement(rows, wide, joint, schedule)

        fits = np.array(search.runs(fit, joints))
        return joints[np.argsort(-fits, kind="stable")[:count]]

    tried = search.tried(worthwhile)
    likely = tried[: max(SIFTED_OF_ROWS, round(LOOKED_AT * len(tried)))]
    fit_more = fitting(likely, TRIED, SIFTED_OF_ROWS)
    sifted = search.on_groups(fit_more, GROUPS[1], SIFTED)
    hopeful = fitting(sifted, SIFTED, CARRIED_ON[0])
    ends = search.carried(hopeful, WeightedRows(rows), range(CARRIED.rounds))
    return search.best(ends, 1)[0]


def _among_groups(search: _Search) -> np.ndarray:
    """The same on groups alone: two samples of many rows have few partners in one another, and groups have theirs."""
    tried = search.tried(BEGINNINGS_OF_MANY)
    likely = tried[: round(SIFTED_SHARE * len(tried))]
    sifted = search.on_groups(likely, GROUPS[1], SIFTED)
    on = grouped(search.everything, GROUPS[2], search.rng)
    halfway = search.carried(search.best(sifted, CARRIED_ON[0]), on, range(HALFWAY))
    through = search.best(halfway, CARRIED_ON[1])
    return search.best(search.carried(through, on, range(HALFWAY, CARRIED.rounds)), 1)[0]


def _best(joints: np.ndarray, count: int, known: np.ndarray | None = None) -> np.ndarray:
    """Those that make most of the two clouds agree, the best first; what was known before does not count."""
    width = np.count_nonzero(joints[0].any(axis=0))  # what was not looked at yet is zero
    seen = joints[:, :width, :width]
    if known is not None:
        seen = seen - known[:width, :width]
    order = np.argsort(-agreement(seen), kind="stable")
    return joints[order[:count]]


# Rows to search on: some of both clouds, whitened


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of two clouds to search on: whitened, and in how they were whitened.

    Attributes
    ----------
    rows : ndarrays of shape (n1, r) and (n2, r)
        Whitened principal coordinates.
    whitening : ndarrays of shape (d1, r) and (d2, r)
        From unit rows to those.
    chosen : ndarrays
        Positions of the rows among those that were sampled.
    """

    rows: Sides
    whitening: Sides
    chosen: Sides

    def projections(self, joint: np.ndarray) -> Sides:
        """From unit rows to the directions that a cross-covariance (r, r) of the whitened ones shares."""
        shared = leading(joint, SHARED_DIRECTIONS, ALIGNMENT_POWER)
        return both(matmul, self.whitening, shared)


def sample(clouds: Sides, pairs: int, rng: np.random.Generator) -> Sampled:
    """Rows of both clouds, at most so many pairs of them: all of a small cloud, more of the other then."""
    as_many_each = int(np.sqrt(pairs))
    fewer = min(*both(len, clouds), as_many_each)
    draw = partial(some_rows, most=pairs // fewer, rng=rng)
    chosen = both(draw, clouds)
    whitened_by = _of_one_width(both(_whitening, clouds))
    rows = whitened(rows_of(clouds, chosen), whitened_by)
    return Sampled(rows, whitened_by, chosen)


def wide_rows(clouds: Sides, sampled: Sampled) -> Sides:
    """The sampled rows along many more principal directions than are turned, whitened."""
    directions = both(partial(whitening, count=PRINCIPAL_DIRECTIONS), clouds)
    return whitened(rows_of(clouds, sampled.chosen), _of_one_width(directions))


def whitened(rows: Sides, whitened_by: Sides) -> Sides:
    """Rows of both clouds along the directions that whiten them, of mean square 1."""
    return both(_of_mean_square_1, both(matmul, rows, whitened_by))


def some_rows(cloud: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of all rows of a cloud, or of a larger one of so many, ascending."""
    n = len(cloud)
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, most, replace=False))


def _whitening(points: np.ndarray) -> np.ndarray:
    return whitening(points, SHARED_DIRECTIONS)


def _of_one_width(projections: Sides) -> Sides:
    """Both with as many directions as the one that has fewer."""
    of_a, of_b = projections
    width = min(of_a.shape[1], of_b.shape[1])
    return of_a[:, :width], of_b[:, :width]


def _of_mean_square_1(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows**2).mean())


# Groups: a few hundred means stand for thousands of rows, each for as many as it has; what two clouds have in common at
# large shows in them as in the rows, at a hundredth of the cost of a plan between all rows


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of two clouds, or means of their groups, and how much each stands for.

    Attributes
    ----------
    rows : ndarrays of shape (k1, r) and (k2, r)
        The rows or means.
    masses : ndarrays of shape (k1,) and (k2,), optional
        The shares of the cloud that they stand for; None where all are the same.
    """

    rows: Sides
    masses: Sides | None = None


def grouped(rows: Sides, count: int, rng: np.random.Generator) -> WeightedRows:
    """Rows (n1, r) and (n2, r) in so many groups on either side, drawn anew at every call."""
    of_a, of_b = both(partial(_groups, count=count, rng=rng), rows)
    means, masses = zip(of_a, of_b, strict=True)
    return WeightedRows(means, masses)


def _groups(rows: np.ndarray, count: int, rng: np.random.Generator) -> Sides:
    """Means (k, r) and masses (k,) of the groups of one cloud; none is empty."""
    unit = unit_rows(rows.copy())
    fewer = min(count, len(rows))
    centres = spherical_kmeans(unit, fewer, GROUPINGS[1], rng)
    nearest = nearest_centre(unit, centres)
    order = np.argsort(nearest, kind="stable")
    _, first, sizes = np.unique(nearest[order], return_index=True, return_counts=True)
    sums = np.add.reduceat(rows[order], first, axis=0)
    masses = (sizes / len(rows)).astype(np.float32)
    return sums / sizes[:, None].astype(np.float32), masses


# Beginnings


def random_turns(count: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Guesses (count, width, width): leading directions keep their order roughly, neighbouring ones are mixed most."""
    leading_ones, mixed = TURNED
    directions = min(leading_ones, width)
    square = directions, directions
    place = np.arange(directions)
    apart = np.abs(place[:, None] - place)
    drawn = rng.normal(size=(count, *square)) * mixed
    mixing = np.triu(drawn / (1.0 + apart / 3.0), 1)
    half = (mixing - mixing.swapaxes(1, 2)) / 2.0
    one = np.eye(directions)
    turns = np.linalg.solve(one - half, one + half)  # Cayley's form
    signs = rng.choice([-1.0, 1.0], (count, 1, directions))
    joints = np.zeros((count, width, width), np.float32)
    joints[:, :directions, :directions] = turns * signs
    return joints
