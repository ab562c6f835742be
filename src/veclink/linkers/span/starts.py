"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until the bootstrap clearly converges: the pool then agrees on a
share of the smaller cloud that a failed one never comes near, and no label is needed to see it. Where that is not
clear, a few starts are compared. The smaller one cloud is against the other, the more of it agrees by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.data.pairs import sharing_no_row
from veclink.geometry.profiles import paired_profiles
from veclink.geometry.signatures import span_projection, unit_rows
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.options import GrowthSchedule, SpanOptions
from veclink.linkers.outlier_seeds import find_outlier_seeds, held_out_shares
from veclink.linkers.span.alignment import AlignmentRule, align
from veclink.linkers.span.constants import (
    ALIGNMENT_POWERS,
    ALIGNMENT_ROUNDS,
    ALIGNMENT_ROUNDS_OF_LARGE,
    CLEANING_ROUNDS,
    CLEANING_SAMPLE,
    CLEAR,
    COMPARED_STARTS,
    CONVERGED,
    CONVERGED_FEW_ROWS,
    FEW_ROWS,
    FEW_ROWS_FACTOR,
    FEW_ROWS_HELD,
    FEW_ROWS_MIN_DIMENSION,
    FEW_ROWS_ROUNDS,
    FEW_ROWS_SEEDS_LEFT_OUT,
    FEW_ROWS_SETTLED,
    FEW_ROWS_SETTLED_FACTOR,
    FEW_ROWS_VIEWS,
    GUESSED_SHARE,
    HOPEFUL,
    MAX_ALIGNED,
    MAX_OUTLIER_SHARE,
    MAX_SEEDS_TO_CLEAN,
    MIN_GUESSED,
    MIN_SEEDS_TO_CLEAN,
    OUTLIER_ANCHORS,
    PROBE_ROUNDS,
    PROFILE_GUESSES,
    SHORT_ROUNDS,
    SHORT_VIEWS,
)
from veclink.linkers.span.growing import Pool, RoundListener, grow, query_order
from veclink.linkers.span.search import annealed, searched

FROM_NOTHING = "no seeds"
DEFAULT_OPTIONS = SpanOptions()
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
MAX_MARK = 0.75  # of the smaller cloud: more is not asked for, however small it is against the other
Attempt = tuple[str, Pool]  # the name of a start, and the pool that grew from it


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The best pool of all starts tried.

    Attributes
    ----------
    pool : Pool
        The links that it ended with.
    started_from : str
        The name of its start.
    share : float
        Of the smaller cloud, that its views agree on.
    outlier_seeds : ndarray of shape (w,)
        Positions of the given pairs that look wrong from the pool; empty where no start converged.
    mark : float
        The share that it takes to have found the map.
    tried : tuple of (str, float)
        Name and agreed share of each start, in order.
    """

    pool: Pool
    started_from: str
    share: float
    outlier_seeds: np.ndarray
    mark: float = CONVERGED
    tried: tuple[tuple[str, float], ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map."""
        return self.share >= self.mark


@dataclass(frozen=True, eq=False)
class _Search:
    """What every start needs: the clouds, the generator, how to grow, and who hears of the rounds."""

    clouds: CloudPair
    rng: np.random.Generator
    options: SpanOptions
    listener: RoundListener | None

    @property
    def few_rows(self) -> bool:
        """Whether the smaller cloud is so small that growing has to be careful.

        In few dimensions random clouds follow seeds that stay for longer.
        """
        clouds = self.clouds
        return clouds.extent_of_all <= FEW_ROWS and clouds.dimension >= FEW_ROWS_MIN_DIMENSION

    @property
    def mark(self) -> float:
        """The share of the smaller cloud that a pool which has found the map agrees on."""
        mark = CONVERGED_FEW_ROWS if self.few_rows else CONVERGED
        return min(mark * _chance(self.clouds), MAX_MARK)

    @property
    def clear(self) -> float:
        """The share at which other starts need not be tried."""
        few_rows, others = CLEAR
        clear = few_rows if self.few_rows else others
        return min(clear * _chance(self.clouds), MAX_MARK)

    @property
    def seeded(self) -> GrowthSchedule:
        """How to grow from given pairs: carefully where there are few rows, unless something else was told."""
        told = self.options.schedule
        return FEW_ROWS_SCHEDULE if self.few_rows and told == DEFAULT_SCHEDULE else told

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


def best_pool(
    clouds: CloudPair,
    anchors: Anchors | None,
    rng: np.random.Generator,
    *,
    options: SpanOptions = DEFAULT_OPTIONS,
    listener: RoundListener | None = None,
) -> Bootstrap:
    """Grow from the given anchors (None: from nothing) and, where that fails, from others: the pool that agrees most.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    anchors : Anchors, optional
        What a person gave.
    rng : numpy.random.Generator
        Draws everything that is drawn.
    options : SpanOptions
        The growth schedule, whether votes are out of bag, and whether other starts are tried.
    listener : callable, optional
        Hears of every round of every start.
    """
    search = _Search(clouds, rng, options, listener)
    best: Bootstrap | None = None
    tried: list[tuple[str, float]] = []
    for name, pool in _attempts(search, anchors):
        share, outliers = _rated(search, anchors, name, pool)
        tried.append((name, share))
        if best is None or share > best.share:
            best = Bootstrap(pool, name, share, outliers, search.mark)
        if _is_enough(search, best, tried):
            break
    assert best is not None, "there is always a start to try"
    return replace(best, tried=tuple(tried))


