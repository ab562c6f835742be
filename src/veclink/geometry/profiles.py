"""Profiles: what a point looks like to its own cloud, comparable across two embedding spaces without any anchor.

A point's similarities to its own cloud, sorted, say how dense the cloud is around it at every scale; the same for its
neighbours, and for theirs, tells it from other points of the same density.
"""

from __future__ import annotations

import numpy as np

from veclink.geometry.nearest import largest
from veclink.geometry.rows import tiles
from veclink.geometry.signatures import unit_rows

# Ranks that similarities are read at, neighbours that a hop averages, and the weight of a hop: from the first trials of
# linking without seeds (scifact and nfcorpus, three pairs of encoders, 15 to 50 % shared).
RANKS = 64
NEIGHBOURS = 15
HOP_WEIGHT = 0.7
# Leading principal components that are kept. Origin not recorded.
COMPONENTS = 16
BLOCK = 1024  # rows at a time


def paired_profiles(a: np.ndarray, b: np.ndarray, *, hops: int, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Profiles of the rows of two clouds of unit vectors, (n, 16) float32 of unit length, in one basis.

    The 16 leading principal components of both clouds' profiles together, each divided by the root of its variance plus
    `ridge` times the mean variance: most of the numbers in a profile say the same thing, and would drown the rest.
    """
    left, right = profiles(a, hops), profiles(b, hops)
    both = np.concatenate([left, right]).astype(np.float64)
    values, axes = np.linalg.eigh(both.T @ both / len(both))
    values, axes = np.maximum(values, 0.0), axes[:, -COMPONENTS:]
    spread = np.maximum(values[-COMPONENTS:] + ridge * values.mean(), 1e-12)  # 0 where all rows are alike
    basis = (axes / np.sqrt(spread)).astype(np.float32)
    return unit_rows(left @ basis), unit_rows(right @ basis)


def profiles(points: np.ndarray, hops: int) -> np.ndarray:
    """Profiles (n, 64·(hops + 1)) float32 of the rows of a cloud of unit vectors.

    The first 64 numbers are a row's similarities to its cloud, sorted and read at log-spaced ranks; each hop adds the
    mean profile of its 15 nearest neighbours, of their neighbours, and so on, with weight 0.7 to the power of the hop.
    Every number is standardised over the cloud, so that the models' own scales of similarity do not matter.
    """
    own, nearest = _read(points)
    parts = [_standard(own)]
    for _ in range(hops):
        parts.append(_standard(parts[-1][nearest].mean(axis=1)))
    return np.hstack([HOP_WEIGHT**hop * part for hop, part in enumerate(parts)]).astype(np.float32)


def _read(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each point's similarities to the others at log-spaced ranks, and the rows of its nearest neighbours."""
    n = len(points)
    n_near = min(NEIGHBOURS, n - 1)
    ranks = np.geomspace(1, n - 1, RANKS).astype(np.int64)  # rank 0 is the point itself
    own = np.empty((n, RANKS), np.float32)
    nearest = np.empty((n, n_near), np.int64)
    for start, stop in tiles(n, BLOCK):
        rows = np.arange(start, stop)
        cosine = points[rows] @ points.T
        cosine[np.arange(len(rows)), rows] = 2.0  # first in the order, even among duplicates
        near = largest(cosine, n_near + 1)
        nearest[rows] = near[near != rows[:, None]].reshape(len(rows), n_near)
        cosine.sort(axis=1)
        own[rows] = cosine[:, -1 - ranks]
    return own, nearest


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
