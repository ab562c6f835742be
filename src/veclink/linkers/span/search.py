"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

Which beginning is good is luck: of 1,000 turns that are drawn, 5 to 15 end right (reddit with e5). So up to 1,536 are
tried, on a few hundred groups of rows. How much of the two clouds each makes agree says which may be right, and how
much they agree along directions that it did not look at says which is. The best are carried on, on rows. Where there
are many rows, the sum alone decides, and the last rounds run on groups. A few known pairs draw many beginnings their
way.

The leading principal directions of two clouds of the same kind of data span nearly the same space, whatever the models;
what is unknown is how the one is turned against the other. A guess of that turn (a cross-covariance of the two) gives
every row soft partners, the partners give a better cross-covariance, and so on: `M ← Pᵀ T(M) Q`, where T is the plan of
`exp(β⟨P u, Q v⟩)` along the leading directions of M, scaled so that its rows and columns sum to what each stands for.
With few directions and a low β the plan is nearly uniform and follows what the clouds have in common at large; both
rise from round to round, and what began as a turn of three or four directions ends as a map of sixty. A wrong beginning
ends in a wrong map, but how much of the two clouds the map makes agree, the sum of M's singular values, tells them
apart without a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import matmul
from typing import Final, TypeVar

import numpy as np

from veclink.geometry.arrays import Sides, both, rows_of
from veclink.geometry.nearest import nearest_centre, spherical_kmeans
from veclink.geometry.signatures import singular, unit_rows
from veclink.linkers.span.alignment import leading, rising, whitening
from veclink.linkers.span.constants import PRINCIPAL_DIRECTIONS, SHARED_DIRECTIONS
from veclink.progress import RoundListener
from veclink.threads import computing, multiply, thread_count

Begun = TypeVar("Begun")
Found = TypeVar("Found")
Weighted = tuple[Sides, Sides]
"""Rows of two clouds, or means of their groups, (k1, r) and (k2, r), and what share of the cloud each stands for."""


