"""What the neighbourhood says about a pair: the paper's local isometry, tested directly, and the density of both."""

from __future__ import annotations

import numpy as np

from veclink.geometry.rows import CloudRows

NEAREST = 20
DENSITY_NEAREST = 10
DENSITY_SAMPLE = 4096
NEAREST_LINKS = 3
BLOCK = 256  # rows at a time: their similarities to a pool of thousands are the largest thing here


def local_agreement(
    a: CloudRows, b: CloudRows, pool: np.ndarray, rows_a: np.ndarray, rows_b: np.ndarray, *, nearest: int = NEAREST
) -> tuple[np.ndarray, np.ndarray]:
    """How alike the linked points around u and around v are, for each pair (u, v): correlation and overlap, (c,) each.

    Of the links in the pool that hold neither u nor v, take the `nearest` to u and the `nearest` to v: the correlation
    of u's similarities to them with v's to their partners, and the share that is in both.
    """
    nearest = min(nearest, max(len(pool) - 2, 1))
    linked_a, linked_b = a.take(pool[:, 0]), b.take(pool[:, 1])
    correlation, overlap = np.empty(len(rows_a), np.float32), np.empty(len(rows_a), np.float32)
    for start in range(0, len(rows_a), BLOCK):
        here = slice(start, start + BLOCK)
        near_a, near_b = a.take(rows_a[here]) @ linked_a.T, b.take(rows_b[here]) @ linked_b.T
        own = (pool[:, 0] == rows_a[here, None]) | (pool[:, 1] == rows_b[here, None])
        near_a[own], near_b[own] = -2.0, -2.0
        both = np.hstack([np.argpartition(-near, nearest - 1, axis=1)[:, :nearest] for near in (near_a, near_b)])
        of_a, of_b = np.take_along_axis(near_a, both, axis=1), np.take_along_axis(near_b, both, axis=1)
        there = (of_a > -1.5) & (of_b > -1.5)
        correlation[here] = _correlation(of_a, of_b, there)
        ordered = np.sort(both, axis=1)
        overlap[here] = (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1) / nearest
    return correlation, overlap


def own_density(cloud: CloudRows, rng: np.random.Generator, most: int = DENSITY_SAMPLE) -> np.ndarray:
    """Standardised mean similarity of each row to its nearest others among at most `most` rows of its own cloud."""
    n = cloud.shape[0]
    sample = np.sort(rng.permutation(n)[:most])
    others = cloud.take(sample)
    k = min(DENSITY_NEAREST, len(sample) - 1)
    density = np.empty(n, np.float32)
    place = np.full(n, -1)
    place[sample] = np.arange(len(sample))
    for start in range(0, n, BLOCK):
        near = cloud.block(start, min(start + BLOCK, n)) @ others.T
        own = place[start : start + BLOCK]
        near[np.flatnonzero(own >= 0), own[own >= 0]] = -2.0
        density[start : start + BLOCK] = np.partition(near, len(sample) - k, axis=1)[:, len(sample) - k :].mean(axis=1)
    return (density - density.mean()) / max(float(density.std()), 1e-9)


def nearest_links(a: CloudRows, b: CloudRows, pairs: np.ndarray, pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The links of the pool nearest to each pair, itself left out, by the mean similarity on both sides.

    Positions in the pool (p, 3) and the similarities, nearest first; fewer columns where the pool has fewer.
    """
    count = min(NEAREST_LINKS, max(len(pool) - 1, 0))
    linked_a, linked_b = a.take(pool[:, 0]), b.take(pool[:, 1])
    rows, similarity = np.empty((len(pairs), count), np.int64), np.empty((len(pairs), count), np.float32)
    for start in range(0, len(pairs), BLOCK):
        here = slice(start, start + BLOCK)
        near = a.take(pairs[here, 0]) @ linked_a.T
        near += b.take(pairs[here, 1]) @ linked_b.T
        near /= 2
        near[(pool[:, 0] == pairs[here, :1]) | (pool[:, 1] == pairs[here, 1:])] = -2.0
        nearest = np.argpartition(-near, count, axis=1)[:, :count] if count else rows[here]
        similar = np.take_along_axis(near, nearest, axis=1)
        order = np.lexsort((nearest, -similar), axis=1)
        rows[here], similarity[here] = np.take_along_axis(nearest, order, 1), np.take_along_axis(similar, order, 1)
    return rows, similarity


def _correlation(x: np.ndarray, y: np.ndarray, there: np.ndarray) -> np.ndarray:
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    x = np.where(there, x - np.where(there, x, 0).sum(axis=1, keepdims=True) / count, 0)
    y = np.where(there, y - np.where(there, y, 0).sum(axis=1, keepdims=True) / count, 0)
    return (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1) + 1e-9)