def _is_enough(search: _Search, best: Bootstrap, tried: list[tuple[str, float]]) -> bool:
    """Whether no further start has to be tried."""
    if not best.converged:
        return False
    from_nothing = tried[-1][0] == FROM_NOTHING
    compared = len(tried) >= COMPARED_STARTS
    return best.share >= search.clear or from_nothing or compared or search.clouds.large


def _chance(clouds: CloudPair) -> float:
    """How much more of the smaller cloud agrees by chance than where both have as many rows: from 1 to 2.

    Of two unrelated clouds, a row of A is the nearest of its nearest row of B with the chance n_b / (n_a + n_b).
    """
    larger = max(clouds.n_a, clouds.n_b)
    return 2 * larger / (clouds.n_a + clouds.n_b)


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


def _rated(
    search: _Search,
    anchors: Anchors | None,
    name: str,
    pool: Pool,
) -> tuple[float, np.ndarray]:
    """The share of the smaller cloud that a pool agrees on, and positions of the given pairs that look wrong from it.

    A pool that does not bear out what it began with has found something else: its share is 0.
    """
    share = pool.agreed / pool.extent
    if share < search.mark or anchors is None:
        return share, np.empty(0, np.int64)
    outliers = _outlier_seeds(search, anchors, pool)
    if name != FROM_NOTHING and len(outliers) > MAX_OUTLIER_SHARE * len(anchors):
        share = 0.0
    return share, outliers


def _attempts(search: _Search, anchors: Anchors | None) -> Iterator[Attempt]:
    """Pools from one start after another, each made only when it is asked for."""
    if anchors is not None:
        yield from _from_anchors(search, anchors)
    if search.options.fallbacks:
        yield from _from_nothing(search)


def _from_anchors(search: _Search, anchors: Anchors) -> Iterator[Attempt]:
    clouds, fallbacks = search.clouds, search.options.fallbacks
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        for power in ALIGNMENT_POWERS:
            yield _aligned_anchors(search, anchors, power)
    yield anchors.name, search.grow(anchors, search.seeded)
    if not fallbacks:
        return
    first, second = ALIGNMENT_POWERS
    yield _aligned_anchors(search, anchors, first)
    cleaned = clean(clouds, anchors, search.rng)
    if cleaned is not None:
        yield cleaned.name, search.grow(cleaned, search.seeded)
        yield _aligned_anchors(search, cleaned, first)
    yield _aligned_anchors(search, anchors, second)


def _from_nothing(search: _Search) -> Iterator[Attempt]:
    """Alignments in the order of what they cost: by profiles, slowly by broader ones, from many beginnings."""
    first, *others = PROFILE_GUESSES
    yield FROM_NOTHING, _by_profiles(search, first)
    yield FROM_NOTHING, _by_annealing(search)
    yield FROM_NOTHING, _by_search(search)
    for guess in others:
        yield FROM_NOTHING, _by_profiles(search, guess)


def _by_annealing(search: _Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned slowly by broad profiles."""
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    return _grown(search, annealed(sampled, clouds.means, search.rng))


def _by_profiles(search: _Search, guess: tuple[int, float, float]) -> Pool:
    hops, ridge, power = guess
    return _aligned(search, partial(paired_profiles, hops=hops, ridge=ridge), power)


def _by_search(search: _Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned from many beginnings."""
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    return _grown(search, searched(sampled, clouds.means, search.rng, search.listener))


def _aligned_anchors(search: _Search, anchors: Anchors, power: float) -> Attempt:
    """A pool from clouds that were aligned by what the anchors say of every row."""
    ridge = search.clouds.ridge
    projections = span_projection(anchors.left, ridge), span_projection(anchors.right, ridge)
    hint = partial(_signatures, projections)
    return f"{anchors.name}, aligned", _aligned(search, hint, power)


def _aligned(search: _Search, hint: Hint, power: float) -> Pool:
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


def _grown(search: _Search, projections: Sides) -> Pool:
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
    return search.grow(_guessed(clouds, probed.pairs))


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


def _outlier_seeds(search: _Search, anchors: Anchors, pool: Pool) -> np.ndarray:
    """Positions of the given pairs that look wrong as seen from the pool's best links, themselves left out."""
    clouds = search.clouds
    links = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    seen_from = clouds.vectors(links[:OUTLIER_ANCHORS])
    sample = partial(clouds.sample, rng=search.rng)
    given = anchors.left, anchors.right
    return find_outlier_seeds(given, seen_from, sample, clouds.ridge)
