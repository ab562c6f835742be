"""One start after another: what a pool is grown from, each made only when it is asked for.

Given pairs as they are, the clouds aligned by them, the given ones less those that look wrong; then, from nothing, the
clouds aligned by profiles, slowly by broader ones, and from many beginnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.geometry.profiles import paired_profiles
from veclink.geometry.signatures import span_projection, unit_rows
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.options import GrowthSchedule, SpanOptions
from veclink.linkers.outlier_seeds import held_out_shares
from veclink.linkers.span.alignment import AlignmentRule, align
from veclink.linkers.span.centring import Means, anchors_on, centred, means_near, moved_means
from veclink.linkers.span.constants import (
    ALIGNMENT_POWERS,
    ALIGNMENT_ROUNDS,
    ALIGNMENT_ROUNDS_OF_LARGE,
    BEST_OF_UNCLEAR,
    CLEANING_ROUNDS,
    CLEANING_SAMPLE,
    FEW_ROWS_FACTOR,
    FEW_ROWS_HELD,
    FEW_ROWS_ROUNDS,
    FEW_ROWS_SEEDS_LEFT_OUT,
    FEW_ROWS_SETTLED,
    FEW_ROWS_SETTLED_FACTOR,
    FEW_ROWS_VIEWS,
    GUESSED_SHARE,
    HOPEFUL,
    MAX_ALIGNED,
    MAX_SEEDS_TO_CLEAN,
    MIN_GUESSED,
    MIN_POOL,
    MIN_POOL_LIMIT,
    MIN_SEEDS_TO_CLEAN,
    PROBE_ROUNDS,
    PROFILE_GUESS,
    SHORT_ROUNDS,
    SHORT_VIEWS,
    SOFT_MIN_DIMENSION,
)
from veclink.linkers.span.growing import Pool, RoundListener, grow, query_order
from veclink.linkers.span.marks import clear_share, converged_share, has_few_rows
from veclink.linkers.span.search import annealed, annealed_from, searched
from veclink.linkers.span.soft_anchors import grow_softly

FROM_NOTHING = "no seeds"
DEFAULT_SCHEDULE = GrowthSchedule()
FEW_ROWS_SCHEDULE = GrowthSchedule(
    rounds=FEW_ROWS_ROUNDS,
    factor=FEW_ROWS_FACTOR,
    views=FEW_ROWS_VIEWS,
    held=FEW_ROWS_HELD,
    seeds_left_out=FEW_ROWS_SEEDS_LEFT_OUT,
    least=0,
    settled=FEW_ROWS_SETTLED,
    settled_factor=FEW_ROWS_SETTLED_FACTOR,
)

Sides = tuple[np.ndarray, np.ndarray]
Hint = Callable[[np.ndarray, np.ndarray], Sides]  # from rows of both clouds to rows that compare across them
AttemptListener = Callable[[str], None]


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
        return replace(self, clouds=centred(self.clouds, means), moved=means)

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
        """How to grow from given pairs: carefully where there are few rows, unless something else was told."""
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
    """A pool, the name of the start that it grew from, and the search that it grew in."""

    name: str
    pool: Pool
    search: Search


def attempts(search: Search, anchors: Anchors | None) -> Iterator[Attempt]:
    """Pools from one start after another, each made only when it is asked for."""
    if anchors is not None:
        yield from _from_anchors(search, anchors)
    if search.options.fallbacks:
        yield from _from_nothing(search)


def clean(
    clouds: CloudPair,
    anchors: Anchors,
    rng: np.random.Generator,
) -> Anchors | None:
    """The better half of the given pairs, by how near each is to its partner as seen from the others' better half.

    None where there are too few to tell.
    """
    if len(anchors) < MIN_SEEDS_TO_CLEAN:
        return None
    if len(anchors) > MAX_SEEDS_TO_CLEAN:
        some = rng.choice(len(anchors), MAX_SEEDS_TO_CLEAN, replace=False)
        anchors = anchors.subset(np.sort(some))
    pairs = anchors.left, anchors.right
    kept = np.arange(len(anchors))
    for _ in range(CLEANING_ROUNDS):
        sampled = _sampled(clouds, CLEANING_SAMPLE, rng)
        shares = held_out_shares(pairs, kept, sampled, clouds.ridge)
        order = np.argsort(shares, kind="stable")
        n_kept = max(MIN_SEEDS_TO_CLEAN, len(anchors) // 2)
        kept = np.sort(order[:n_kept])
    return anchors.subset(kept, name=f"cleaned {anchors.name}")


def _from_anchors(search: Search, anchors: Anchors) -> Iterator[Attempt]:
    clouds, fallbacks = search.clouds, search.options.fallbacks
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        for power in ALIGNMENT_POWERS:
            yield _aligned_anchors(search, anchors, power)
    yield _given(search, anchors)
    if not fallbacks:
        return
    yield from _softly(search, anchors)
    moved = _centred_on_anchors(search, anchors)
    if moved is not None:
        yield _given(*moved)
        yield from _softly(*moved)
    first, second = ALIGNMENT_POWERS
    yield _aligned_anchors(search, anchors, first)
    cleaned = clean(clouds, anchors, search.rng)
    if cleaned is not None:
        yield _given(search, cleaned)
        yield _aligned_anchors(search, cleaned, first)
    yield _annealed_anchors(search, anchors)
    yield _aligned_anchors(search, anchors, second)


def _from_nothing(search: Search) -> Iterator[Attempt]:
    """Alignments in the order of what they cost: by profiles, slowly by broader ones, from many beginnings."""
    for start in (_by_profiles, _by_annealing, _by_search):
        yield Attempt(FROM_NOTHING, start(search), search)


def _centred_on_anchors(search: Search, anchors: Anchors) -> tuple[Search, Anchors] | None:
    """A search on clouds that are centred on what is near the anchors; None where that changes little."""
    means = None if anchors.outside else means_near(search.clouds, anchors.rows)
    if means is None:
        return None
    there = search.on(means)
    moved = anchors_on(there.clouds, anchors)
    return there, replace(moved, name=f"{anchors.name}, centred on them")


def _given(search: Search, anchors: Anchors) -> Attempt:
    """A pool from the anchors as they are."""
    search.begin(anchors.name)
    return Attempt(anchors.name, search.grow(anchors, search.seeded), search)


def _softly(search: Search, anchors: Anchors) -> Iterator[Attempt]:
    """A pool from the mutual neighbours of two clouds that were brought together softly; none of very many rows."""
    clouds = search.clouds
    few_placed = clouds.extent_of_all < MIN_POOL or not len(anchors)
    if few_placed or clouds.large or anchors.outside or clouds.dimension < SOFT_MIN_DIMENSION:
        return
    name = f"{anchors.name}, softly"
    search.begin(name)
    sides = "ab" if clouds.n_a <= clouds.n_b else "ba"
    few, many = (clouds.all_rows(side) for side in sides)
    given = anchors.rows if sides == "ab" else anchors.rows[:, ::-1]
    pairs, _ = grow_softly(few, many, given, search.rng, listener=search.listener)
    pairs = pairs if sides == "ab" else pairs[:, ::-1]
    yield Attempt(name, search.grow(_guessed(clouds, pairs), search.seeded), search)


def _by_annealing(search: Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned slowly by broad profiles."""
    search.begin("no seeds, aligning slowly")
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    return _grown(search, annealed(sampled, clouds.means, search.rng))


