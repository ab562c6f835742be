"""Neighbourhood features of a pair: the paper's local isometry, tested directly, and the density of both sides.

The clouds are rows of numpy or on a torch device; every product runs where they lie, and what comes back is numpy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veclink.geometry.arrays import Array, along_rows, asarray, concat, is_numpy, namespace, sorted_rows, to_numpy
from veclink.geometry.nearest import EXCLUDED, largest, largest_values
from veclink.geometry.rows import Rows, tiles
from veclink.threads import share

# Links around a pair that it is compared by. They were 20 and 60 in the first trials, where a regression with labels
# showed what evidence is worth (scifact and nfcorpus, minilm–mpnet, 15 % shared).
NEAREST = 20
# Neighbours that a density is taken over, as csls takes it, and rows that they are looked for among. The sample: origin
# not recorded.
DENSITY_NEAREST = 10
DENSITY_SAMPLE = 4096
NEAREST_LINKS = 3  # that an explanation names
BLOCK = 256  # rows at a time: their similarities to a pool of thousands are the largest thing here
DEVICE_NUMBERS = 1 << 28  # in all similarities that a torch device holds at once


def local_agreement(
    a: Rows, b: Rows, pool: np.ndarray, rows_a: np.ndarray, rows_b: np.ndarray, *, nearest: int = NEAREST
) -> tuple[np.ndarray, np.ndarray]:
    """How alike the linked points around u and around v are, for each pair (u, v).

    Of the links in the pool that hold neither u nor v, take the `nearest` to u and the `nearest` to v: the correlation
    of u's similarities to them with v's to their partners, and the share that is in both.

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
    links = _Links(a, b, pool)
    correlation = np.empty(len(rows_a), np.float32)
    overlap = np.empty(len(rows_a), np.float32)

    def compare(start: int, stop: int) -> None:
        near_a, near_b = links.similarities(rows_a[start:stop], rows_b[start:stop])
        both = concat([largest(near, nearest) for near in (near_a, near_b)], axis=1)
        of_a, of_b = along_rows(near_a, both), along_rows(near_b, both)
        there = (of_a > EXCLUDED + 0.5) & (of_b > EXCLUDED + 0.5)
        ordered = sorted_rows(both)
        overlap[start:stop] = to_numpy((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1) / nearest)
        correlation[start:stop] = to_numpy(_correlation(of_a, of_b, there))

    _for_blocks(compare, len(rows_a), links.linked_a, links.at_once)
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

    _for_blocks(look, n, others, _at_once(others, len(sample)))
    return (density - density.mean()) / max(float(density.std()), 1e-9)


def nearest_links(a: Rows, b: Rows, pairs: np.ndarray, pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The links of the pool nearest to each pair, itself left out, by the mean similarity on both sides.

    Returns
    -------
    position : ndarray of shape (p, 3), int64
        In the pool, nearest first; fewer columns where the pool has fewer.
    similarity : ndarray of shape (p, 3), float32
    """
    count = min(NEAREST_LINKS, max(len(pool) - 1, 0))
    position = np.empty((len(pairs), count), np.int64)
    similarity = np.empty((len(pairs), count), np.float32)
    if not count:
        return position, similarity
    links = _Links(a, b, pool)
    for start, stop in tiles(len(pairs), links.at_once):
        near, near_b = links.similarities(pairs[start:stop, 0], pairs[start:stop, 1])
        near += near_b
        near /= 2
        found = largest(near, count)
        similar = to_numpy(along_rows(near, found))
        found = to_numpy(found)
        order = np.lexsort((found, -similar), axis=1)
        position[start:stop] = along_rows(found, order)
        similarity[start:stop] = along_rows(similar, order)
    return position, similarity


class _Links:
    """The links of a pool, which other pairs are compared with."""

    def __init__(self, a: Rows, b: Rows, pool: np.ndarray) -> None:
        self.a = a
        self.b = b
        self.linked_a = a.take(pool[:, 0])
        self.linked_b = b.take(pool[:, 1])
        self.rows_a = asarray(pool[:, 0], self.linked_a)
        self.rows_b = asarray(pool[:, 1], self.linked_b)
        self.at_once = _at_once(self.linked_a, 4 * len(pool))

    def similarities(self, rows_a: np.ndarray, rows_b: np.ndarray) -> tuple[Array, Array]:
        """Of pairs (p,) to the links (m,), on either side: (p, m); links that share a row with a pair are excluded."""
        near_a = self.a.take(rows_a) @ self.linked_a.T
        near_b = self.b.take(rows_b) @ self.linked_b.T
        same_a = self.rows_a == asarray(rows_a, near_a)[:, None]
        same_b = self.rows_b == asarray(rows_b, near_b)[:, None]
        shared = same_a | same_b
        near_a[shared] = EXCLUDED
        near_b[shared] = EXCLUDED
        return near_a, near_b


def _for_blocks(work: Callable[[int, int], None], n: int, like: Array, at_once: int) -> None:
    """Runs work(start, stop) for all blocks of n rows: in numpy on several threads, on a device one by one."""
    if is_numpy(like):
        share(work, n, step=at_once)
        return
    for start, stop in tiles(n, at_once):
        work(start, stop)


def _at_once(x: Array, columns: int) -> int:
    return BLOCK if is_numpy(x) else max(1, DEVICE_NUMBERS // columns)


def _correlation(x: Array, y: Array, there: Array) -> Array:
    xp = namespace(x)
    where = xp.where
    count = there.sum(axis=1, keepdims=True)
    count = where(count < 1, 1, count)
    x = where(there, x - where(there, x, 0).sum(axis=1, keepdims=True) / count, 0)
    y = where(there, y - where(there, y, 0).sum(axis=1, keepdims=True) / count, 0)
    return (x * y).sum(axis=1) / xp.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1) + 1e-9)