@dataclass(frozen=True)
class Schedule:
    """Rounds, and from where to where the number of directions and β rise in them."""

    rounds: int
    directions: tuple[int, int]
    sharpness: tuple[float, float]

    def width(self, step: int, most: int) -> int:
        """Principal directions that are looked at in one round: half as many again as are used, and at least 16.

        Without a limit the noise of the many drowns the few (scifact, 500 in 5,000).
        """
        count = round(rising(self.directions, step, self.rounds))
        return min(most, max(16, round(1.5 * count)))


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
    fewer = min(*both(len, clouds), int(np.sqrt(SEARCHED_PAIRS)))
    chosen = both(partial(_some_rows, most=SEARCHED_PAIRS // fewer, rng=rng), clouds)
    sampled = rows_of(clouds, chosen)
    directions = both(partial(whitening, count=PRINCIPAL_DIRECTIONS), clouds)
    width = min(of.shape[1] for of in directions)
    wide = both(lambda of: of[:, :width], directions)
    whitened_by = both(lambda of: of[:, :SHARED_DIRECTIONS], wide)
    rows, known = both(_whitened, sampled, whitened_by), None
    if given is not None:
        left, right = both(_whitened, given, whitened_by)
        known = np.float32(GIVEN_WEIGHT / len(left)) * (left.T @ right)
    search = _Search(both(_whitened, clouds, whitened_by), known, rng, len(rows[0]), listener)
    if min(both(len, clouds)) >= MANY_ROWS:
        joint = _among_groups(search)
    else:
        joint = _among_rows(search, rows, both(_whitened, sampled, wide))
    return both(matmul, whitened_by, leading(joint, SHARED_DIRECTIONS))


def _some_rows(cloud: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of all rows of a cloud, or of a larger one of so many, ascending."""
    n = len(cloud)
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _whitened(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Rows along the directions that whiten them, of mean square 1."""
    along = rows @ directions
    return along / np.sqrt((along**2).mean())


@dataclass(frozen=True, eq=False)
class _Search:
    """What all parts of a search share."""

    everything: Sides  # (n1, r) and (n2, r) all rows, whitened
    known: np.ndarray | None  # (r, r) what given pairs say of the cross-covariance
    rng: np.random.Generator  # draws beginnings and groups
    n_rows: int  # that are searched on, as the listener is told
    listener: RoundListener | None

    def tried(self, beginnings: int) -> np.ndarray:
        """So many random turns after a few rounds on groups, the best first."""
        if self.known is not None:
            beginnings = min(beginnings, BEGINNINGS_OF_GIVEN)
        begun = _random_turns(beginnings, self.everything[0].shape[1], self.rng)
        parts = np.array_split(begun, GROUPINGS[0])
        joints = [self.on_groups(part, GROUPS[0], TRIED) for part in parts]
        return self.best(np.concatenate(joints), beginnings)

    def on_groups(self, joints: np.ndarray, count: int, schedule: Schedule) -> np.ndarray:
        """Where cross-covariances (b, r, r) lead on so many groups, which are drawn anew."""
        anneal = partial(_anneal, self.grouped(count), schedule, range(schedule.rounds), self.known)
        # side by side: one at a time takes 6 ms each, 8 at a time 3.6, and 32 of more groups leave the cache
        return np.concatenate(self.runs(anneal, [joints[start : start + 8] for start in range(0, len(joints), 8)]))

    def carried(self, joints: np.ndarray, on: Weighted, rounds: range) -> np.ndarray:
        """Where these rounds of the slow schedule lead each of them."""
        return np.stack(self.runs(partial(_anneal, on, CARRIED, rounds, self.known), joints))

    def grouped(self, count: int) -> Weighted:
        """All rows in so many groups on either side, drawn anew at every call: their means and masses.

        A few hundred means stand for thousands of rows, each for as many as it has. What two clouds have in common at
        large shows in them as in the rows, at a hundredth of the cost of a plan between all rows.
        """
        of_a, of_b = (_groups(rows, count, self.rng) for rows in self.everything)
        return (of_a[0], of_b[0]), (of_a[1], of_b[1])

    def runs(self, run: Callable[[Begun], Found], jobs: Iterable[Begun]) -> list[Found]:
        """What independent runs find, on all processors, in the order of what they are made of."""
        jobs, count = list(jobs), thread_count()

        def alone(job: Begun) -> Found:
            with computing(max(1, count // max(1, len(jobs)))):
                return run(job)

        found = []
        with ThreadPoolExecutor(count) as threads:
            for each in threads.map(alone, jobs):
                found.append(each)
                if self.listener is not None:
                    self.listener(len(found), self.n_rows, 0.0)
        return found

    def best(self, joints: np.ndarray, count: int) -> np.ndarray:
        """Those that make most of the two clouds agree, the best first; what was known before does not count."""
        width = np.count_nonzero(joints[0].any(axis=0))  # what was not looked at yet is zero
        seen = joints[:, :width, :width]
        if self.known is not None:
            seen = seen - self.known[:width, :width]
        _, agreement, _ = singular(seen)
        return joints[np.argsort(-agreement.sum(axis=-1), kind="stable")[:count]]


def _among_rows(search: _Search, rows: Sides, wide: Sides) -> np.ndarray:
    """The best cross-covariance of many beginnings: of the likely ones, those that fit what they did not look at.

    rows: those to search on, whitened; wide: the same along many more directions. On few rows no more beginnings are
    tried than take about as long as what follows.
    """
    p, q = rows
    on = rows, (np.full(len(p), 1.0 / len(p), np.float32), np.full(len(q), 1.0 / len(q), np.float32))
    fewest, most, one_for = BEGINNINGS

    def fitting(joints: np.ndarray, schedule: Schedule, count: int) -> np.ndarray:
        fits = np.array(search.runs(partial(_unseen_agreement, on, wide, schedule), joints))
        return joints[np.argsort(-fits, kind="stable")[:count]]

    tried = search.tried(min(max(fewest, len(p) * len(q) // one_for), most))
    fit_more = fitting(tried[: max(SIFTED_OF_ROWS, round(LOOKED_AT * len(tried)))], TRIED, SIFTED_OF_ROWS)
    sifted = search.on_groups(fit_more, GROUPS[1], SIFTED)
    hopeful = fitting(sifted, SIFTED, CARRIED_ON[0])
    return search.best(search.carried(hopeful, on, range(CARRIED.rounds)), 1)[0]


def _among_groups(search: _Search) -> np.ndarray:
    """The same on groups alone: two samples of many rows have few partners in one another, and groups have theirs."""
    tried = search.tried(BEGINNINGS_OF_MANY)
    sifted = search.on_groups(tried[: round(SIFTED_SHARE * len(tried))], GROUPS[1], SIFTED)
    on = search.grouped(GROUPS[2])
    halfway = search.carried(search.best(sifted, CARRIED_ON[0]), on, range(HALFWAY))
    through = search.best(halfway, CARRIED_ON[1])
    return search.best(search.carried(through, on, range(HALFWAY, CARRIED.rounds)), 1)[0]


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


def _random_turns(count: int, width: int, rng: np.random.Generator) -> np.ndarray:
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


def _anneal(on: Weighted, schedule: Schedule, rounds: range, known: np.ndarray | None, joint: np.ndarray) -> np.ndarray:
    """The cross-covariance (d, d) that two clouds of whitened rows agree on, from a first guess.

    rounds: which of the schedule to run. known: (d, d) what is known of the cross-covariance, added to what each round
    finds. joint: (d, d), or several of them (b, d, d), which are run side by side.
    """
    (p, q), masses = on
    several, most = joint.shape[:-2], joint.shape[-1]
    columns = np.ones((*several, len(q)), np.float32)
    plan = np.empty((*several, len(p), len(q)), np.float32)  # one for all rounds: memory that is new costs more
    for step in rounds:
        _fill_plan(plan, (p, q), joint, schedule, step)
        width = schedule.width(step + 1, most)
        found, columns = _averaged((p[:, :width], q[:, :width]), masses, plan, columns)
        joint = np.zeros((*several, most, most), np.float32)
        joint[..., :width, :width] = found
        if known is not None:
            joint[..., :width, :width] += known[:width, :width]
    return joint


def _unseen_agreement(on: Weighted, wide: Sides, schedule: Schedule, joint: np.ndarray) -> float:
    """How much a cross-covariance (d, d) makes two clouds agree along directions that it was not made of.

    A wrong turn fits what it looks at nearly as well as the right one does; the rest it mostly fits worse.

    wide: the rows along more directions. schedule: what the cross-covariance is the end of.
    """
    (p, q), masses = on
    plan = np.empty((len(p), len(q)), np.float32)
    _fill_plan(plan, (p, q), joint, schedule, schedule.rounds)
    seen = schedule.width(schedule.rounds, joint.shape[-1])
    found, _ = _averaged((wide[0][:, seen:], wide[1][:, seen:]), masses, plan, np.ones(len(q), np.float32))
    return float(np.linalg.norm(found))


def _fill_plan(plan: np.ndarray, rows: Sides, joint: np.ndarray, schedule: Schedule, step: int) -> None:
    """`exp(β⟨P u, Q v⟩)` of all rows (…, n1, n2) in one round, at most 1, before its rows and columns are scaled."""
    count = round(rising(schedule.directions, step, schedule.rounds))
    width = schedule.width(step, joint.shape[-1])
    along = leading(joint[..., :width, :width], count)
    of_p, of_q = both(_unit_along, (rows[0][:, :width], rows[1][:, :width]), along)
    scale = np.float32(rising(schedule.sharpness, step, schedule.rounds) * np.sqrt(count))
    _product(scale * of_p, of_q.swapaxes(-1, -2), plan)
    plan -= scale
    np.exp(plan, out=plan)


def _averaged(sides: Sides, masses: Sides, plan: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Pᵀ T Q` with T the plan scaled so that its rows and columns sum to their masses; the scales of the columns."""
    p, q = sides
    of_p, of_q = masses
    least = np.float32(1e-30)  # of a sum of weights: rows that nothing is like stay finite
    for _ in range(3):  # chosen on reddit minilm–e5 and scifact
        along_rows = (plan @ columns[..., None])[..., 0]
        rows = of_p / np.maximum(along_rows, least)
        along_columns = (rows[..., None, :] @ plan)[..., 0, :]
        columns = of_q / np.maximum(along_columns, least)
    partners = _product(plan, columns[..., None] * q)
    return p.T @ (rows[..., None] * partners), columns


def _product(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """left · right; of one plan on several threads, of several plans on the one that has them."""
    if left.ndim == 2:
        return multiply(left, right, out)
    return np.matmul(left, right, out=out)


def _unit_along(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Rows (n, d) along directions (…, d, r), of unit length."""
    along = rows @ directions
    squares = np.einsum("...j,...j->...", along, along)
    along /= np.maximum(np.sqrt(squares), 1e-12)[..., None]
    return along
