"""One start after another: what a pool is grown from, each made only when it is asked for.

Along the map of many outside anchors; given pairs as they are, of large clouds once more with all rows asked, softly
from them, both on clouds that are centred on them, the clouds aligned by them, the given ones less those that look
wrong, the clouds searched with them; then, from nothing, the clouds aligned by profiles, slowly by broader ones, and
from many beginnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.data.no_links import FROM_NOTHING
from veclink.geometry.arrays import Sides, both
from veclink.geometry.neighbourhoods import paired_profiles
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.anchors import Anchors
from veclink.linkers.outlier_seeds import held_out_shares
from veclink.linkers.span.alignment import AlignmentRule, align
from veclink.linkers.span.attempt import Attempt, Search, grown_along, guessed
from veclink.linkers.span.centring import anchors_on, means_near
from veclink.linkers.span.constants import (
    ALIGNMENT_POWERS,
    ALIGNMENT_ROUNDS,
    ALIGNMENT_ROUNDS_OF_LARGE,
    ASKED_IN_FULL,
    CLEANING_ROUNDS,
    CLEANING_SAMPLE,
    HELD_ROWS,
    MAX_ALIGNED,
    MAX_SEEDS_TO_CLEAN,
    MIN_POOL,
    MIN_SEEDS_TO_CLEAN,
    PROFILE_GUESS,
    SOFT_MIN_DIMENSION,
)
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.mapped import mapped
from veclink.linkers.span.search import annealed, searched
from veclink.linkers.span.search_constants import (
    SEARCHED_ROWS,
)
from veclink.linkers.span.soft_anchors import grow_softly

Hint = Callable[[np.ndarray, np.ndarray], Sides]  # from rows of both clouds to rows that compare across them


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
    by_their_map = mapped(search, anchors)
    if by_their_map is not None:
        yield by_their_map
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        for power in ALIGNMENT_POWERS:
            yield _aligned_anchors(search, anchors, power)
    yield _given(search, anchors)
    if not fallbacks:
        return
    if clouds.large and max(clouds.n_a, clouds.n_b) <= ASKED_IN_FULL:
        in_full = replace(anchors, name=f"{anchors.name}, all rows asked")
        yield _given(search.in_full(), in_full)
    if _are_held(clouds) and len(anchors.rows):
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
    yield _searched_anchors(search, anchors)
    yield _aligned_anchors(search, anchors, second)


def _from_nothing(search: Search) -> Iterator[Attempt]:
    """Alignments in the order of what they cost: by profiles, slowly by broader ones, from many beginnings.

    Of large clouds the slow one would see two samples without partners in one another.
    """
    starts = (_by_profiles, _by_search) if search.clouds.large else (_by_profiles, _by_annealing, _by_search)
    for start in starts:
        yield Attempt(FROM_NOTHING, start(search), search)


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
    pairs = _soft_pairs(search, anchors.rows)
    pool = search.grow(guessed(clouds, pairs), search.seeded)
    yield Attempt(name, pool, search)


def _soft_pairs(search: Search, given: np.ndarray) -> np.ndarray:
    """Mutual neighbours (p, 2) of rows of A and of B, grown softly from given ones, the smaller cloud first."""
    clouds = search.clouds
    grow = partial(grow_softly, rng=search.rng, listener=search.listener)
    a, b = clouds.all_rows("a"), clouds.all_rows("b")
    if clouds.n_a <= clouds.n_b:
        pairs, _ = grow(a, b, given)
        return pairs
    pairs, _ = grow(b, a, given[:, ::-1])
    return pairs[:, ::-1]


def _by_annealing(search: Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned slowly by broad profiles."""
    search.begin("no seeds, aligning slowly")
    clouds = search.clouds
    sampled = _sampled(clouds, MAX_ALIGNED, search.rng)
    projections = annealed(sampled, clouds.means, search.rng)
    return grown_along(search, projections, search.seeded)


def _by_profiles(search: Search) -> Pool:
    search.begin("no seeds, aligning by profiles")
    hops, ridge, power = PROFILE_GUESS
    hint = partial(paired_profiles, hops=hops, ridge=ridge)
    return grown_along(search, _aligned(search, hint, power), search.seeded)


def _by_search(search: Search) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned from many beginnings."""
    search.begin("no seeds, searching")
    clouds = search.clouds
    sampled = _sampled(clouds, SEARCHED_ROWS, search.rng)
    projections = searched(sampled, search.rng, search.listener)
    return grown_along(search, projections, search.seeded)


def _searched_anchors(search: Search, anchors: Anchors) -> Attempt:
    """A pool from clouds that were aligned from many beginnings, with the anchors in every cross-covariance."""
    name = f"{anchors.name}, searched"
    search.begin(name)
    sampled = _sampled(search.clouds, SEARCHED_ROWS, search.rng)
    given = anchors.left, anchors.right
    projections = searched(sampled, search.rng, search.listener, given)
    return Attempt(name, grown_along(search, projections, search.seeded), search)


def _aligned_anchors(search: Search, anchors: Anchors, power: float) -> Attempt:
    """A pool from clouds that were aligned by what the anchors say of every row."""
    name = f"{anchors.name}, aligned"
    search.begin(name)
    ridge = search.clouds.ridge
    projections = span_projections((anchors.left, anchors.right), ridge)

    def hint(a: np.ndarray, b: np.ndarray) -> Sides:
        return both(projected, (a, b), projections)

    aligned = _aligned(search, hint, power)
    return Attempt(name, grown_along(search, aligned), search)


def _aligned(search: Search, hint: Hint, power: float) -> Sides:
    """Projections on which two clouds look alike, aligned by a hint.

    The directions are found on a sample of the rows: they are the same for all.
    """
    clouds, rng = search.clouds, search.rng
    sampled = _sampled(clouds, MAX_ALIGNED, rng)
    rounds = ALIGNMENT_ROUNDS_OF_LARGE if clouds.large else ALIGNMENT_ROUNDS
    rule = AlignmentRule(power, rounds)
    hints = hint(*sampled)
    return align(
        sampled,
        hints,
        rng,
        clouds.matched,
        rule,
        search.listener,
    )


def _sampled(clouds: CloudPair, most: int, rng: np.random.Generator) -> Sides:
    return clouds.sample("a", most, rng), clouds.sample("b", most, rng)
