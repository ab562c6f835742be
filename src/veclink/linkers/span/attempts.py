"""One start after another: what a pool is grown from, each made only when it is asked for.

Along the map of many outside anchors; given pairs as they are; softly from them; both on clouds that are centred on
what is near them; the clouds aligned by the anchors, which two of five draws of ten pairs of two bibliographies need,
and among very many rows all do, so that it comes first there; and the clouds searched, with the anchors if there are
any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from veclink.backends import CloudPair
from veclink.data.pairs import sharing_no_row
from veclink.data.words import FROM_NOTHING
from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.anchors import Anchors
from veclink.linkers.outlier_seeds import shares_nearer
from veclink.linkers.span.alignment import align
from veclink.linkers.span.attempt import Attempt, Search, grown_along, guessed
from veclink.linkers.span.centring import anchors_on, means_near
from veclink.linkers.span.constants import (
    ALIGNMENT_ROUNDS,
    ASKED_IN_FULL,
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
from veclink.linkers.span.mapped import mapped
from veclink.linkers.span.search import searched
from veclink.linkers.span.search_constants import SEARCHED_ROWS
from veclink.linkers.span.soft_anchors import grow_softly


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
    if clouds.large and fallbacks:
        # Among very many rows a few given pairs place none, but they do align the clouds.
        yield _aligned(search, anchors)
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
    pairs = _soft_pairs(search, anchors.rows)
    pool = search.grow(guessed(clouds, pairs), search.seeded)
    refused = pool.agreed < search.mark * pool.extent
    yield Attempt(name, pool, search, vouched=refused and _come_back(search, anchors))


def _come_back(search: Search, anchors: Anchors) -> bool:
    """Whether most given pairs are near as seen from what grew softly from the other half of them.

    Two clouds in which few rows have a partner agree on few pairs, whatever the map. That half of eight pairs which had
    no part in it are near has a chance of 1 in 100 million, whatever is shared.
    """
    if len(anchors) < MIN_COMING_BACK:
        return False
    clouds, rng = search.clouds, search.rng
    order = rng.permutation(len(anchors))
    shares = np.ones(len(anchors))
    for held_out, others in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        pairs = _soft_pairs(search, anchors.rows[others])
        links = pairs[sharing_no_row(pairs, anchors.rows)][:OUTLIER_ANCHORS]
        if len(links) < MIN_POOL:
            continue
        projections = span_projections(clouds.vectors(links), clouds.ridge)
        signatures = both(projected, _sampled(clouds, OUTLIER_SAMPLE, rng), projections)
        ends = anchors.left[held_out], anchors.right[held_out]
        shares[held_out] = shares_nearer(signatures, ends, projections)
    return bool(np.mean(shares <= NEAR_SHARE) >= MIN_SEED_RECOVERY)


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


def _sampled(clouds: CloudPair, most: int, rng: np.random.Generator) -> Sides:
    return clouds.sample("a", most, rng), clouds.sample("b", most, rng)
