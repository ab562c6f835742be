"""GEH's local path, for clouds of which no view can be matched over all rows.

The views of an iteration are a k-means partition of the links in A's space, ⌈links / LINKS_PER_CLUSTER⌉ clusters, each
link in its two nearest. A view looks only at the rows around its anchors: on either side the union of the nearest
neighbours of its anchors there. Hashing, matching, votes and promotion are those of the global path.

What the paper leaves open, and how it is settled here:

* A row is looked at by few of the views, so a pair's confidence counts, instead of all views, those that could have
  proposed it: the smaller number of views that either of its rows was in. It is never less than the views that both
  were in, and needs one number per row.
* Nearest neighbours are searched exactly, when a row becomes an anchor for the first time, and kept.
* LOCAL_NEIGHBOURS and LINKS_PER_CLUSTER: `veclink bench geh-local`.
"""

from __future__ import annotations

import math

import numpy as np

from veclink.geometry import signatures
from veclink.geometry.clouds import Cloud
from veclink.geometry.kmeans import spherical_kmeans
from veclink.geometry.nearest import largest, nearest_rows
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh.constants import CLUSTERS_PER_LINK, KMEANS_STEPS, LINKS_PER_CLUSTER
from veclink.linkers.geh.views import BLOCK, Proposal, Proposals, Round, Settings, signature, spaced

Sides = tuple[np.ndarray, np.ndarray]


class LocalPath:
    """Views of neighbouring links, each matched over the rows around them."""

    def __init__(
        self,
        a: Cloud,
        b: Cloud,
        anchors: Anchors,
        settings: Settings,
    ) -> None:
        self.a, self.b, self.settings = a, b, settings
        self.anchors = anchors
        self.near_a = Neighbours(a, settings.options.neighbours)
        self.near_b = Neighbours(b, settings.options.neighbours)
        self.around_a = self.near_a.of_vectors(anchors.left)
        self.around_b = self.near_b.of_vectors(anchors.right)
        self.looked_a = np.zeros(len(a), np.int64)
        self.looked_b = np.zeros(len(b), np.int64)

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        rows_a, rows_b = pool.T
        left = np.concatenate([self.anchors.left, self.a.take(rows_a)])
        right = np.concatenate([self.anchors.right, self.b.take(rows_b)])
        around_a = np.concatenate([self.around_a, self.near_a.of_rows(rows_a)])
        around_b = np.concatenate([self.around_b, self.near_b.of_rows(rows_b)])
        views = clustered(left, LINKS_PER_CLUSTER, rng)
        anchors = round(sum(map(len, views)) / len(views))
        n_seeds = len(self.anchors.left)
        held = [pool[view[view >= n_seeds] - n_seeds] for view in views]
        proposals = self._proposals(
            (left, right),
            (around_a, around_b),
            views,
            held,
        )
        return Round(len(views), anchors, proposals)

    def chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that could propose each pair, at most: those that its row of A, or of B, was in."""
        views_of_a = self.looked_a[pairs[:, 0]]
        views_of_b = self.looked_b[pairs[:, 1]]
        return np.minimum(views_of_a, views_of_b)

    def state(self) -> dict[str, np.ndarray]:
        """What has to be kept to go on later."""
        # The neighbours too: searched in another company, two that are equally near could change places.
        kept: dict[str, np.ndarray] = {"looked_a": self.looked_a, "looked_b": self.looked_b}
        for side, near in self._near():
            kept[f"near_{side}_place"] = near.place
            kept[f"near_{side}_kept"] = near.kept
        return kept

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what was kept."""
        self.looked_a = state["looked_a"]
        self.looked_b = state["looked_b"]
        for side, near in self._near():
            near.place = state[f"near_{side}_place"]
            near.kept = state[f"near_{side}_kept"]

    def _near(self) -> tuple[tuple[str, Neighbours], tuple[str, Neighbours]]:
        return ("a", self.near_a), ("b", self.near_b)

    def _proposals(
        self,
        anchors: Sides,
        around: Sides,
        views: list[np.ndarray],
        held: list[np.ndarray],
    ) -> Proposals:
        """anchors: vectors of seeds and links on both sides. around: (m, count) rows around each of them."""
        encoding = self.settings.options.encoding
        for view, links in zip(views, held, strict=True):
            rows_a = np.unique(around[0][view])
            rows_b = np.unique(around[1][view])
            self.looked_a[rows_a] += 1
            self.looked_b[rows_b] += 1
            hash_a = _hash(
                self.a,
                rows_a,
                anchors[0][view],
                encoding,
            )
            hash_b = _hash(
                self.b,
                rows_b,
                anchors[1][view],
                encoding,
            )
            in_use = hash_a.nbytes + hash_b.nbytes
            pairs, score = self.settings.mutual(hash_a, hash_b, in_use)
            in_a = rows_a[pairs[:, 0]]
            in_b = rows_b[pairs[:, 1]]
            yield Proposal(np.column_stack([in_a, in_b]), score, links)


class Neighbours:
    """The nearest rows of a cloud to some of its rows, or to other vectors: searched once, then kept."""

    def __init__(self, cloud: Cloud, count: int) -> None:
        self.cloud = cloud
        self.count = min(count, len(cloud))
        self.place = np.full(len(cloud), -1, np.int64)
        self.kept = np.empty((0, self.count), np.int32)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order; a row is its own neighbour."""
        new = np.unique(rows[self.place[rows] < 0])
        if len(new):
            self.place[new] = len(self.kept) + np.arange(len(new))
            searched = self.of_vectors(self.cloud.take(new))
            self.kept = np.concatenate([self.kept, searched])
        return self.kept[self.place[rows]]

    def of_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order."""
        return nearest_rows(vectors, self.cloud, self.count, block=BLOCK)


def clustered(
    vectors: np.ndarray,
    most: int,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Positions of the vectors in each of ⌈n / most⌉ clusters by spherical k-means, each in its two nearest."""
    count = math.ceil(len(vectors) / most)
    if count == 1:
        return [np.arange(len(vectors))]
    centres = spherical_kmeans(vectors, count, KMEANS_STEPS, rng)
    nearest = largest(vectors @ centres.T, CLUSTERS_PER_LINK)
    views = [np.flatnonzero((nearest == cluster).any(axis=1)) for cluster in range(count)]
    return [view for view in views if len(view)]


def _hash(
    cloud: Cloud,
    rows: np.ndarray,
    anchors: np.ndarray,
    encoding: str,
) -> np.ndarray:
    r = signatures.distances(cloud.take(rows), anchors)
    return signature(r, spaced(r), encoding)
