"""Nearest neighbours by brute force, what surrounds a row, and groups: clusters, components of a graph, copies.

Clouds are rows of numpy or on a torch device. Every product runs where they lie, and what comes back is numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from veclink.geometry.arrays import (
    DEVICE_NUMBERS,
    Array,
    Rows,
    along_rows,
    asarray,
    is_numpy,
    namespace,
    order_of,
    tiles,
    to_numpy,
)
from veclink.geometry.clouds import LEAST_ROWS, Cloud
from veclink.geometry.signatures import unit_rows
from veclink.threads import ROWS_AT_ONCE, share

EXCLUDED = -2.0  # below any cosine: what a row must not find
# Neighbours that a density is taken over, as csls takes it, and rows that they are looked for among. The sample: origin
# not recorded.
DENSITY_NEAREST = 10
DENSITY_SAMPLE = 4096


def largest(similarity: Array, count: int) -> Array:
    """Columns of the `count` largest similarities in each row.

    Parameters
    ----------
    similarity : array of shape (n, m)
        Of numpy or torch.
    count : int
        From 1 to m.

    Returns
    -------
    array of shape (n, count)
        In no order (numpy), or the largest first (torch).
    """
    if is_numpy(similarity):
        return np.argpartition(-similarity, count - 1, axis=1)[:, :count]
    return similarity.topk(count, dim=1).indices


def largest_values(similarity: Array, count: int) -> Array:
    """The `count` largest similarities (n, count) in each row of (n, m), or all if there are fewer; in no order."""
    columns = similarity.shape[1]
    count = min(count, columns)
    if is_numpy(similarity):
        return np.partition(similarity, columns - count, axis=1)[:, columns - count :]
    return similarity.topk(count, dim=1).values


def spherical_kmeans(vectors: Array, count: int, steps: int, rng: np.random.Generator) -> Array:
    """Centres of clusters of unit vectors, from randomly chosen vectors on.

    Parameters
    ----------
    vectors : array of shape (n, d)
        Of numpy or torch.
    count : int
        Clusters, at most n. One that loses all its vectors keeps its centre.
    steps : int

    Returns
    -------
    array of shape (count, d)
        Of unit length, where the vectors are.
    """
    centres = vectors[asarray(rng.choice(len(vectors), count, replace=False), vectors)]
    for _ in range(steps):
        nearest = nearest_centre(vectors, centres)
        order = order_of(nearest)
        if is_numpy(vectors):
            taken, first = np.unique(nearest[order], return_index=True)
            centres[taken] = unit_rows(np.add.reduceat(vectors[order], first, axis=0))
            continue
        torch = namespace(vectors)  # summed in a fixed order too: the same clusters on every run
        lengths = torch.bincount(nearest, minlength=count)
        sums = torch.segment_reduce(vectors[order], "sum", lengths=lengths)
        centres[lengths > 0] = unit_rows(sums)[lengths > 0]
    return centres


def cosines_at_once(like: Array) -> int:
    """How many cosines of vectors to centres are held where `like` is."""
    return 1 << 21 if is_numpy(like) else DEVICE_NUMBERS


def nearest_centre(vectors: Array, centres: Array) -> Array:
    """Position of the centre that is nearest to each vector by cosine, (n,)."""
    at_once = max(1, cosines_at_once(vectors) // len(centres))
    parts = [(vectors[start:stop] @ centres.T).argmax(axis=1) for start, stop in tiles(len(vectors), at_once)]
    return namespace(vectors).concatenate(parts)


def components(n: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A label (n,), the lowest node, for the connected component of each of n nodes.

    source, target (m,): the ends of the edges. Labels sink along edges until none moves.
    """
    label = np.arange(n)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, source, label[target])
        np.minimum.at(lowest, target, label[source])
        # a label points at a node that may have sunk itself: following it spares many rounds
        lowest = lowest[lowest]
        if np.array_equal(lowest, label):
            return label
        label = lowest


