"""One attempt: what every start is given, and how a pool grows from what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from veclink.backends import CloudPair, Projections
from veclink.geometry.arrays import Sides
from veclink.geometry.clouds import uncentred
from veclink.geometry.nearest import largest
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.options import GrowthSchedule, SpanOptions
from veclink.linkers.span.constants import (
    CENTRED_NEAREST,
    CLEAR,
    CONVERGED,
    CONVERGED_FEW_DIMENSIONS,
    CONVERGED_FEW_ROWS,
    FEW_ROWS,
    GUESSED,
    MAX_CHANCE,
    MIN_DIM_FOR_SEED_CHECK,
    MOVED_MEAN,
    PROBE,
    SHORT,
)
from veclink.linkers.span.growing import DEFAULT_SCHEDULE, Pool, grow, query_order
from veclink.progress import RoundListener

AttemptListener = Callable[[str], None]
Means = Sides
MAX_SHARE = 0.75  # of the smaller cloud: more is not asked for, however small it is against the other
# Growth where the smaller cloud has few rows: its limit follows what is there, not `least` (40 % of 150 rows,
# nearly all wrong), views hold more of a small pool and do without some of the seeds in turn, and the seeds stay for
# longer. Chosen on scifact (minilm–mpnet, e5–granite) and scifact with reddit (minilm–e5): 200 rows of which 100 are
# shared, right links of the pool 43 of 55 → 92 of 102; 100 rows among 3,000, 17 of 27 → 77 of 82; 500 rows among 5,000
# of two domains, 446 of 458 where the usual schedule found none.
FEW_ROWS_SCHEDULE = GrowthSchedule(
    rounds=20, factor=1.5, views=12, held=0.75, seeds_left_out=0.2, least=0, settled=0.4, settled_factor=5.0
)


@dataclass(frozen=True, eq=False)
class Search:
    """What every start needs: the clouds, the generator, how to grow, and who hears of the rounds and of the starts.

    moved: the means that the clouds are centred on, where these are not their own.
    """

    clouds: CloudPair
    rng: np.random.Generator
    options: SpanOptions
    listener: RoundListener | None = None
    begin: AttemptListener = lambda attempt: None
    moved: Means | None = None

    def on(self, means: Means) -> Search:
        """The same on clouds that are centred elsewhere."""
        moved = centred(self.clouds, means)
        clouds = moved if self.clouds.large else moved.in_full()
        return replace(self, clouds=clouds, moved=means)

    @property
    def mark(self) -> float:
        """The share of the smaller cloud that a pool which has found the map agrees on."""
        if self.clouds.dimension < MIN_DIM_FOR_SEED_CHECK:
            return min(CONVERGED_FEW_DIMENSIONS * self.chance, MAX_SHARE)
        return CONVERGED_FEW_ROWS * min(self.chance, MAX_CHANCE) if self.has_few_rows else CONVERGED

    @property
    def clear(self) -> float:
        """The share at which other starts need not be tried."""
        few_rows, others = CLEAR
        return min((few_rows if self.has_few_rows else others) * self.chance, MAX_SHARE)

    @property
    def chance(self) -> float:
        """How much more of the smaller cloud agrees by chance than where both have as many rows: from 1 to 2.

        Of two unrelated clouds, a row of A is the nearest of its nearest row of B with the chance n_b / (n_a + n_b).
        """
        n_a, n_b = self.clouds.n_a, self.clouds.n_b
        return 2 * max(n_a, n_b) / (n_a + n_b)

    @property
    def has_few_rows(self) -> bool:
        """Whether the smaller cloud is so small that growing has to be careful.

        In few dimensions random clouds follow seeds that stay for longer.
        """
        return self.clouds.extent_of_all <= FEW_ROWS and self.clouds.dimension >= MIN_DIM_FOR_SEED_CHECK

    @property
    def seeded(self) -> GrowthSchedule:
        """How to grow from pairs: carefully where there are few rows, unless something else was told."""
        told = self.options.schedule
        return FEW_ROWS_SCHEDULE if self.has_few_rows and told == DEFAULT_SCHEDULE else told

    def grow(self, anchors: Anchors, schedule: GrowthSchedule) -> Pool:
        """A pool from these anchors."""
        out_of_bag = self.options.out_of_bag
        return grow(self.clouds, anchors, self.rng, schedule=schedule, out_of_bag=out_of_bag, listener=self.listener)


@dataclass(frozen=True, eq=False)
class Attempt:
    """A pool, the name of the start that it grew from, and the search that it grew in.

    mark: the share that says that the map is found, where outside anchors vouch for it; else that of the search.
    vouched: whether given pairs that were left out come back, so that no mark is needed.
    searched: whether the pool may be right where no given pair is.
    """

    name: str
    pool: Pool
    search: Search
    mark: float | None = None
    vouched: bool = False
    searched: bool = False


def grown_along(search: Search, projections: Projections, in_full: GrowthSchedule) -> Pool:
    """A pool from the mutual neighbours under the projections that an alignment found.

    in_full: how to grow what a short growth is hopeful of.
    """
    clouds, rng, schedule = search.clouds, search.rng, search.options.schedule
    queries = clouds.sample_queries(rng, first=True)
    pairs, score = clouds.propose(projections, queries)
    pairs = pairs[np.argsort(-score, kind="stable")]
    if clouds.large:
        least, share = GUESSED
        pairs = pairs[: max(least, int(share * queries.extent))]
        holds = clouds.confirmed(projections, pairs, queries, query_order())
        rounds, views = SHORT
        return search.grow(guessed(clouds, pairs[holds]), replace(schedule, rounds=rounds, views=views))
    rounds, hopeful = PROBE
    probed = search.grow(guessed(clouds, pairs), replace(schedule, rounds=rounds))
    if probed.agreed < hopeful * queries.extent:
        return probed
    return search.grow(guessed(clouds, probed.pairs), in_full)


def centred_on_pool(attempt: Attempt) -> Attempt:
    """The pool grown once more on clouds that are centred on its links; as it is where that changes little."""
    search, pairs = attempt.search, attempt.pool.pairs
    means = moved_means(search.clouds, *search.clouds.vectors(pairs))
    if means is None:
        return attempt
    there = search.on(means)
    pool = there.grow(guessed(there.clouds, pairs), there.seeded)
    return Attempt(attempt.name, pool, there)


def guessed(clouds: CloudPair, pairs: np.ndarray) -> Anchors:
    """Pairs of rows (m, 2) that nobody gave, as anchors."""
    return anchors_from_rows(clouds, pairs, trusted=False)


# Centring anew: on what is shared, where that is of another kind than the rest of a cloud. Both clouds are centred
# before anything else, since a common mean makes all cosines alike. But the means of two clouds are those of the same
# objects only where the rest of each is like what they share. With films beside the abstracts in B alone, B's mean lies
# between the two, and the same abstracts no longer look alike in A and in B. So the means are taken again over what is
# near the given pairs, and over the links of a pool once there is one.


def means_near(clouds: CloudPair, pairs: np.ndarray) -> Means | None:
    """The means of the rows nearest to the given pairs (m, 2), where they differ from those of the clouds."""
    near = []
    for side, given in zip("ab", pairs.T, strict=True):
        rows = clouds.all_rows(side)
        near.append(rows[np.unique(largest(rows[given] @ rows.T, min(CENTRED_NEAREST, len(rows))))])
    return moved_means(clouds, near[0], near[1])


def moved_means(clouds: CloudPair, some_a: np.ndarray, some_b: np.ndarray) -> Means | None:
    """The means of some rows of both clouds (m, d), before centring; None where those of the clouds do as well."""
    mean_a, mean_b = clouds.means
    if clouds.centred_on is None or clouds.large or mean_a is None or mean_b is None:
        return None
    new_a, new_b = (
        uncentred(rows, old).mean(axis=0).astype(np.float32) for rows, old in ((some_a, mean_a), (some_b, mean_b))
    )
    # how far a mean of unit vectors moved, squared, in units of their variance
    moved = max(
        float((new - old) @ (new - old)) / max(1.0 - float(old @ old), 1e-6)
        for old, new in ((mean_a, new_a), (mean_b, new_b))
    )
    return None if moved < MOVED_MEAN else (new_a, new_b)


def centred(clouds: CloudPair, means: Means) -> CloudPair:
    """The same clouds with other means subtracted."""
    assert clouds.centred_on is not None, "moved_means gives none where it cannot be done"
    return clouds.centred_on(*means)


def anchors_on(clouds: CloudPair, anchors: Anchors) -> Anchors:
    """Anchors that are rows, as these clouds have them."""
    left, right = clouds.vectors(anchors.rows)
    return replace(anchors, left=left, right=right)