def _by_profiles(search: Search) -> Pool:
    search.begin("no seeds, aligning by profiles")
    hops, ridge, power = PROFILE_GUESS
    return _aligned(search, partial(paired_profiles, hops=hops, ridge=ridge), power)


def _by_search(search: Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned from many beginnings."""
    search.begin("no seeds, searching")
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    return _grown(search, searched(sampled, clouds.means, search.rng, search.listener))


def _annealed_anchors(search: Search, anchors: Anchors) -> Attempt:
    """A pool from clouds that were aligned slowly by what the anchors and broad profiles say of every row."""
    name = f"{anchors.name}, annealed"
    search.begin(name)
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    given = anchors.left, anchors.right
    projections = annealed_from(given, sampled, clouds.means, clouds.ridge, search.rng)
    return Attempt(name, _grown(search, projections), search)


def _aligned_anchors(search: Search, anchors: Anchors, power: float) -> Attempt:
    """A pool from clouds that were aligned by what the anchors say of every row."""
    name = f"{anchors.name}, aligned"
    search.begin(name)
    ridge = search.clouds.ridge
    projections = span_projection(anchors.left, ridge), span_projection(anchors.right, ridge)
    hint = partial(_signatures, projections)
    return Attempt(name, _aligned(search, hint, power), search)


def _aligned(search: Search, hint: Hint, power: float) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned by a hint.

    The directions are found on a sample of the rows: they are the same for all.
    """
    clouds, rng = search.clouds, search.rng
    sampled = _sampled(clouds, MAX_ALIGNED, rng)
    rounds = ALIGNMENT_ROUNDS_OF_LARGE if clouds.large else ALIGNMENT_ROUNDS
    rule = AlignmentRule(power, rounds)
    hints = hint(*sampled)
    projections = align(
        sampled,
        hints,
        rng,
        clouds.matched,
        rule,
        search.listener,
    )
    return _grown(search, projections)


def _grown(search: Search, projections: Sides) -> Pool:
    """A pool from the mutual neighbours under the projections that an alignment found."""
    clouds, rng = search.clouds, search.rng
    queries = clouds.sample_queries(rng, first=True)
    pairs, score = clouds.propose(projections, queries)
    pairs = pairs[np.argsort(-score, kind="stable")]
    schedule = search.options.schedule
    if clouds.large:
        pairs = pairs[: max(MIN_GUESSED, int(GUESSED_SHARE * queries.extent))]
        holds = clouds.confirmed(projections, pairs, queries, query_order())
        short = replace(schedule, rounds=SHORT_ROUNDS, views=SHORT_VIEWS)
        return search.grow(_guessed(clouds, pairs[holds]), short)
    short = replace(schedule, rounds=PROBE_ROUNDS)
    probed = search.grow(_guessed(clouds, pairs), short)
    if probed.agreed < HOPEFUL * queries.extent:
        return probed
    grown = search.grow(_guessed(clouds, probed.pairs))
    hopeless = grown.agreed < HOPEFUL * queries.extent
    if hopeless or grown.agreed >= search.clear * queries.extent:
        return grown
    # A pool that began with all pairs may stay half wrong: the best of it grow into a better one.
    best = grown.pairs[: max(MIN_POOL_LIMIT, int(BEST_OF_UNCLEAR * len(grown.pairs)))]
    again = search.grow(_guessed(clouds, best))
    return max(grown, again, key=lambda pool: pool.agreed)


def centred_on_pool(attempt: Attempt) -> Attempt:
    """The pool grown once more on clouds that are centred on its links; as it is where that changes little."""
    search, pairs = attempt.search, attempt.pool.pairs
    means = moved_means(search.clouds, pairs[:, 0], pairs[:, 1])
    if means is None:
        return attempt
    there = search.on(means)
    pool = there.grow(_guessed(there.clouds, pairs), there.seeded)
    return Attempt(attempt.name, pool, there)


def _guessed(clouds: CloudPair, pairs: np.ndarray) -> Anchors:
    return anchors_from_rows(clouds, pairs, trusted=False)


def _signatures(projections: Projections, a: np.ndarray, b: np.ndarray) -> Sides:
    """Span signatures of rows of both clouds, as a hint."""
    of_a = unit_rows(a @ projections[0])
    of_b = unit_rows(b @ projections[1])
    return of_a, of_b


def _sampled(clouds: CloudPair, most: int, rng: np.random.Generator) -> Sides:
    of_a = clouds.sample("a", most, rng)
    of_b = clouds.sample("b", most, rng)
    return of_a, of_b
