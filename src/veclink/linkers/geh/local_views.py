"""GEH's local path, for clouds of which no view can be matched over all rows.

The views of an iteration are a k-means partition of the links in A's space, ⌈links / links_per_view⌉ clusters, each
link in its two nearest. A view looks only at the rows around its anchors: on either side the union of the nearest
neighbours of its anchors there. Hashing, matching, votes and promotion are those of the global path.

Nothing grows with links × clusters: links are read in blocks, and of a view its own anchors and rows alone. On a GPU
the rows lie there, or are sent block by block; neighbours are searched and views hashed and matched on it.

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
from veclink.geometry.arrays import Array, asarray, concat, doubles, floats, is_numpy, to_numpy
from veclink.geometry.clouds import Cloud
from veclink.geometry.kmeans import cosines_at_once, spherical_kmeans
from veclink.geometry.nearest import largest, nearest_rows
from veclink.geometry.rows import Rows, tiles
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh.constants import CLUSTERS_PER_LINK, KMEANS_LINKS, KMEANS_STEPS
from veclink.linkers.geh.views import BLOCK, Proposal, Proposals, Round, Settings, signature, spaced

DEVICE_BLOCK = 1 << 16  # rows of a cloud at a time on a GPU


class LocalPath:
    """Views of neighbouring links, each matched over the rows around them."""

    def __init__(
        self,
        a: Cloud,
        b: Cloud,
        anchors: Anchors,
        settings: Settings,
    ) -> None:
        self.settings = settings
        self.a, self.b = placed(a, settings), placed(b, settings)
        self.anchors = anchors
        self.near_a = Neighbours(self.a, settings.options.neighbours)
        self.near_b = Neighbours(self.b, settings.options.neighbours)
        self.around_a = self.near_a.of_vectors(anchors.left)
        self.around_b = self.near_b.of_vectors(anchors.right)
        self.looked_a = np.zeros(len(a), np.int64)
        self.looked_b = np.zeros(len(b), np.int64)

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        self.near_a.search(pool[:, 0])
        self.near_b.search(pool[:, 1])
        left = Ends(self.anchors.left, self.a, pool[:, 0])
        right = Ends(self.anchors.right, self.b, pool[:, 1])
        most = self.settings.options.links_per_view or max(left.shape[1], right.shape[1])
        views = clustered(left, most, rng)
        anchors = round(sum(map(len, views)) / len(views))
        return Round(len(views), anchors, self._proposals(left, right, pool, views))

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
        left: Ends,
        right: Ends,
        pool: np.ndarray,
        views: list[np.ndarray],
    ) -> Proposals:
        """What each view of seeds and links proposes."""
        encoding = self.settings.options.encoding
        n_seeds = len(self.anchors.left)
        for view in views:
            links = pool[view[view >= n_seeds] - n_seeds]
            seeds = view[view < n_seeds]
            rows_a = _union(self.around_a[seeds], self.near_a.of_rows(links[:, 0]))
            rows_b = _union(self.around_b[seeds], self.near_b.of_rows(links[:, 1]))
            self.looked_a[rows_a] += 1
            self.looked_b[rows_b] += 1
            hash_a = _hash(self.a.take(rows_a), left.take(view), encoding)
            hash_b = _hash(self.b.take(rows_b), right.take(view), encoding)
            in_use = hash_a.nbytes + hash_b.nbytes
            pairs, score = self.settings.mutual(hash_a, hash_b, in_use)
            in_a = rows_a[pairs[:, 0]]
            in_b = rows_b[pairs[:, 1]]
            yield Proposal(np.column_stack([in_a, in_b]), score, links)


def placed(cloud: Cloud, settings: Settings) -> Rows:
    """The rows of a cloud where views are matched: as they are, or on a torch device, whole where they fit."""
    if settings.device == "cpu":
        return cloud
    from veclink.matching.torch_backend import free_memory, torch_device
    from veclink.matching.torch_rows import DeviceRows

    place = torch_device(settings.device)
    room = free_memory(place) if settings.budget is None else settings.budget
    return DeviceRows(cloud, place, room // 4)


class Ends:
    """The vectors of seeds and links on one side, read when asked for: a `Rows`.

    Parameters
    ----------
    seeds : ndarray of shape (s, d)
    cloud : Rows of shape (n, d)
    rows : ndarray of shape (m,)
        Rows of the cloud that the links end in.
    """

    def __init__(self, seeds: np.ndarray, cloud: Rows, rows: np.ndarray) -> None:
        self.seeds, self.cloud, self.rows = seeds, cloud, rows
        self.shape = (len(seeds) + len(rows), int(cloud.shape[1]))

    def block(self, start: int, stop: int) -> Array:
        """Vectors start…stop−1."""
        return self.take(np.arange(start, stop))

    def take(self, positions: np.ndarray) -> Array:
        """The vectors at these positions, the seeds among them first."""
        n_seeds = len(self.seeds)
        of_cloud = self.cloud.take(self.rows[positions[positions >= n_seeds] - n_seeds])
        of_seeds = asarray(self.seeds[positions[positions < n_seeds]], of_cloud)
        return concat([of_seeds, of_cloud])


class Neighbours:
    """The nearest rows of a cloud to some of its rows, or to other vectors: searched once, then kept."""

    def __init__(self, cloud: Rows, count: int) -> None:
        self.cloud = cloud
        self.count = min(count, cloud.shape[0])
        self.place = np.full(cloud.shape[0], -1, np.int64)
        self.kept = np.empty((0, self.count), np.int32)

    def search(self, rows: np.ndarray) -> None:
        """Search those of the rows that were not searched yet, and keep their neighbours."""
        new = np.unique(rows[self.place[rows] < 0])
        if not len(new):
            return
        self.place[new] = len(self.kept) + np.arange(len(new))
        parts = [self.kept]
        for start, stop in tiles(len(new), BLOCK):
            parts.append(self.of_vectors(self.cloud.take(new[start:stop])))
        self.kept = np.concatenate(parts)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order; a row is its own neighbour."""
        self.search(rows)
        return self.kept[self.place[rows]]

    def of_vectors(self, vectors: Array) -> np.ndarray:
        """(m, count) rows, in no order."""
        first = self.cloud.block(0, 1)
        block = BLOCK if is_numpy(first) else DEVICE_BLOCK
        queries = asarray(vectors, first) if is_numpy(vectors) else vectors
        return nearest_rows(queries, self.cloud, self.count, block=block)


