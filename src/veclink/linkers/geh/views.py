"""GEH's views: how many there are, which links each holds, and what each proposes.

A view of the global path looks at all rows. The local path is for clouds of which no view can be matched over all rows:
the views of an iteration are a k-means partition of the links in A's space, ⌈links / links_per_view⌉ clusters, each
link in its two nearest. A view looks only at the rows around its anchors: on either side the union of the nearest
neighbours of its anchors there. Hashing, matching, votes and promotion are the same on both paths.

Everything runs where the rows lie, in numpy or on a torch device. On the local path nothing grows with
links × clusters: links are read in blocks, and of a view its own anchors and rows alone. What the paper leaves open
there:

* A row is looked at by few of the views, so a pair's confidence counts, instead of all views, those that could have
  proposed it: the smaller number of views that either of its rows was in. It is never less than the views that both
  were in, and needs one number per row.
* Nearest neighbours are searched exactly, when a row becomes an anchor for the first time, and kept.
* How many neighbours, and how many links for each cluster: bench/results/experiments/geh_local.json.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.geometry.arrays import Array, Rows, asarray, both, full, is_numpy, namespace, order_of, tiles, to_numpy
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import cosines_at_once, largest, spherical_kmeans
from veclink.geometry.signatures import distances, kernel_hash, kernel_width, unit_rows
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import GehOptions
from veclink.matching import match
from veclink.matching.rankings import Nearest

BLOCK, DEVICE_BLOCK = 8192, 1 << 16  # rows of a cloud at a time, in numpy and on a device

Looked = np.ndarray | slice
"""Rows of one cloud; a slice where they are all."""
Ends = Callable[[np.ndarray], Array]
"""The vectors on one side at positions among seeds, then links."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """What one view proposes."""

    pairs: np.ndarray  # (p, 2) rows of A and of B
    score: np.ndarray  # (p,) their csls
    held: np.ndarray  # (h, 2) the links beyond the seeds that the view holds as anchors
    looked: tuple[Looked, Looked] = (slice(None), slice(None))  # the rows of A and of B that it looks at


@dataclass(frozen=True, eq=False)
class Round:
    """The views of one iteration."""

    views: int  # how many vote
    anchors: int  # in each of them
    proposals: Iterator[Proposal]  # made when asked for
    times: int = 1  # how many equal views each proposal stands for


@dataclass(frozen=True)
class Settings:
    """The options of GEH, the bytes that may be allocated, and the device."""

    options: GehOptions
    budget: int | None = None
    device: str = "cpu"

    def placed(self, cloud: Cloud) -> Rows:
        """The rows of a cloud where views are matched: as they are, or on a torch device, whole where they fit."""
        if self.device == "cpu":
            return cloud
        from veclink.matching.torch_backend import DeviceRows, free_memory, torch_device

        place = torch_device(self.device)
        room = free_memory(place) if self.budget is None else self.budget
        return DeviceRows(cloud, place, room // 4)

    def hashed(self, r: Array, sample: Array) -> Array:
        """Signatures from distances to anchors; the rows of the sample set the width of the kernel."""
        encoding = self.options.encoding
        if encoding == "raw":
            return unit_rows(r)
        width = kernel_width(r[sample])
        return kernel_hash(r, width) if encoding == "kernel" else unit_rows(encoding(r, width))

    def mutual(self, hash_a: Array, hash_b: Array, in_use: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Mutual nearest neighbours of two sets of signatures, and their csls; in_use: bytes beside them."""
        in_use += hash_a.nbytes + hash_b.nbytes
        room = None if self.budget is None else max(self.budget - in_use, 1)
        return match(hash_a, hash_b, k=self.options.k, memory=room, device=self.device).mutual()


