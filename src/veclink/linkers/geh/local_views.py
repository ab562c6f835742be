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
* LOCAL_NEIGHBOURS and LINKS_PER_CLUSTER: bench/results/experiments/geh_local.json.
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
from veclink.linkers.checkpoint import State
from veclink.linkers.geh.constants import CLUSTERS_PER_LINK, KMEANS_LINKS, KMEANS_STEPS
from veclink.linkers.geh.views import (
    BLOCK,
    Proposal,
    Proposals,
    Round,
    Settings,
    links_of_view,
    signature,
    spaced,
)

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
        neighbours = settings.options.neighbours
        self.a = _Side(placed(a, settings), anchors.left, neighbours)
        self.b = _Side(placed(b, settings), anchors.right, neighbours)

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        left = self.a.ends(pool[:, 0])
        right = self.b.ends(pool[:, 1])
        larger = max(left.shape[1], right.shape[1])
        most = self.settings.options.links_per_view or larger
        views = clustered(left, most, rng)
        in_all = sum(map(len, views))
        anchors = round(in_all / len(views))
        proposals = self._proposals(left, right, pool, views)
        return Round(len(views), anchors, proposals)

    def chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that could propose each pair, at most: those that its row of A, or of B, was in."""
        rows_a, rows_b = pairs.T
        views_of_a = self.a.looked[rows_a]
        views_of_b = self.b.looked[rows_b]
        return np.minimum(views_of_a, views_of_b)

    def state(self) -> State:
        """What has to be kept to go on later."""
        return self.a.state("a") | self.b.state("b")

    def restore(self, state: State) -> None:
        """Go on from what was kept."""
        self.a.restore("a", state)
        self.b.restore("b", state)

    def _proposals(
        self,
        left: Ends,
        right: Ends,
        pool: np.ndarray,
        views: list[np.ndarray],
    ) -> Proposals:
        """What each view of seeds and links proposes."""
        encoding = self.settings.options.encoding
        n_seeds = len(left.seeds)
        for view in views:
            seeds = view[view < n_seeds]
            links = links_of_view(view, pool, n_seeds)
            rows_a = self.a.around(seeds, links[:, 0])
            rows_b = self.b.around(seeds, links[:, 1])
            points_a = self.a.rows.take(rows_a)
            points_b = self.b.rows.take(rows_b)
            hash_a = _hash(points_a, left.take(view), encoding)
            hash_b = _hash(points_b, right.take(view), encoding)
            in_use = hash_a.nbytes + hash_b.nbytes
            found, score = self.settings.mutual(hash_a, hash_b, in_use)
            in_a = rows_a[found[:, 0]]
            in_b = rows_b[found[:, 1]]
            pairs = np.column_stack([in_a, in_b])
            yield Proposal(pairs, score, links)


class _Side:
    """One cloud of the local path: its seeds, what is near any anchor, and in how many views each row was."""

    def __init__(self, rows: Rows, seeds: np.ndarray, neighbours: int) -> None:
        self.rows = rows
        self.seeds = seeds
        self.near = Neighbours(rows, neighbours)
        self.near_seeds = self.near.of_vectors(seeds)
        self.looked = np.zeros(rows.shape[0], np.int64)

    def ends(self, linked: np.ndarray) -> Ends:
        """The vectors of the seeds and of linked rows (m,), whose neighbours are searched."""
        self.near.search(linked)
        return Ends(self.seeds, self.rows, linked)

    def around(self, seeds: np.ndarray, linked: np.ndarray) -> np.ndarray:
        """The rows that a view of some seeds and linked rows looks at, ascending; they are counted."""
        near_seeds = self.near_seeds[seeds]
        near_links = self.near.of_rows(linked)
        rows = np.union1d(near_seeds, near_links)
        self.looked[rows] += 1
        return rows

    def state(self, side: str) -> State:
        """What has to be kept of it, under names of its own."""
        # The neighbours too: searched in another company, two that are equally near could change places.
        return {
            f"looked_{side}": self.looked,
            f"near_{side}_place": self.near.place,
            f"near_{side}_kept": self.near.kept,
        }

    def restore(self, side: str, state: State) -> None:
        """Go on from what was kept of it."""
        self.looked = state[f"looked_{side}"]
        self.near.place = state[f"near_{side}_place"]
        self.near.kept = state[f"near_{side}_kept"]


def placed(cloud: Cloud, settings: Settings) -> Rows:
    """The rows of a cloud where views are matched: as they are, or on a torch device, whole where they fit."""
    if settings.device == "cpu":
        return cloud
    from veclink.matching.torch_backend import DeviceRows, free_memory, torch_device

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
        self.seeds = seeds
        self.cloud = cloud
        self.rows = rows
        _, dimension = cloud.shape
        self.shape = (len(seeds) + len(rows), int(dimension))

    def block(self, start: int, stop: int) -> Array:
        """Vectors start…stop−1."""
        return self.take(np.arange(start, stop))

    def take(self, positions: np.ndarray) -> Array:
        """The vectors at these positions, the seeds among them first."""
        n_seeds = len(self.seeds)
        is_seed = positions < n_seeds
        linked = self.rows[positions[~is_seed] - n_seeds]
        of_cloud = self.cloud.take(linked)
        of_seeds = asarray(self.seeds[positions[is_seed]], of_cloud)
        return concat([of_seeds, of_cloud])


class Neighbours:
    """The nearest rows of a cloud to some of its rows, or to other vectors: searched once, then kept."""

    def __init__(self, cloud: Rows, count: int) -> None:
        n = cloud.shape[0]
        self.cloud = cloud
        self.count = min(count, n)
        self.place = np.full(n, -1, np.int64)
        self.kept = np.empty((0, self.count), np.int32)

    def search(self, rows: np.ndarray) -> None:
        """Search those of the rows that were not searched yet, and keep their neighbours."""
        unknown = self.place[rows] < 0
        new = np.unique(rows[unknown])
        if not len(new):
            return
        first = len(self.kept)
        self.place[new] = first + np.arange(len(new))
        parts = [self.kept]
        for start, stop in tiles(len(new), BLOCK):
            vectors = self.cloud.take(new[start:stop])
            parts.append(self.of_vectors(vectors))
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
        drawn = rng.choice(n, max(KMEANS_LINKS, count), replace=False)
        fitted = np.sort(drawn)
    centres = spherical_kmeans(vectors.take(fitted), count, KMEANS_STEPS, rng)
    nearest = np.empty((n, CLUSTERS_PER_LINK), np.int64)
    at_once = max(1, cosines_at_once(centres) // count)
    for start, stop in tiles(n, at_once):
        block = vectors.block(start, stop)
        # one line: a name would keep what this block found until the next one is done
        nearest[start:stop] = to_numpy(largest(block @ centres.T, CLUSTERS_PER_LINK))
    # Positions by cluster, ascending in each.
    clusters = nearest.ravel()
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters, minlength=count)
    ends = np.cumsum(sizes)[:-1]
    views = np.split(order // CLUSTERS_PER_LINK, ends)
    return [view for view in views if len(view)]


def _hash(points: Array, anchors: Array, encoding: str) -> Array:
    r = distances(points, anchors)
    return signature(r, spaced(r), encoding)


def distances(points: Array, anchors: Array) -> Array:
    """`signatures.distances` of numpy or of torch."""
    if is_numpy(points):
        return signatures.distances(points, anchors)
    cosine = doubles(points) @ doubles(anchors).T
    return floats((1.0 - cosine).clip(0.0))
