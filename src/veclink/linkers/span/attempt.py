"""One attempt: what every start is given, and how a pool grows from what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from veclink.backends import CloudPair, Projections
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.options import GrowthSchedule, SpanOptions
from veclink.linkers.span.centring import Means, centred, moved_means
from veclink.linkers.span.constants import (
    CLEAR,
    CONVERGED,
    CONVERGED_FEW_DIMENSIONS,
    CONVERGED_FEW_ROWS,
    FEW_ROWS,
    GUESSED,
    MAX_CHANCE,
    MIN_DIM_FOR_SEED_CHECK,
    PROBE,
    SHORT,
)
from veclink.linkers.span.growing import Pool, grow, query_order
from veclink.progress import RoundListener

AttemptListener = Callable[[str], None]
DEFAULT_SCHEDULE = GrowthSchedule()
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
    """What every start needs: the clouds, the generator, how to grow, and who hears of the rounds.

    moved: the means that the clouds are centred on, where these are not their own.
    """

    clouds: CloudPair
    rng: np.random.Generator
    options: SpanOptions
    listener: RoundListener | None
    attempt_listener: AttemptListener | None = None
    moved: Means | None = None

    def on(self, means: Means) -> Search:
        """The same on clouds that are centred elsewhere."""
        moved = centred(self.clouds, means)
        clouds = moved if self.clouds.large else moved.in_full()
        return replace(self, clouds=clouds, moved=means)

    def in_full(self) -> Search:
        """The same with all rows asked for partners in every view, however many they are."""
        return replace(self, clouds=self.clouds.in_full())

    def begin(self, attempt: str) -> None:
        """Say which attempt is running from now on."""
        if self.attempt_listener is not None:
            self.attempt_listener(attempt)

    @property
    def mark(self) -> float:
        """The share of the smaller cloud that a pool which has found the map agrees on."""
        return converged_share(self.clouds)

    @property
    def clear(self) -> float:
        """The share at which other starts need not be tried."""
        return clear_share(self.clouds)

    @property
    def seeded(self) -> GrowthSchedule:
        """How to grow from pairs: carefully where there are few rows, unless something else was told."""
        told = self.options.schedule
        return FEW_ROWS_SCHEDULE if has_few_rows(self.clouds) and told == DEFAULT_SCHEDULE else told

    def grow(self, anchors: Anchors, schedule: GrowthSchedule | None = None) -> Pool:
        """A pool from these anchors."""
        return grow(
            self.clouds,
            anchors,
            self.rng,
            schedule=schedule or self.options.schedule,
            out_of_bag=self.options.out_of_bag,
            listener=self.listener,
        )


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


def grown_along(search: Search, projections: Projections, in_full: GrowthSchedule | None = None) -> Pool:
    """A pool from the mutual neighbours under the projections that an alignment found.

    in_full: how to grow what a short growth is hopeful of; as told where not given.
    """
    clouds, rng = search.clouds, search.rng
    queries = clouds.sample_queries(rng, first=True)
    pairs, score = clouds.propose(projections, queries)
    pairs = pairs[np.argsort(-score, kind="stable")]
    schedule = search.options.schedule
    if clouds.large:
        least, share = GUESSED
        pairs = pairs[: max(least, int(share * queries.extent))]
        holds = clouds.confirmed(projections, pairs, queries, query_order())
        rounds, views = SHORT
        short = replace(schedule, rounds=rounds, views=views)
        return search.grow(guessed(clouds, pairs[holds]), short)
    rounds, hopeful = PROBE
    short = replace(schedule, rounds=rounds)
    probed = search.grow(guessed(clouds, pairs), short)
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


def converged_share(clouds: CloudPair) -> float:
    """The share of the smaller cloud that a pool which has found the map agrees on."""
    if clouds.dimension < MIN_DIM_FOR_SEED_CHECK:
        return min(CONVERGED_FEW_DIMENSIONS * chance_factor(clouds), MAX_SHARE)
    if not has_few_rows(clouds):
        return CONVERGED
    return CONVERGED_FEW_ROWS * min(chance_factor(clouds), MAX_CHANCE)


def clear_share(clouds: CloudPair) -> float:
    """The share at which other starts need not be tried."""
    few_rows, others = CLEAR
    clear = few_rows if has_few_rows(clouds) else others
    return min(clear * chance_factor(clouds), MAX_SHARE)


def has_few_rows(clouds: CloudPair) -> bool:
    """Whether the smaller cloud is so small that growing has to be careful.

    In few dimensions random clouds follow seeds that stay for longer.
    """
    return clouds.extent_of_all <= FEW_ROWS and clouds.dimension >= MIN_DIM_FOR_SEED_CHECK


def chance_factor(clouds: CloudPair) -> float:
    """How much more of the smaller cloud agrees by chance than where both have as many rows: from 1 to 2.

    Of two unrelated clouds, a row of A is the nearest of its nearest row of B with the chance n_b / (n_a + n_b).
    """
    larger = max(clouds.n_a, clouds.n_b)
    return 2 * larger / (clouds.n_a + clouds.n_b)