def local_agreement(
    a: Rows, b: Rows, pool: np.ndarray, rows_a: np.ndarray, rows_b: np.ndarray, *, nearest: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """How alike the linked points around u and around v are, for each pair (u, v): the paper's local isometry.

    Of the links in the pool that hold neither u nor v, take the `nearest` to u and the `nearest` to v: the correlation
    of u's similarities to them with v's to their partners, and the share that is in both. In the first trials they were
    20 and 60, where a regression with labels showed what evidence is worth (scifact and nfcorpus, minilm–mpnet, 15 %
    shared).

    Parameters
    ----------
    a, b : Rows of shape (n_a, d_a), (n_b, d_b)
        Unit vectors.
    pool : ndarray of shape (m, 2)
        Links.
    rows_a, rows_b : ndarray of shape (c,)
        The pairs.

    Returns
    -------
    correlation, overlap : ndarray of shape (c,), float32
    """
    nearest = min(nearest, max(len(pool) - 2, 1))
    linked = a.take(pool[:, 0]), b.take(pool[:, 1])
    correlation, overlap = np.empty((2, len(rows_a)), np.float32)

    def compare(start: int, stop: int) -> None:
        near_a, near_b = _similarities((a, b), linked, pool, (rows_a[start:stop], rows_b[start:stop]))
        best_a, best_b = largest(near_a, nearest), largest(near_b, nearest)
        both = namespace(best_a).concatenate((best_a, best_b), 1)
        of_a, of_b = along_rows(near_a, both), along_rows(near_b, both)
        there = (of_a > EXCLUDED + 0.5) & (of_b > EXCLUDED + 0.5)
        in_both = best_a[:, :, None] == best_b[:, None, :]
        overlap[start:stop] = to_numpy(in_both.sum(axis=(1, 2)) / nearest)
        xp, count = namespace(there), there.sum(axis=1, keepdims=True).clip(1)
        x, y = (
            xp.where(there, side - xp.where(there, side, 0).sum(axis=1, keepdims=True) / count, 0)
            for side in (of_a, of_b)
        )
        scale = xp.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1) + 1e-9)
        correlation[start:stop] = to_numpy((x * y).sum(axis=1) / scale)

    _for_blocks(compare, len(rows_a), linked[0], 4 * len(pool))
    return correlation, overlap


def own_density(cloud: Rows, rng: np.random.Generator, most: int = DENSITY_SAMPLE) -> np.ndarray:
    """Standardised mean similarity (n,) of each row to its nearest others among at most `most` rows of its cloud."""
    n = cloud.shape[0]
    sample = np.sort(rng.permutation(n)[:most])
    others = cloud.take(sample)
    k = min(DENSITY_NEAREST, len(sample) - 1)
    density = np.empty(n, np.float32)
    position = np.full(n, -1)
    position[sample] = np.arange(len(sample))

    def look(start: int, stop: int) -> None:
        near = cloud.block(start, stop) @ others.T
        own = np.flatnonzero(position[start:stop] >= 0)
        near[asarray(own, near), asarray(position[start + own], near)] = EXCLUDED
        density[start:stop] = to_numpy(largest_values(near, k).mean(axis=1))

    _for_blocks(look, n, others, len(sample))
    return (density - density.mean()) / max(float(density.std()), 1e-9)


