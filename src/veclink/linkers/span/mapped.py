"""A start from many outside anchors: the map is theirs, and how much is shared shows by them too.

A hundred pairs or more that both models embedded fit a better map than a few hundred rows can grow to. How many rows of
the smaller cloud have a partner follows from how clearly each sees its nearest row: anchors whose partner is put among
the rows show how it looks where there is a partner, and the same anchors without it how it looks where there is none.
"""

from __future__ import annotations

import numpy as np

from veclink.backends import CloudPair
from veclink.geometry.arrays import Sides
from veclink.geometry.nearest import largest_values
from veclink.geometry.signatures import joined_projections, projected
from veclink.linkers.anchors import Anchors
from veclink.linkers.span.attempt import Attempt, Search
from veclink.linkers.span.constants import HELD_ROWS, MAPPED_MARK, MAPPED_NEIGHBOURS, MIN_MAPPED_ANCHORS, MIN_POOL
from veclink.linkers.span.growing import Pool


def mapped(search: Search, anchors: Anchors) -> Attempt | None:
    """The best mutual neighbours along the map of the anchors, as many as seem to be shared.

    None where the anchors are rows or few, or the rows too many to hold.
    """
    clouds = search.clouds
    is_small = not clouds.large and max(clouds.n_a, clouds.n_b) <= HELD_ROWS
    if not anchors.outside or len(anchors) < MIN_MAPPED_ANCHORS or not is_small:
        return None
    name = f"{anchors.name}, mapped"
    search.begin(name)
    smaller = min(clouds.n_a, clouds.n_b)
    share = shared_share(clouds, anchors)
    pairs, score = clouds.propose(joined_projections(anchors.left, anchors.right))
    count = max(MIN_POOL, round(share * smaller))
    best = np.argsort(-score, kind="stable")[:count]
    agreed = round(share * smaller)
    pool = Pool(
        pairs[best],
        np.ones(len(best)),
        score[best],
        agreed=agreed,
        views=1,
        extent=smaller,
        history=((len(best), agreed),),
    )
    return Attempt(name, pool, search, mark=MAPPED_MARK)


def shared_share(clouds: CloudPair, anchors: Anchors) -> float:
    """The share of the smaller cloud that has a partner in the other, by anchors that are left out of the map."""
    rows = clouds.all_rows("a"), clouds.all_rows("b")
    ends = anchors.left, anchors.right
    if clouds.n_a > clouds.n_b:
        rows = rows[::-1]
        ends = ends[::-1]
    half = np.arange(len(anchors)) % 2 == 0
    shares = _share(rows, ends, half), _share(rows, ends, ~half)
    return float(np.mean(shares))


def _share(rows: Sides, ends: Sides, fitted: np.ndarray) -> float:
    """The same by the map of the fitted anchors, (m,) bool; rows and ends: the smaller side first."""
    few, many = rows
    in_few, in_many = ends
    of_few, of_many = joined_projections(in_few[fitted], in_many[fitted])
    seen = projected(many, of_many)
    queries = projected(in_few[~fitted], of_few)
    partners = projected(in_many[~fitted], of_many)
    to_partners = np.einsum("ij,ij->i", queries, partners)
    without = _clearness(queries, seen)
    with_partner = _clearness(queries, seen, to_partners)
    of_rows = _clearness(projected(few, of_few), seen)
    bound = _best_bound(with_partner, without)
    right = _share_from(with_partner, bound)
    wrong = _share_from(without, bound)
    found = _share_from(of_rows, bound)
    share = (found - wrong) / max(right - wrong, 1e-9)
    return float(np.clip(share, 0.0, 1.0))


def _clearness(queries: np.ndarray, rows: np.ndarray, to_partners: np.ndarray | None = None) -> np.ndarray:
    """By how much the nearest row is nearer than the next ones, (q,); to_partners: cosines (q,) of one row more."""
    near = largest_values(queries @ rows.T, MAPPED_NEIGHBOURS)
    if to_partners is not None:
        near = np.column_stack([near, to_partners])
    descending = np.sort(near, axis=1)[:, ::-1]
    nearest, next_ones = descending[:, 0], descending[:, 1:]
    return nearest - next_ones.mean(axis=1)


def _best_bound(with_partner: np.ndarray, without: np.ndarray) -> float:
    """What most of those with a partner reach, and fewest of those without: where the two shares differ most."""
    bounds = np.sort(np.concatenate([with_partner, without]))
    gap = _share_below(without, bounds) - _share_below(with_partner, bounds)
    return float(bounds[np.argmax(gap)])


def _share_from(values: np.ndarray, bound: float) -> float:
    return float((values >= bound).mean())


def _share_below(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    below = np.searchsorted(np.sort(values), bounds)
    return below / len(values)