def clustered(
    vectors: Rows,
    most: int,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Positions of the vectors in each of ⌈n / most⌉ clusters by spherical k-means, each in its two nearest."""
    n = vectors.shape[0]
    count = math.ceil(n / most)
    if count == 1:
        return [np.arange(n)]
    fitted = np.arange(n)
    if n > KMEANS_LINKS:
        fitted = np.sort(rng.choice(n, max(KMEANS_LINKS, count), replace=False))
    centres = spherical_kmeans(vectors.take(fitted), count, KMEANS_STEPS, rng)
    nearest = np.empty((n, CLUSTERS_PER_LINK), np.int64)
    for start, stop in tiles(n, max(1, cosines_at_once(centres) // count)):
        block = vectors.block(start, stop)
        nearest[start:stop] = to_numpy(largest(block @ centres.T, CLUSTERS_PER_LINK))
    # Positions by cluster, ascending in each.
    order = np.argsort(nearest.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(nearest.ravel(), minlength=count))
    views = np.split(order // CLUSTERS_PER_LINK, ends[:-1])
    return [view for view in views if len(view)]


def _union(of_seeds: np.ndarray, of_links: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate([of_seeds.ravel(), of_links.ravel()]))


def _hash(points: Array, anchors: Array, encoding: str) -> Array:
    r = distances(points, anchors)
    return signature(r, spaced(r), encoding)


def distances(points: Array, anchors: Array) -> Array:
    """`signatures.distances` of numpy or of torch."""
    if is_numpy(points):
        return signatures.distances(points, anchors)
    return floats((1.0 - doubles(points) @ doubles(anchors).T).clip(0.0))