def nearest_links(
    a: Rows, b: Rows, pairs: np.ndarray, pool: np.ndarray, most: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """The links of the pool nearest to each pair, itself left out, by the mean similarity on both sides.

    Returns
    -------
    position : ndarray of shape (p, most), int64
        In the pool, nearest first; fewer columns where the pool has fewer.
    similarity : ndarray of shape (p, most), float32
    """
    count = min(most, max(len(pool) - 1, 0))
    position, similarity = np.empty((len(pairs), count), np.int64), np.empty((len(pairs), count), np.float32)
    if not count:
        return position, similarity
    linked = a.take(pool[:, 0]), b.take(pool[:, 1])

    def look(start: int, stop: int) -> None:
        near, near_b = _similarities((a, b), linked, pool, pairs[start:stop].T)
        near += near_b
        near /= 2
        column = largest(near, count)
        found, similar = to_numpy(column), to_numpy(along_rows(near, column))
        order = np.lexsort((found, -similar), axis=1)
        position[start:stop], similarity[start:stop] = along_rows(found, order), along_rows(similar, order)

    _for_blocks(look, len(pairs), linked[0], 4 * len(pool))
    return position, similarity


def _similarities(
    clouds: tuple[Rows, Rows], linked: tuple[Array, Array], pool: np.ndarray, pairs: Sequence[np.ndarray] | np.ndarray
) -> tuple[Array, Array]:
    """Of pairs of rows (2, p) to the links of a pool (m, 2), whose vectors are `linked`, on either side: (p, m).

    Links that share a row with a pair are excluded.
    """
    near_a, near_b = (cloud.take(rows) @ of.T for cloud, rows, of in zip(clouds, pairs, linked, strict=True))
    same_a, same_b = (
        asarray(own, near_a) == asarray(rows, near_a)[:, None] for own, rows in zip(pool.T, pairs, strict=True)
    )
    near_a[same_a | same_b] = near_b[same_a | same_b] = EXCLUDED
    return near_a, near_b


def _for_blocks(work: Callable[[int, int], None], n: int, like: Array, columns: int) -> None:
    """Runs work(start, stop) for all blocks of n rows: in numpy on several threads, on a device one by one."""
    if is_numpy(like):
        share(work, n)
        return
    for start, stop in tiles(n, max(1, DEVICE_NUMBERS // columns)):
        work(start, stop)


COPY_GAP = 0.16
"""Rows are copies when 1 − cosine is at most this part of what 80 % of the rows have to their nearest row.

Chosen on scifact, reddit and movies (minilm, mpnet, e5, granite): copies turned by up to 0.12 of the typical gap are
all found, and of rows that are not copies 1 in 1,000 is as near (scifact, mpnet).
"""

VALLEY = (1.5, 5)
"""Near copies are a bump in the distribution of gaps: at least so many times (5) as many rows as there are beyond the
limit, up to so many times (1.5) as far. In few dimensions gaps have no valley, and near neighbours are no copies."""

SAME = 1e-5
"""1 − cosine of rows that are equal, but for rounding."""

MOST_COMPARED = 20_000
"""Rows of a cloud up to which each is compared with all others; of more, only equal ones are found."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows of a cloud stand for the same object."""

    first: np.ndarray  # (n,) of each row, the first row of its group: itself, where it has no copies or is the first

    @property
    def chosen(self) -> np.ndarray:
        """The rows that stand for their groups, ascending: (g,)."""
        return np.flatnonzero(self.first == np.arange(len(self.first)))

    @property
    def copies(self) -> int:
        """How many rows are left out."""
        return len(self.first) - len(self.chosen)

    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows sorted by group, (n,), and where each row's group starts and ends in that: (n, 2)."""
        order = np.argsort(self.first, kind="stable")
        sorted_first = self.first[order]
        ends = [np.searchsorted(sorted_first, self.first, side=side) for side in ("left", "right")]
        return order, np.column_stack(ends)


def copy_groups(cloud: Cloud) -> Groups:
    """The groups of copies among the rows of a cloud.

    A copy is a rival that is as right as the partner itself: it takes the lead away from the links of its object, and
    from the decoys' rate that of everyone's. So one row of each group is linked.
    """
    every = first = np.arange(len(cloud))
    if len(cloud) > MOST_COMPARED:
        first = _equal_rows(cloud)
    else:
        points = cloud.block(0, len(cloud))
        nearest, one_at_a_time = np.full(len(points), EXCLUDED, np.float32), Lock()

        def look(start: int, stop: int) -> None:
            # Every pair once: of rows before these, the cosines are known from their own blocks.
            cosine = points[start:stop] @ points[start:].T
            own = np.arange(len(cosine))
            cosine[own, own] = EXCLUDED
            of_rows, of_columns = cosine.max(axis=1), cosine.max(axis=0)
            with one_at_a_time:
                np.maximum(nearest[start:stop], of_rows, out=nearest[start:stop])
                np.maximum(nearest[start:], of_columns, out=nearest[start:])

        share(look, len(points))
        gaps = 1 - nearest  # of each row to its nearest other row
        limit = max(COPY_GAP * float(np.quantile(gaps, 0.8)), SAME)
        as_far, times = VALLEY
        below = np.count_nonzero(gaps <= limit)
        if below <= times * (np.count_nonzero(gaps <= as_far * limit) - below):
            limit = SAME
        # rows within the limit of each other are joined, and those of those
        copied = np.flatnonzero(gaps <= limit)
        for start, stop in tiles(len(copied), ROWS_AT_ONCE):
            row, other = np.nonzero(points[copied[start:stop]] @ points[copied].T >= 1 - limit)
            first = components(len(every), np.r_[every, copied[start + row]], np.r_[first, copied[other]])
    groups = Groups(first)
    return groups if len(groups.chosen) >= LEAST_ROWS else Groups(every)


def without_copies(cloud: Cloud, groups: Groups) -> Cloud:
    """The cloud of one row for each group; its mean stays that of all."""
    if not groups.copies:
        return cloud
    return Cloud(cloud.collection, cloud.rows[groups.chosen], cloud.mean)


def _equal_rows(cloud: Cloud) -> np.ndarray:
    """The first row that each row is equal to, to the last bit of what the collection holds: (n,)."""
    _, group, counts = np.unique(_hashes(cloud), return_inverse=True, return_counts=True)
    first = np.arange(len(cloud))
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[group] > 1).tolist():
        first[row] = seen.setdefault(cloud.collection.vectors[cloud.rows[row]].tobytes(), row)
    return first


def _hashes(cloud: Cloud) -> np.ndarray:
    """A number for each row, (n,) uint64: the same for equal rows, nearly always another for others."""
    vectors = cloud.collection.vectors
    factors = np.random.default_rng(0).integers(1, 2**63, vectors.shape[1]).astype(np.uint64)
    hashes = np.empty(len(cloud), np.uint64)

    def look(start: int, stop: int) -> None:
        rows = np.ascontiguousarray(vectors[cloud.rows[start:stop]])
        hashes[start:stop] = rows.view(f"u{rows.itemsize}").astype(np.uint64) @ factors

    share(look, len(cloud), step=4096)
    return hashes