class GlobalPath:
    """Views of the links, each matched over all rows."""

    near = ()

    def __init__(self, a: Cloud, b: Cloud, anchors: Anchors, settings: Settings) -> None:
        self.settings = settings
        self.clouds = settings.placed(a), settings.placed(b)
        # The seeds in an order of their own, and the side where they are more spread out.
        given = anchors.left, anchors.right
        far_a, far_b = (distances(side, side).mean(axis=1, dtype=np.float64) for side in given)
        order = np.argsort(far_a + far_b, kind="stable")
        self.seeds = anchors.left[order], anchors.right[order]
        self.turns = 1 if far_a.mean() >= far_b.mean() else -1
        rows = settings.options.width_rows
        self.samples = both(lambda cloud, seeds: spaced(_measured(cloud, seeds), rows), self.clouds, self.seeds)

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        n_seeds, settings = len(self.seeds[0]), self.settings
        every = np.arange(n_seeds + len(pool))
        left, right = (ends_at(*side, every) for side in zip(self.clouds, self.seeds, pool.T, strict=True))
        planned = plan(len(every), n_seeds, settings.options)
        sides = {"a": (left, left), "b": (right, right)}.get(settings.options.view_side, (left, right)[:: self.turns])
        views = draw_views(sides, n_seeds, planned, settings.options, rng, budget=settings.budget)
        # Where all views are the same one, it is matched once and votes for all.
        times = planned[0] // len(views)
        return Round(*planned, self._proposals((left, right), views, pool), times)

    def _proposals(self, ends: tuple[Array, Array], views: list[np.ndarray], pool: np.ndarray) -> Iterator[Proposal]:
        """What each view proposes: distances to all anchors are measured at once where memory allows, else by view."""
        budget, whole, in_use = self.settings.budget, [], 0
        for cloud, anchors in zip(self.clouds, ends, strict=True):
            n_bytes = 4 * cloud.shape[0] * len(anchors)
            fits = budget is None or n_bytes <= budget // 8
            whole.append(_measured(cloud, anchors) if fits else None)
            in_use += n_bytes if fits else 0
        for view in views:
            hashes = []
            for cloud, anchors, r, sample in zip(self.clouds, ends, whole, self.samples, strict=True):
                held = asarray(view, anchors)
                of_view = _measured(cloud, anchors[held]) if r is None else r[:, held]
                hashes.append(self.settings.hashed(of_view, sample))
            found = self.settings.mutual(hashes[0], hashes[1], in_use)
            yield Proposal(*found, links_of_view(view, pool, len(self.seeds[0])))


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
        found = np.empty((len(queries), self.count), np.int32)
        for start, stop in tiles(len(queries), 512):  # their cosines with one block are the largest thing here
            lists = Nearest.none(stop - start, self.count, first)
            for low, high in tiles(self.cloud.shape[0], block_of(first)):
                lists.take_in(queries[start:stop] @ self.cloud.block(low, high).T, 0, low)
            found[start:stop] = to_numpy(lists.index)
        return found


