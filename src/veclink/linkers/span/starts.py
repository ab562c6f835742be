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

from veclink.backends import CloudPair
from veclink.data.pairs import sharing_no_row
from veclink.data.words import FROM_NOTHING
from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import SpanOptions
from veclink.linkers.outlier_seeds import find_outlier_seeds, shares_nearer
from veclink.linkers.span.alignment import align
from veclink.linkers.span.attempt import Attempt, AttemptListener, Search, centred_on_pool, grown_along, guessed
from veclink.linkers.span.centring import Means, anchors_on, means_near
from veclink.linkers.span.constants import (
    ALIGNMENT_ROUNDS,
    ASKED_IN_FULL,
    COMPARED_STARTS,
    CONVERGED,
    HELD_ROWS,
    MAX_ALIGNED,
    MIN_COMING_BACK,
    MIN_POOL,
    MIN_SEED_RECOVERY,
    NEAR_SHARE,
    OUTLIER_ANCHORS,
    OUTLIER_SAMPLE,
    SOFT_MIN_DIMENSION,
)
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.mapped import mapped
from veclink.linkers.span.search import SEARCHED_ROWS, searched
from veclink.linkers.span.soft_anchors import grow_softly
from veclink.progress import RoundListener

DEFAULT_OPTIONS = SpanOptions()
Tried = tuple[str, float]  # the name of a start, and the share that it agrees on


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
    wrong : ndarray of shape (m,)
        How sure it is that each given pair is wrong, 0 where it does not look so; empty where that was not asked.
    mark : float
        The share that it takes to have found the map.
    tried : tuple of (str, float)
        Name and agreed share of each start, in order.
    means : tuple of ndarrays, optional
        What was subtracted from the rows of both clouds where the pool grew; None where it grew on the clouds as given.
    anchored : bool
        Whether it is of the map of outside anchors, to which final maps are fitted too.
    """

    pool: Pool
    started_from: str
    share: float
    wrong: np.ndarray
    mark: float = CONVERGED
    tried: tuple[Tried, ...] = ()
    means: Means | None = None
    anchored: bool = False

    @property
    def outlier_seeds(self) -> np.ndarray:
        """Positions of the given pairs that look wrong."""
        return np.flatnonzero(self.wrong)

    @property
    def converged(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map, and can fit one."""
        return self.share >= self.mark and len(self.pool.pairs) >= MIN_POOL


def best_pool(
    clouds: CloudPair,
    anchors: Anchors | None,
    rng: np.random.Generator,
    *,
    options: SpanOptions = DEFAULT_OPTIONS,
    listener: RoundListener | None = None,
    attempt_listener: AttemptListener | None = None,
) -> Bootstrap:
    """Grow from the given anchors (None: from nothing) and, where that fails, from others: the pool that agrees most.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    anchors : Anchors, optional
        What a person gave.
    rng : numpy.random.Generator
        Seed of the random generator.
    options : SpanOptions
        The growth schedule, whether votes are out of bag, and whether other starts are tried.
    listener : callable, optional
        Hears of every round of every start.
    attempt_listener : callable, optional
        Hears which start is tried, before it is.
    """
    search = Search(clouds, rng, options, listener, attempt_listener)
    best: Bootstrap | None = None
    tried: list[Tried] = []
    for attempt in attempts(search, anchors):
        rated = _rated(attempt, anchors)
        if rated.anchored and not rated.converged:
            continue  # anchors of another kind: what they align may still grow
        if rated.converged and not rated.anchored:
            rated = _centred(attempt, anchors, rated)
        tried.append((attempt.name, rated.share))
        if best is None or (rated.converged, rated.share) > (best.converged, best.share):
            best = rated
        if _is_enough(search, best, tried):
            break
    assert best is not None, "there is always a start to try"
    return replace(best, tried=tuple(tried))


def _is_enough(search: Search, best: Bootstrap, tried: list[Tried]) -> bool:
    """Whether no further start has to be tried."""
    if search.clouds.extent_of_all < MIN_POOL:
        return True  # no start can fit a map to so few rows
    if not best.converged:
        return False
    if best.anchored or not best.mark:
        return True
    last, _ = tried[-1]
    if last == FROM_NOTHING or len(tried) >= COMPARED_STARTS:
        return True
    return search.clouds.large or best.share >= search.clear


