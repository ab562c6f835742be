"""Which points of the two collections are on the map, and where.

Links span a space that both models share (`canonical_projections`). The map is drawn along the two principal axes of
the linked objects in it, so the two ends of a right link lie close together: how far apart they are says how well the
two models agree about the object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.titles import Names
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.signatures import canonical_projections, unit_rows

LINKED_POINTS, ALONE_POINTS = 2500, 1500  # points at most: links with both their ends, and unlinked rows of either side
LEAST, FITTED = 12, 2000  # links that the axes are fitted to: at least, at most
SURE = 0.5  # links that the axes are fitted to: more likely right than wrong


@dataclass(frozen=True, eq=False)
class Mapped:
    """Points on the map: the first `n_links` rows of either side are the two ends of links, the rest is unlinked.

    ranks: of those links. place_a, place_b: (n, 2) from 0 to 1. place: of the linked objects, seen by both models at
    once. unlinked: how many rows of either side have no link, on the map or not.
    """

    rows_a: np.ndarray
    rows_b: np.ndarray
    place_a: np.ndarray
    place_b: np.ndarray
    place: np.ndarray
    ranks: np.ndarray
    unlinked: tuple[int, int]

    @property
    def n_links(self) -> int:
        """How many links are drawn."""
        return len(self.ranks)

    def columns(self, of_a: Names, of_b: Names) -> dict[str, np.ndarray]:
        """As columns of the page's data."""
        return {
            "map_rank": self.ranks.astype(np.uint32),
            "map_a": of_a.place(self.rows_a),
            "map_b": of_b.place(self.rows_b),
            **{
                f"map_{axis}_{side}": np.rint(place[:, column] * 65535).astype(np.uint16)
                for side, place in (("a", self.place_a), ("b", self.place_b), ("both", self.place))
                for column, axis in enumerate("xy")
            },
        }


def map_links(links: Links, a: Collection | None, b: Collection | None) -> Mapped | None:
    """The map of the links and of some of what is not linked; None where too few links are there to make one."""
    sure = links.pairs[links.probability >= SURE]
    if a is None or b is None or len(sure) < LEAST:
        return None
    clouds = prepare(a, skip_zero=True), prepare(b, skip_zero=True)
    to_plane = _projections(clouds, sure[_evenly(len(sure), FITTED)])
    # Evenly over the ranking: the surest alone would look better than the result is.
    ranks = _evenly(len(links), LINKED_POINTS)
    rng = np.random.default_rng(0)
    rows, points, unlinked = [], [], []
    for column, cloud in enumerate(clouds):
        alone = np.setdiff1d(cloud.rows, links.pairs[:, column])  # zero vectors have no place
        some = np.sort(rng.permutation(alone)[:ALONE_POINTS])
        rows.append(np.concatenate([links.pairs[ranks, column], some]))
        points.append(_seen(cloud, rows[column], to_plane[column]))
        unlinked.append(len(cloud.collection) - len(np.unique(links.pairs[:, column])))
    both = points[0][: len(ranks)] + points[1][: len(ranks)]
    place_a, place_b, place = _scaled([points[0], points[1], both / 2])
    return Mapped(rows[0], rows[1], place_a, place_b, place, ranks, (unlinked[0], unlinked[1]))


def _projections(clouds: tuple[Cloud, Cloud], pairs: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each side its projection (d, r) into the common space, and from there (r, 2) to the plane."""
    ends = [cloud.take(cloud.positions(pairs[:, column])) for column, cloud in enumerate(clouds)]
    into = canonical_projections(ends[0], ends[1])
    objects = unit_rows(unit_rows(ends[0] @ into[0]) + unit_rows(ends[1] @ into[1]))
    principal = np.linalg.eigh(objects.T @ objects)[1][:, :-3:-1]
    principal = principal * np.sign(principal.sum(axis=0) + 1e-12)  # eigenvectors have no sign of their own
    return [(into[0], principal), (into[1], principal)]


def _seen(cloud: Cloud, rows: np.ndarray, projections: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Where one model puts rows of its collection: (n, 2)."""
    into, principal = projections
    return unit_rows(cloud.take(cloud.positions(rows)) @ into) @ principal


def _scaled(places: list[np.ndarray]) -> list[np.ndarray]:
    """The same points, from 0 to 1 in both directions."""
    every = np.concatenate(places)
    low, size = every.min(axis=0), np.maximum(np.ptp(every, axis=0), 1e-9)
    return [(each - low) / size for each in places]


def _evenly(n: int, most: int) -> np.ndarray:
    """At most so many of the numbers 0…n−1, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
