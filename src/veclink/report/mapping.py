"""Which points of the two collections are on the map, and where.

Links span a space that both models share (`canonical_maps`). The map is drawn along the two principal axes of
the linked objects in it, so the two ends of a right link lie close together: how far apart they are says how well the
two models agree about the object.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.geometry.canonical import JOINED_RULES, joined_projections
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows

LINKED_POINTS, ALONE_POINTS = 2500, 1500  # points at most: links with both their ends, and unlinked rows of either side
LEAST, FITTED = 12, 2000  # links that the axes are fitted to: at least, at most
SURE = 0.5  # links that the axes are fitted to: more likely right than wrong


class Mapped(NamedTuple):
    """Points on the map: the first `len(ranks)` rows of either side are the two ends of links, the rest is unlinked."""

    ranks: np.ndarray  # of those links
    rows: list[np.ndarray]  # of A and of B
    places: list[np.ndarray]  # (n, 2) from 0 to 1: of A's rows, of B's, of the linked objects as both models see them
    unlinked: list[int]  # how many rows of either side have no link, on the map or not


def map_links(links: Links, a: Collection | None, b: Collection | None) -> Mapped | None:
    """The map of the links and of some of what is not linked; None where too few links are there to make one."""
    sure = links.pairs[links.probability >= SURE]
    if a is None or b is None or len(sure) < LEAST:
        return None
    fitted = sure[_evenly(len(sure), FITTED)]
    clouds = prepare(a, skip_zero=True), prepare(b, skip_zero=True)
    ends = [cloud.take(cloud.positions(fitted[:, column])) for column, cloud in enumerate(clouds)]
    into = joined_projections(ends[0], ends[1], rules=JOINED_RULES[:1])
    objects = unit_rows(unit_rows(ends[0] @ into[0]) + unit_rows(ends[1] @ into[1]))
    principal = np.linalg.eigh(objects.T @ objects)[1][:, :-3:-1]
    principal = principal * np.sign(principal.sum(axis=0) + 1e-12)  # eigenvectors have no sign of their own
    # Evenly over the ranking: the surest alone would look better than the result is.
    ranks = _evenly(len(links), LINKED_POINTS)
    rng = np.random.default_rng(0)
    rows, places, unlinked = [], [], []
    for column, cloud in enumerate(clouds):
        alone = np.setdiff1d(cloud.rows, links.pairs[:, column])  # zero vectors have no place
        rows.append(np.concatenate([links.pairs[ranks, column], np.sort(rng.permutation(alone)[:ALONE_POINTS])]))
        places.append(unit_rows(cloud.take(cloud.positions(rows[column])) @ into[column]) @ principal)
        unlinked.append(len(cloud.collection) - len(np.unique(links.pairs[:, column])))
    places.append((places[0][: len(ranks)] + places[1][: len(ranks)]) / 2)
    every = np.concatenate(places)
    low, size = every.min(axis=0), np.maximum(np.ptp(every, axis=0), 1e-9)
    return Mapped(ranks, rows, [(each - low) / size for each in places], unlinked)


def _evenly(n: int, most: int) -> np.ndarray:
    """At most so many of the numbers 0…n−1, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