def clustered(n: int, vectors: Ends, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of n vectors in each of ⌈n / most⌉ clusters by spherical k-means, each in its two nearest.

    vectors: gives those at some positions.
    """
    count = math.ceil(n / most)
    if count == 1:
        return [np.arange(n)]
    fitted, most_fitted = np.arange(n), 65_536
    if n > most_fitted:
        fitted = np.sort(rng.choice(n, max(most_fitted, count), replace=False))
    centres = spherical_kmeans(vectors(fitted), count, 10, rng)
    nearest = np.empty((n, 2), np.int64)
    for start, stop in tiles(n, max(1, cosines_at_once(centres) // count)):
        # one line: a name would keep what this block found until the next one is done
        nearest[start:stop] = to_numpy(largest(vectors(np.arange(start, stop)) @ centres.T, 2))
    # Positions by cluster, ascending in each.
    clusters = nearest.ravel()
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.bincount(clusters, minlength=count))[:-1]
    return [view for view in np.split(order // 2, ends) if len(view)]


def plan(n_links: int, n_seeds: int, options: GehOptions) -> tuple[int, int]:
    """Views and anchors per view for this many links: `m = ⌈m0·sf⌉`, `s = ⌈ρ0·|L|/sf⌉`.

    `sf = 1 + c·ln(|L|/|S|)` (1 when frozen) and `m0 = ⌈2/ρ0⌉` unless told; a single view holds all links.
    """
    if options.views == "single":
        return 1, n_links
    scale = 1.0
    if options.schedule == "adaptive":
        scale += options.growth * math.log(n_links / max(n_seeds, 1))
    base = options.base_views or math.ceil(2 / options.share)
    return math.ceil(base * scale), math.ceil(options.share * n_links / scale)


def draw_views(
    sides: tuple[Array, Array],
    n_seeds: int,
    planned: tuple[int, int],
    options: GehOptions,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
) -> list[np.ndarray]:
    """Positions of each view's anchors; one view when all would be the same.

    Parameters
    ----------
    sides : pair of arrays of shape (n, d1) and (n, d2)
        Vectors of seeds, then links, on the sides that furthest points are drawn from by turns.
    n_seeds : int
        How many of them are seeds.
    planned : (int, int)
        Views, and anchors of each.
    budget : int, optional
        Bytes that furthest-point sampling may take.
    """
    count, size = planned
    fixed = 0 if options.seeds_in_views is False else n_seeds
    n_free = len(sides[0]) - fixed
    extra = min(size - fixed, n_free)
    if extra <= 0 or extra == n_free:
        return [np.arange(fixed + max(extra, 0))]
    drawn = np.empty((count, extra), np.int64)
    if options.view_choice == "random":
        for links in drawn:
            links[:] = rng.choice(n_free, extra, replace=False)
    else:
        starts = rng.integers(n_free, size=count)
        for turn, vectors in enumerate(sides):
            drawn[turn::2] = furthest_points(vectors[fixed:], starts[turn::2], extra, budget=budget)
    return [np.concatenate([np.arange(fixed), fixed + links]) for links in drawn]


def furthest_points(vectors: Array, starts: np.ndarray, count: int, *, budget: int | None = None) -> np.ndarray:
    """Furthest-point samples of unit vectors, one for each start, all at once: positions (len(starts), count).

    Each sample begins at its start and takes again and again the vector whose smallest cosine distance to those taken
    is largest (the first of them, when several are). All distances are computed once, unless they exceed a quarter of
    the `budget` of bytes.
    """
    fits = budget is None or 4 * len(vectors) ** 2 <= budget // 4
    apart = to_numpy(distances(vectors, vectors)) if fits else None
    chosen = np.empty((len(starts), count), np.int64)
    chosen[:, 0] = starts
    nearest = np.full((len(starts), len(vectors)), np.inf, np.float32)
    for i in range(1, count):
        newest = chosen[:, i - 1]
        gaps = to_numpy(distances(vectors[asarray(newest, vectors)], vectors)) if apart is None else apart[newest]
        np.minimum(nearest, gaps, out=nearest)
        nearest[np.arange(len(starts)), newest] = -1.0  # below any distance: never taken again, not even a duplicate
        chosen[:, i] = np.argmax(nearest, axis=1)
    return chosen


def links_of_view(view: np.ndarray, pool: np.ndarray, n_seeds: int) -> np.ndarray:
    """The links (h, 2) beyond the seeds that a view of positions among seeds, then links of the pool, holds."""
    return pool[view[view >= n_seeds] - n_seeds]


def ends_at(cloud: Rows, seeds: np.ndarray, linked: np.ndarray, positions: np.ndarray) -> Array:
    """The vectors on one side at positions among seeds (s, d), then linked rows (m,) of a cloud; the seeds first."""
    is_seed = positions < len(seeds)
    of_cloud = cloud.take(linked[positions[~is_seed] - len(seeds)])
    return namespace(of_cloud).concatenate((asarray(seeds[positions[is_seed]], of_cloud), of_cloud))


def spaced(r: Array, count: int) -> Array:
    """So many rows, evenly spaced in the order of their mean distance to the anchors, of the distances (n, s)."""
    order = order_of(r.mean(axis=1))
    spots = np.linspace(0, len(order) - 1, min(count, len(order)))
    return order[asarray(spots.astype(np.int64), order)]


def block_of(like: Array) -> int:
    """How many rows of a cloud are read at a time."""
    return BLOCK if is_numpy(like) else DEVICE_BLOCK


def _measured(cloud: Rows, anchors: Array) -> Array:
    """Distances (n, s) of all rows of a cloud to anchors (s, d)."""
    first = cloud.block(0, 1)
    anchors = asarray(anchors, first) if is_numpy(anchors) else anchors
    r = full((cloud.shape[0], len(anchors)), 0.0, "float32", first)
    for start, stop in tiles(len(r), block_of(r)):
        r[start:stop] = distances(cloud.block(start, stop), anchors)
    return r
