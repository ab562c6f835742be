"""Which points of the two collections are on the map, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.titles import Names
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import canonical_projections, unit_rows
from veclink.report.layout import LANDMARKS, LEAST, between, landmark_map

LINKED, ALONE = 2500, 1500  # points at most: links with both their ends, and unlinked rows of either side
SURE = 0.5


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
    sure = np.flatnonzero(links.probability >= SURE)
    if a is None or b is None or len(sure) < LEAST:
        return None
    rng = np.random.default_rng(0)
    # Evenly over the ranking: the surest alone would look better than the result is.
    drawn = np.unique(np.linspace(0, len(links) - 1, min(LINKED, len(links))).round().astype(np.int64))
    alone = [np.setdiff1d(np.arange(size), links.pairs[:, column]) for column, size in enumerate((len(a), len(b)))]
    alone_a, alone_b = (_some(rows, rng) for rows in alone)
    marks = sure[_spread(len(sure), LANDMARKS)]
    clouds = [prepare(each, skip_zero=True) for each in (a, b)]
    rows = [np.concatenate([links.pairs[drawn, 0], alone_a]), np.concatenate([links.pairs[drawn, 1], alone_b])]
    rows = [
        own[np.isin(own, cloud.rows)] for own, cloud in zip(rows, clouds, strict=True)
    ]  # zero vectors have no place
    ends = [cloud.take(cloud.positions(links.pairs[marks, column])) for column, cloud in enumerate(clouds)]
    axes = canonical_projections(ends[0], ends[1])
    landmarks = unit_rows(unit_rows(ends[0] @ axes[0]) + unit_rows(ends[1] @ axes[1]))
    place = landmark_map(landmarks, rng)
    of_rows, seen = [], []
    for column, (cloud, own) in enumerate(zip(clouds, rows, strict=True)):
        order = np.argsort(links.pairs[marks, column])
        spot = np.minimum(np.searchsorted(links.pairs[marks, column][order], own), len(marks) - 1)
        itself = np.where(links.pairs[marks, column][order[spot]] == own, order[spot], -1)
        points = unit_rows(cloud.take(cloud.positions(own)) @ axes[column])
        of_rows.append(between(points, landmarks, place, itself))
        seen.append(points[: len(drawn)])
    of_rows.append(between(unit_rows(seen[0] + seen[1]), landmarks, place, np.full(len(drawn), -1)))
    all_places = np.concatenate(of_rows)
    low, size = all_places.min(axis=0), np.maximum(np.ptp(all_places, axis=0), 1e-9)
    place_a, place_b, place_both = ((each - low) / size for each in of_rows)
    return Mapped(rows[0], rows[1], place_a, place_b, place_both, drawn, (len(alone[0]), len(alone[1])))


def _some(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= ALONE else np.sort(rng.choice(rows, ALONE, replace=False))


def _spread(n: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