def _centred(attempt: Attempt, anchors: Anchors | None, rated: Bootstrap) -> Bootstrap:
    """The same where the clouds are centred on the links of the pool, if that moves their means."""
    moved = centred_on_pool(attempt)
    if moved is attempt:
        return rated
    again = _rated(moved, anchors)
    return again if again.converged else rated


def _rated(attempt: Attempt, anchors: Anchors | None) -> Bootstrap:
    """A pool with the share of the smaller cloud that it agrees on, and the given pairs that look wrong from it.

    A pool that bears out none of what it began with has found something else: its share is 0.
    """
    search, pool = attempt.search, attempt.pool
    share = pool.agreed / pool.extent
    rated = Bootstrap(pool, attempt.name, share, np.empty(0), search.mark)
    if attempt.mark is not None:
        return replace(rated, mark=attempt.mark, anchored=True)
    mark = 0.0 if attempt.vouched else search.mark
    wrong = rated.wrong
    if share >= mark and anchors is not None and not search.options.trust_seeds:
        wrong = _wrong_seeds(search, anchors, pool)
        if wrong.all():
            rated = replace(rated, started_from=FROM_NOTHING)  # which a search may do
            share, mark = (share if attempt.searched else 0.0), search.mark
    return replace(rated, share=share, mark=mark, wrong=wrong, means=search.moved)


def _wrong_seeds(search: Search, anchors: Anchors, pool: Pool) -> np.ndarray:
    """How sure it is that each given pair is wrong, as seen from the pool's best links, themselves left out.

    None is where fewer others are left than were given: if all that is shared was given, the others are all wrong.
    """
    clouds = search.clouds
    links = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    if len(links) < len(anchors.rows):
        return np.zeros(len(anchors))
    seen_from = clouds.vectors(links[:OUTLIER_ANCHORS])
    sample = partial(clouds.sample, rng=search.rng)
    as_here = anchors if search.moved is None else anchors_on(clouds, anchors)
    given = as_here.left, as_here.right
    return find_outlier_seeds(given, seen_from, sample, clouds.ridge)


def attempts(search: Search, anchors: Anchors | None) -> Iterator[Attempt]:
    """Pools from one start after another, each made only when it is asked for."""
    if anchors is not None:
        yield from _from_anchors(search, anchors)
    elif search.options.fallbacks:
        yield _searched(search, None)


def _from_anchors(search: Search, anchors: Anchors) -> Iterator[Attempt]:
    clouds, fallbacks = search.clouds, search.options.fallbacks
    by_their_map = mapped(search, anchors)
    if by_their_map is not None:
        yield by_their_map
    all_asked_too = max(clouds.n_a, clouds.n_b) <= ASKED_IN_FULL
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        aligned = _aligned(search, anchors)
        yield aligned if all_asked_too else _vouched(aligned, anchors, partial(_pool_pairs, _aligned))
    yield _given(search, anchors)
    if not fallbacks:
        return
    if clouds.large and all_asked_too:
        in_full = replace(anchors, name=f"{anchors.name}, all rows asked")
        yield _vouched(_given(search.in_full(), in_full), in_full, partial(_pool_pairs, _given))
    if _are_held(clouds) and len(anchors.rows):
        yield from _softly(search, anchors)
        moved = _centred_on_anchors(search, anchors)
        if moved is not None:
            yield _given(*moved)
            yield from _softly(*moved)
    if not clouds.large:
        yield _aligned(search, anchors)
    yield _searched(search, anchors)


def _centred_on_anchors(search: Search, anchors: Anchors) -> tuple[Search, Anchors] | None:
    """A search on clouds that are centred on what is near the anchors; None where that changes little."""
    means = means_near(search.clouds, anchors.rows)
    if means is None:
        return None
    there = search.on(means)
    moved = anchors_on(there.clouds, anchors)
    return there, replace(moved, name=f"{anchors.name}, centred on them")


def _are_held(clouds: CloudPair) -> bool:
    """Whether all rows of both clouds can be held at once, and are enough to judge links between them."""
    if clouds.large or clouds.extent_of_all < MIN_POOL:
        return False
    return max(clouds.n_a, clouds.n_b) <= HELD_ROWS


def _given(search: Search, anchors: Anchors) -> Attempt:
    """A pool from the anchors as they are."""
    search.begin(anchors.name)
    pool = search.grow(anchors, search.seeded)
    return Attempt(anchors.name, pool, search)


