"""GEH's local path, for clouds of which no view can be matched over all rows.

The views of an iteration are a k-means partition of the links in A's space, ⌈links / MOST_ANCHORS⌉ clusters, each link
in its two nearest. A view looks only at the rows around its anchors: on either side the union of the nearest
neighbours of its anchors there. Hashing, matching, votes and promotion are those of the global path.

What the paper leaves open, and how it is settled here:

* A row is looked at by few of the views, so a pair's confidence counts, instead of all views, those that could have
  proposed it: the smaller number of views that either of its rows was in. It is never less than the views that both
  were in, and needs one number per row.
* Nearest neighbours are searched exactly, when a row becomes an anchor for the first time, and kept.
* NEIGHBOURS and MOST_ANCHORS: experiments/geh_local.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from veclink.geometry import signatures
from veclink.geometry.clouds import Cloud
from veclink.geometry.kmeans import spherical_kmeans
from veclink.geometry.nearest import largest, nearest_rows
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh.views import BLOCK, Round, Settings, signature, spaced
from veclink.matching import match

ABOVE = 500_000  # rows of the larger cloud from which the local path is taken
NEIGHBOURS = 100  # k_NN
MOST_ANCHORS = 128  # links for each cluster; a view holds about twice as many
CLUSTERS_OF_A_LINK = 2
STEPS = 10  # of k-means


class LocalPath:
    """Views of neighbouring links, each matched over the rows around them."""

    def __init__(self, a: Cloud, b: Cloud, anchors: Anchors, settings: Settings, neighbours: int = NEIGHBOURS) -> None:
        self.a, self.b, self.settings = a, b, settings
        self.anchors = anchors
        self.near_a, self.near_b = Neighbours(a, neighbours), Neighbours(b, neighbours)
        self.around_a, self.around_b = self.near_a.of_vectors(anchors.left), self.near_b.of_vectors(anchors.right)
        self.looked_a, self.looked_b = np.zeros(len(a), np.int64), np.zeros(len(b), np.int64)

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool of links beyond the seeds."""
        left = np.concatenate([self.anchors.left, self.a.take(pool[:, 0])])
        right = np.concatenate([self.anchors.right, self.b.take(pool[:, 1])])
        around = (
            np.concatenate([self.around_a, self.near_a.of_rows(pool[:, 0])]),
            np.concatenate([self.around_b, self.near_b.of_rows(pool[:, 1])]),
        )
        views = clustered(left, MOST_ANCHORS, rng)
        anchors = round(sum(map(len, views)) / len(views))
        return Round(len(views), anchors, self._proposals(left, right, around, views))

    def chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that could propose each pair, at most: those that its row of A, or of B, was in."""
        return np.minimum(self.looked_a[pairs[:, 0]], self.looked_b[pairs[:, 1]])

    def state(self) -> dict[str, np.ndarray]:
        """What has to be kept to go on later."""
        # The neighbours too: searched in another company, two that are equally near could change places.
        near = {f"near_{side}_{name}": part for side, each in self._near() for name, part in each.state().items()}
        return {"looked_a": self.looked_a, "looked_b": self.looked_b, **near}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what was kept."""
        self.looked_a, self.looked_b = state["looked_a"], state["looked_b"]
        for side, each in self._near():
            each.place, each.kept = state[f"near_{side}_place"], state[f"near_{side}_kept"]

    def _near(self) -> tuple[tuple[str, Neighbours], tuple[str, Neighbours]]:
        return ("a", self.near_a), ("b", self.near_b)

    def _proposals(
        self, left: np.ndarray, right: np.ndarray, around: tuple[np.ndarray, np.ndarray], views: list[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        of = self.settings
        for view in views:
            rows_a, rows_b = np.unique(around[0][view]), np.unique(around[1][view])
            self.looked_a[rows_a] += 1
            self.looked_b[rows_b] += 1
            hash_a = _hash(self.a, rows_a, left[view], of.encoding)
            hash_b = _hash(self.b, rows_b, right[view], of.encoding)
            room = None if of.budget is None else max(of.budget - hash_a.nbytes - hash_b.nbytes, 1)
            pairs, score = match(hash_a, hash_b, k=of.k, memory=room, device=of.device).mutual()
            yield np.column_stack([rows_a[pairs[:, 0]], rows_b[pairs[:, 1]]]), score, 1


class Neighbours:
    """The nearest rows of a cloud to some of its rows, or to other vectors: searched once, then kept."""

    def __init__(self, cloud: Cloud, count: int) -> None:
        self.cloud, self.count = cloud, min(count, len(cloud))
        self.place = np.full(len(cloud), -1, np.int64)
        self.kept = np.empty((0, self.count), np.int32)

    def state(self) -> dict[str, np.ndarray]:
        """What was searched so far."""
        return {"place": self.place, "kept": self.kept}

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order; a row is its own neighbour."""
        new = np.unique(rows[self.place[rows] < 0])
        if len(new):
            self.place[new] = len(self.kept) + np.arange(len(new))
            self.kept = np.concatenate([self.kept, self.of_vectors(self.cloud.take(new))])
        return self.kept[self.place[rows]]

    def of_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order."""
        return nearest_rows(vectors, self.cloud, self.count, block=BLOCK)


def clustered(vectors: np.ndarray, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of the vectors in each of ⌈n / most⌉ clusters by spherical k-means, each in its two nearest."""
    count = math.ceil(len(vectors) / most)
    if count == 1:
        return [np.arange(len(vectors))]
    centres = spherical_kmeans(vectors, count, STEPS, rng)
    nearest = largest(vectors @ centres.T, CLUSTERS_OF_A_LINK)
    views = [np.flatnonzero((nearest == cluster).any(axis=1)) for cluster in range(count)]
    return [view for view in views if len(view)]


def _hash(cloud: Cloud, rows: np.ndarray, anchors: np.ndarray, encoding: str) -> np.ndarray:
    r = signatures.distances(cloud.take(rows), anchors)
    return signature(r, spaced(r), encoding)
