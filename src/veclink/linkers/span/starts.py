"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until the bootstrap clearly converges: the pool then agrees on a
share of the smaller cloud that a failed one never comes near, and no label is needed to see it. Where that is not
clear, a few starts are compared. The smaller one cloud is against the other, the more of it agrees by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from veclink.backends import CloudPair
from veclink.data.pairs import sharing_no_row
from veclink.data.words import FROM_NOTHING
from veclink.geometry.arrays import Sides, both
from veclink.geometry.nearest import largest_values
from veclink.geometry.signatures import joined_projections, projected, span_projections
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import SpanOptions
from veclink.linkers.outlier_seeds import outliers, shares_nearer
from veclink.linkers.span.alignment import align
from veclink.linkers.span.attempt import (
    Attempt,
    AttemptListener,
    Means,
    Search,
    anchors_on,
    centred_on_pool,
    grown_along,
    guessed,
    means_near,
)
from veclink.linkers.span.constants import (
    ALIGNMENT_ROUNDS,
    ASKED_IN_FULL,
    COMPARED_STARTS,
    CONVERGED,
    HELD_ROWS,
    MAPPED_MARK,
    MAPPED_NEIGHBOURS,
    MAX_ALIGNED,
    MIN_COMING_BACK,
    MIN_MAPPED_ANCHORS,
    MIN_POOL,
    MIN_SEED_RECOVERY,
    NEAR_SHARE,
    OUTLIER_ANCHORS,
    OUTLIER_SAMPLE,
    SOFT_MIN_DIMENSION,
)
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.search import SEARCHED_ROWS, searched
from veclink.linkers.span.soft_anchors import grow_softly
from veclink.progress import RoundListener