def _softly(search: Search, anchors: Anchors) -> Iterator[Attempt]:
    """A pool from the mutual neighbours of two clouds that were brought together softly; none in few dimensions."""
    clouds = search.clouds
    if clouds.dimension < SOFT_MIN_DIMENSION:
        return
    name = f"{anchors.name}, softly"
    search.begin(name)
    pairs = _soft_pairs(search, anchors)
    pool = search.grow(guessed(clouds, pairs), search.seeded)
    yield _vouched(Attempt(name, pool, search), anchors, _soft_pairs)


def _vouched(attempt: Attempt, anchors: Anchors, pairs_from: Callable[[Search, Anchors], np.ndarray]) -> Attempt:
    """The attempt; where its pool does not reach the mark, with whether the given pairs vouch for it."""
    search, pool = attempt.search, attempt.pool
    refused = pool.agreed < search.mark * pool.extent
    return replace(attempt, vouched=refused and _come_back(search, anchors, pairs_from))


def _come_back(search: Search, anchors: Anchors, pairs_from: Callable[[Search, Anchors], np.ndarray]) -> bool:
    """Whether most given pairs are near as seen from the pairs that come from the other half of them.

    Two clouds in which few rows have a partner agree on few pairs, whatever the map. That half of eight pairs which had
    no part in it are near has a chance of 1 in 100 million, whatever is shared.
    """
    if len(anchors.rows) < MIN_COMING_BACK:
        return False
    clouds, rng = search.clouds, search.rng
    order = rng.permutation(len(anchors))
    shares = np.ones(len(anchors))
    for held_out, others in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        pairs = pairs_from(search, anchors.subset(others))
        links = pairs[sharing_no_row(pairs, anchors.rows)][:OUTLIER_ANCHORS]
        if len(links) < MIN_POOL:
            continue
        projections = span_projections(clouds.vectors(links), clouds.ridge)
        signatures = both(projected, _sampled(clouds, OUTLIER_SAMPLE, rng), projections)
        ends = anchors.left[held_out], anchors.right[held_out]
        shares[held_out] = shares_nearer(signatures, ends, projections)
    return bool(np.mean(shares <= NEAR_SHARE) >= MIN_SEED_RECOVERY)


def _soft_pairs(search: Search, anchors: Anchors) -> np.ndarray:
    """Mutual neighbours (p, 2) of rows of A and of B, grown softly from given ones, the smaller cloud first."""
    clouds, given = search.clouds, anchors.rows
    grow = partial(grow_softly, rng=search.rng, listener=search.listener)
    a, b = clouds.all_rows("a"), clouds.all_rows("b")
    if clouds.n_a <= clouds.n_b:
        pairs, _ = grow(a, b, given)
        return pairs
    pairs, _ = grow(b, a, given[:, ::-1])
    return pairs[:, ::-1]


def _searched(search: Search, anchors: Anchors | None) -> Attempt:
    """A pool from clouds that were aligned from many beginnings, with the anchors in every cross-covariance."""
    name = FROM_NOTHING if anchors is None else f"{anchors.name}, searched"
    search.begin("no seeds, searching" if anchors is None else name)
    sampled = _sampled(search.clouds, SEARCHED_ROWS, search.rng)
    given = None if anchors is None else (anchors.left, anchors.right)
    projections = searched(sampled, search.rng, search.listener, given)
    return Attempt(name, grown_along(search, projections, search.seeded), search, searched=True)


def _aligned(search: Search, anchors: Anchors) -> Attempt:
    """A pool from clouds that were aligned by what the anchors say of every row.

    The directions are found on a sample of the rows: they are the same for all.
    """
    clouds, rng = search.clouds, search.rng
    name = f"{anchors.name}, aligned"
    search.begin(name)
    sampled = _sampled(clouds, MAX_ALIGNED, rng)
    hints = both(projected, sampled, span_projections((anchors.left, anchors.right), clouds.ridge))
    usual, of_large = ALIGNMENT_ROUNDS
    rounds = of_large if clouds.large else usual
    along = align(sampled, hints, rng, clouds.matched, rounds, search.listener)
    return Attempt(name, grown_along(search, along), search)


def _pool_pairs(start: Callable[[Search, Anchors], Attempt], search: Search, anchors: Anchors) -> np.ndarray:
    """The pairs (p, 2) of the pool of one start from these anchors."""
    return start(search, anchors).pool.pairs


def _sampled(clouds: CloudPair, most: int, rng: np.random.Generator) -> Sides:
    return clouds.sample("a", most, rng), clouds.sample("b", most, rng)
