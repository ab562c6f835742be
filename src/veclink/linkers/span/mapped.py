"""A start from many outside anchors: the map is theirs, and how much is shared shows by them too.

A hundred pairs or more that both models embedded fit a better map than a few hundred rows can grow to. How many rows of
the smaller cloud have a partner follows from how clearly each sees its nearest row: anchors whose partner is put among
the rows show how it looks where there is a partner, and the same anchors without it how it looks where there is none.
"""

from __future__ import annotations

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.geometry.canonical import joined_projections
from veclink.geometry.nearest import largest_values
from veclink.geometry.sides import Sides
from veclink.geometry.signatures import projected
from veclink.linkers.anchors import Anchors
from veclink.linkers.span.attempt import Attempt, Search
from veclink.linkers.span.constants import (
    HELD_ROWS,
    MAPPED_MARK,
    MAPPED_NEIGHBOURS,
    MIN_MAPPED_ANCHORS,
    MIN_POOL,
)
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
    few, many = ("a", "b") if clouds.n_a <= clouds.n_b else ("b", "a")
    ends = (anchors.left, anchors.right) if few == "a" else (anchors.right, anchors.left)
    rows = clouds.all_rows(few), clouds.all_rows(many)
    half = np.arange(len(anchors)) % 2 == 0
    return float(np.mean([_share(rows, ends, fitted) for fitted in (half, ~half)]))


def _share(rows: Sides, ends: Sides, fitted: np.ndarray) -> float:
    """The same by the map of the fitted anchors, (m,) bool; rows and ends: the smaller side first."""
    of_few, of_many = joined_projections(ends[0][fitted], ends[1][fitted])
    seen = projected(rows[1], of_many)
    queries = projected(ends[0][~fitted], of_few)
    partners = np.einsum("ij,ij->i", queries, projected(ends[1][~fitted], of_many))
    without, with_partner = _clearness(queries, seen), _clearness(queries, seen, partners)
    of_rows = _clearness(projected(rows[0], of_few), seen)
    bound = _best_bound(with_partner, without)
    right, wrong, found = (float((each >= bound).mean()) for each in (with_partner, without, of_rows))
    return float(np.clip((found - wrong) / max(right - wrong, 1e-9), 0.0, 1.0))


def _clearness(queries: np.ndarray, rows: np.ndarray, partners: np.ndarray | None = None) -> np.ndarray:
    """By how much the nearest row is nearer than the next ones, (q,); partners: cosines (q,) of one row more each."""
    near = largest_values(queries @ rows.T, MAPPED_NEIGHBOURS)
    if partners is not None:
        near = np.column_stack([near, partners])
    near = np.sort(near, axis=1)[:, ::-1]
    return near[:, 0] - near[:, 1:].mean(axis=1)


def _best_bound(with_partner: np.ndarray, without: np.ndarray) -> float:
    """What most of those with a partner reach, and fewest of those without: where the two shares differ most."""
    bounds = np.sort(np.concatenate([with_partner, without]))
    reached = [np.searchsorted(np.sort(each), bounds) / len(each) for each in (with_partner, without)]
    return float(bounds[np.argmax(reached[1] - reached[0])])