DEFAULT_OPTIONS = SpanOptions()
Tried = tuple[str, float]  # the name of a start, and the share that it agrees on


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The best pool of all starts tried."""

    pool: Pool  # the links that it ended with
    started_from: str  # the name of its start
    share: float  # of the smaller cloud, that its views agree on
    # (m,) how sure it is that each given pair is wrong, 0 where it does not look so; empty where that was not asked
    wrong: np.ndarray
    mark: float = CONVERGED  # the share that it takes to have found the map
    tried: tuple[Tried, ...] = ()  # name and agreed share of each start, in order
    # what was subtracted from the rows of both clouds where the pool grew; None where it grew on the clouds as given
    means: Means | None = None
    anchored: bool = False  # whether it is of the map of outside anchors, to which final maps are fitted too

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
    attempt_listener: AttemptListener = lambda attempt: None,
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
            moved = centred_on_pool(attempt)
            again = rated if moved is attempt else _rated(moved, anchors)
            rated = again if again.converged else rated
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
    last, _ = tried[-1]
    if best.anchored or not best.mark or last == FROM_NOTHING or len(tried) >= COMPARED_STARTS:
        return True
    return search.clouds.large or best.share >= search.clear


def _rated(attempt: Attempt, anchors: Anchors | None) -> Bootstrap:
    """A pool with the share of the smaller cloud that it agrees on, and the given pairs that look wrong from it.

    A pool that bears out none of what it began with has found something else, which a search may do: its share is 0.
    """
    search, pool = attempt.search, attempt.pool
    share = pool.agreed / pool.extent
    if attempt.mark is not None:
        return Bootstrap(pool, attempt.name, share, np.empty(0), attempt.mark, anchored=True)
    mark = 0.0 if attempt.vouched else search.mark
    rated = Bootstrap(pool, attempt.name, share, np.empty(0), mark, means=search.moved)
    if share < mark or anchors is None or search.options.trust_seeds:
        return rated
    # Given pairs are seen from the pool's best links, themselves left out. Where fewer others are left than were given,
    # none looks wrong: if all that is shared was given, the others are all wrong.
    links = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    if len(links) < len(anchors.rows):
        return replace(rated, wrong=np.zeros(len(anchors)))
    as_here = anchors if search.moved is None else anchors_on(search.clouds, anchors)
    wrong = outliers(_shares_nearer(search, links, (as_here.left, as_here.right)))
    if not wrong.all():
        return replace(rated, wrong=wrong)
    share = share if attempt.searched else 0.0
    return replace(rated, started_from=FROM_NOTHING, share=share, mark=search.mark, wrong=wrong)


def _shares_nearer(search: Search, links: np.ndarray, pairs: Sides) -> np.ndarray:
    """The share of either cloud that is nearer to each pair than its partner, as seen from the best of the links."""
    clouds = search.clouds
    projections = span_projections(clouds.vectors(links[:OUTLIER_ANCHORS]), clouds.ridge)
    signatures = both(projected, _sampled(search, OUTLIER_SAMPLE), projections)
    return shares_nearer(signatures, pairs, projections)


def attempts(search: Search, anchors: Anchors | None) -> Iterator[Attempt]:
    """Pools from one start after another, each made only when it is asked for."""
    clouds, fallbacks = search.clouds, search.options.fallbacks
    if anchors is None:
        if fallbacks:
            yield _searched(search, None)
        return
    is_held = not clouds.large and max(clouds.n_a, clouds.n_b) <= HELD_ROWS  # all rows of both clouds at once
    if anchors.outside and len(anchors) >= MIN_MAPPED_ANCHORS and is_held:
        yield _mapped(search, anchors)
    all_asked_too = max(clouds.n_a, clouds.n_b) <= ASKED_IN_FULL
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        aligned = _aligned(search, anchors)
        yield aligned if all_asked_too else _vouched(aligned, anchors, lambda *half: _aligned(*half).pool.pairs)
    yield _given(search, anchors)
    if not fallbacks:
        return
    if clouds.large and all_asked_too:
        in_full = replace(anchors, name=f"{anchors.name}, all rows asked")
        asked = _given(replace(search, clouds=clouds.in_full()), in_full)
        yield _vouched(asked, in_full, lambda *half: _given(*half).pool.pairs)
    if is_held and clouds.extent_of_all >= MIN_POOL and len(anchors.rows):
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


def _given(search: Search, anchors: Anchors) -> Attempt:
    """A pool from the anchors as they are."""
    search.begin(anchors.name)
    pool = search.grow(anchors, search.seeded)
    return Attempt(anchors.name, pool, search)


def _softly(search: Search, anchors: Anchors) -> Iterator[Attempt]:
    """A pool from the mutual neighbours of two clouds that were brought together softly; none in few dimensions."""
    if search.clouds.dimension < SOFT_MIN_DIMENSION:
        return
    name = f"{anchors.name}, softly"
    search.begin(name)
    pool = search.grow(guessed(search.clouds, _soft_pairs(search, anchors)), search.seeded)
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
    order = search.rng.permutation(len(anchors))
    shares = np.ones(len(anchors))
    for held_out, others in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        pairs = pairs_from(search, anchors.subset(others))
        links = pairs[sharing_no_row(pairs, anchors.rows)]
        if len(links) >= MIN_POOL:
            ends = anchors.left[held_out], anchors.right[held_out]
            shares[held_out] = _shares_nearer(search, links, ends)
    return bool(np.mean(shares <= NEAR_SHARE) >= MIN_SEED_RECOVERY)


def _soft_pairs(search: Search, anchors: Anchors) -> np.ndarray:
    """Mutual neighbours (p, 2) of rows of A and of B, grown softly from given ones, the smaller cloud first."""
    a, b = search.clouds.all_rows("a"), search.clouds.all_rows("b")
    if len(a) <= len(b):
        return grow_softly(a, b, anchors.rows, search.rng, listener=search.listener)
    return grow_softly(b, a, anchors.rows[:, ::-1], search.rng, listener=search.listener)[:, ::-1]


def _searched(search: Search, anchors: Anchors | None) -> Attempt:
    """A pool from clouds that were aligned from many beginnings, with the anchors in every cross-covariance."""
    name, told, given = FROM_NOTHING, "no seeds, searching", None
    if anchors is not None:
        name = told = f"{anchors.name}, searched"
        given = anchors.left, anchors.right
    search.begin(told)
    projections = searched(_sampled(search, SEARCHED_ROWS), search.rng, search.listener, given)
    return Attempt(name, grown_along(search, projections, search.seeded), search, searched=True)


def _aligned(search: Search, anchors: Anchors) -> Attempt:
    """A pool from clouds that were aligned by what the anchors say of every row.

    The directions are found on a sample of the rows: they are the same for all.
    """
    clouds, (usual, of_large) = search.clouds, ALIGNMENT_ROUNDS
    name = f"{anchors.name}, aligned"
    search.begin(name)
    sampled = _sampled(search, MAX_ALIGNED)
    hints = both(projected, sampled, span_projections((anchors.left, anchors.right), clouds.ridge))
    rounds = of_large if clouds.large else usual
    along = align(sampled, hints, search.rng, clouds.matched, rounds, search.listener)
    return Attempt(name, grown_along(search, along, search.options.schedule), search)


def _sampled(search: Search, most: int) -> Sides:
    """At most so many rows of either cloud."""
    clouds, rng = search.clouds, search.rng
    return clouds.sample("a", most, rng), clouds.sample("b", most, rng)


# Many outside anchors: the map is theirs, and how much is shared shows by them too. A hundred pairs or more that both
# models embedded fit a better map than a few hundred rows can grow to. How many rows of the smaller cloud have a
# partner follows from how clearly each sees its nearest row: anchors whose partner is put among the rows show how it
# looks where there is a partner, and the same anchors without it how it looks where there is none.


def _mapped(search: Search, anchors: Anchors) -> Attempt:
    """The best mutual neighbours along the map of the anchors, as many as seem to be shared."""
    clouds, name = search.clouds, f"{anchors.name}, mapped"
    search.begin(name)
    smaller = min(clouds.n_a, clouds.n_b)
    agreed = round(shared_share(clouds, anchors) * smaller)
    pairs, score = clouds.propose(joined_projections(anchors.left, anchors.right))
    best = np.argsort(-score, kind="stable")[: max(MIN_POOL, agreed)]
    history = ((len(best), agreed),)
    pool = Pool(pairs[best], np.ones(len(best)), score[best], agreed, views=1, extent=smaller, history=history)
    return Attempt(name, pool, search, mark=MAPPED_MARK)


def shared_share(clouds: CloudPair, anchors: Anchors) -> float:
    """The share of the smaller cloud that has a partner in the other, by anchors that are left out of the map."""
    few, many = clouds.all_rows("a"), clouds.all_rows("b")
    in_few, in_many = anchors.left, anchors.right
    if len(few) > len(many):
        few, many, in_few, in_many = many, few, in_many, in_few
    half = np.arange(len(anchors)) % 2 == 0
    shares = []
    for fitted in (half, ~half):
        of_few, of_many = joined_projections(in_few[fitted], in_many[fitted])
        seen, queries = projected(many, of_many), projected(in_few[~fitted], of_few)
        to_partners = np.einsum("ij,ij->i", queries, projected(in_many[~fitted], of_many))
        without, with_partner = _clearness(queries, seen), _clearness(queries, seen, to_partners)
        # what most of those with a partner reach, and fewest of those without: where the two shares differ most
        bounds = np.sort(np.concatenate([with_partner, without]))
        below, below_with = (np.searchsorted(np.sort(each), bounds) / len(each) for each in (without, with_partner))
        bound = bounds[np.argmax(below - below_with)]
        of_rows = _clearness(projected(few, of_few), seen)
        right, wrong, found = (float((each >= bound).mean()) for each in (with_partner, without, of_rows))
        shares.append(np.clip((found - wrong) / max(right - wrong, 1e-9), 0.0, 1.0))
    return float(np.mean(shares))


def _clearness(queries: np.ndarray, rows: np.ndarray, to_partners: np.ndarray | None = None) -> np.ndarray:
    """By how much the nearest row is nearer than the next ones, (q,); to_partners: cosines (q,) of one row more."""
    near = largest_values(queries @ rows.T, MAPPED_NEIGHBOURS)
    if to_partners is not None:
        near = np.column_stack([near, to_partners])
    descending = np.sort(near, axis=1)[:, ::-1]
    nearest, next_ones = descending[:, 0], descending[:, 1:]
    return nearest - next_ones.mean(axis=1)
