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
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from veclink.geometry.arrays import Array, asarray, is_numpy, to_numpy
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import cosines_at_once, largest, nearest_rows, spherical_kmeans
from veclink.geometry.rows import Rows, tiles
from veclink.geometry.signatures import distances
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh import CLUSTERS_PER_LINK, KMEANS_LINKS, KMEANS_STEPS
from veclink.linkers.geh.views import BLOCK, Proposal, Round, Settings, block_of, ends_at, links_of_view, spaced

Ends = Callable[[np.ndarray], Array]
"""The vectors on one side at positions among seeds, then links."""


class LocalPath:
    """Views of neighbouring links, each matched over the rows around them."""

    def __init__(self, a: Cloud, b: Cloud, anchors: Anchors, settings: Settings) -> None:
        self.settings = settings
        self.seeds = anchors.left, anchors.right
        count = settings.options.neighbours
        self.near = Neighbours(settings.placed(a), count), Neighbours(settings.placed(b), count)
        self.near_seeds = [near.of_vectors(seeds) for near, seeds in zip(self.near, self.seeds, strict=True)]

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        left, right = (
            partial(ends_at, near.cloud, seeds, near.searched(linked))
            for near, seeds, linked in zip(self.near, self.seeds, pool.T, strict=True)
        )
        options, n_seeds = self.settings.options, len(self.seeds[0])
        most = options.links_per_view or max(seeds.shape[1] for seeds in self.seeds)
        views = clustered(n_seeds + len(pool), left, most, rng)
        if options.seeds_in_views:
            views = [np.union1d(np.arange(n_seeds), view) for view in views]
        anchors = round(sum(map(len, views)) / len(views))
        return Round(len(views), anchors, self._proposals((left, right), pool, views))

    def _proposals(self, ends: tuple[Ends, Ends], pool: np.ndarray, views: list[np.ndarray]) -> Iterator[Proposal]:
        """What each view of seeds and links proposes."""
        n_seeds = len(self.seeds[0])
        for view in views:
            links = links_of_view(view, pool, n_seeds)
            looked, hashes = [], []
            for near, near_seeds, linked, of in zip(self.near, self.near_seeds, links.T, ends, strict=True):
                rows = np.union1d(near_seeds[view[view < n_seeds]], near.of_rows(linked))
                r = distances(near.cloud.take(rows), of(view))
                looked.append(rows)
                hashes.append(self.settings.hashed(r, spaced(r, self.settings.options.width_rows)))
            found, score = self.settings.mutual(hashes[0], hashes[1])
            pairs = np.column_stack([looked[0][found[:, 0]], looked[1][found[:, 1]]])
            yield Proposal(pairs, score, links, (looked[0], looked[1]))


class Neighbours:
    """The nearest rows of a cloud to some of its rows, or to other vectors: searched once, then kept."""

    def __init__(self, cloud: Rows, count: int) -> None:
        n = cloud.shape[0]
        self.cloud, self.count = cloud, min(count, n)
        self.place = np.full(n, -1, np.int64)
        self.kept = np.empty((0, self.count), np.int32)

    def searched(self, rows: np.ndarray) -> np.ndarray:
        """The same rows, once the neighbours of those that were not searched yet are kept."""
        new = np.unique(rows[self.place[rows] < 0])
        if len(new):
            self.place[new] = len(self.kept) + np.arange(len(new))
            found = [self.of_vectors(self.cloud.take(new[start:stop])) for start, stop in tiles(len(new), BLOCK)]
            self.kept = np.concatenate([self.kept, *found])
        return rows

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """(m, count) rows, in no order; a row is its own neighbour."""
        place = self.place[self.searched(rows)]
        return self.kept[place]

    def of_vectors(self, vectors: Array) -> np.ndarray:
        """(m, count) rows, in no order."""
        first = self.cloud.block(0, 1)
        queries = asarray(vectors, first) if is_numpy(vectors) else vectors
        return nearest_rows(queries, self.cloud, self.count, block=block_of(first))


def clustered(n: int, vectors: Ends, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of n vectors in each of ⌈n / most⌉ clusters by spherical k-means, each in its two nearest.

    vectors: gives those at some positions.
    """
    count = math.ceil(n / most)
    if count == 1:
        return [np.arange(n)]
    fitted = np.arange(n)
    if n > KMEANS_LINKS:
        fitted = np.sort(rng.choice(n, max(KMEANS_LINKS, count), replace=False))
    centres = spherical_kmeans(vectors(fitted), count, KMEANS_STEPS, rng)
    nearest = np.empty((n, CLUSTERS_PER_LINK), np.int64)
    for start, stop in tiles(n, max(1, cosines_at_once(centres) // count)):
        # one line: a name would keep what this block found until the next one is done
        nearest[start:stop] = to_numpy(largest(vectors(np.arange(start, stop)) @ centres.T, CLUSTERS_PER_LINK))
    # Positions by cluster, ascending in each.
    clusters = nearest.ravel()
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.bincount(clusters, minlength=count))[:-1]
    return [view for view in np.split(order // CLUSTERS_PER_LINK, ends) if len(view)]
