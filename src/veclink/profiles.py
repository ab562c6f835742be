"""Profiles: what a point looks like to its own cloud, comparable across two embedding spaces without any anchor.

A point's similarities to its own cloud, sorted, say how dense the cloud is around it at every scale; the same for its
neighbours, and for theirs, tells it from other points of the same density.
"""

from __future__ import annotations

import numpy as np

from veclink.signatures import unit_rows

RANKS = 64
NEIGHBOURS = 15
HOP_WEIGHT = 0.7
MOST_COLUMNS = 4096  # similarities to a sample of the cloud this large place a point well enough
BLOCK = 1024


def profiles(points: np.ndarray, hops: int, rng: np.random.Generator) -> np.ndarray:
    """Unit profiles (n, 64·(hops + 1)) float32 of the rows of a cloud of unit vectors.

    The first 64 numbers are a row's similarities to its cloud, sorted and read at log-spaced ranks; each hop adds the
    mean profile of its 15 nearest neighbours, of their neighbours, and so on, with weight 0.7 to the power of the hop.
    Every number is standardised over the cloud, so that two models' scales of similarity do not matter.
    """
    n = len(points)
    columns = np.arange(n) if n <= MOST_COLUMNS else np.sort(rng.choice(n, MOST_COLUMNS, replace=False))
    own, nearest = _read(points, points[columns])
    parts = [_standard(own)]
    for hop in range(1, hops + 1):
        last = parts[-1]
        parts.append(_standard(last[columns][nearest].mean(axis=1)))
    joined = np.hstack([np.float32(HOP_WEIGHT**hop) * part for hop, part in enumerate(parts)])
    return unit_rows(joined.astype(np.float32))


def _read(points: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of each point at log-spaced ranks among the others, and the places of its nearest others."""
    n_near = min(NEIGHBOURS, len(others) - 1)
    # Rank 0 is the point itself, or stands in for it where it is not among the others.
    ranks = np.unique(np.geomspace(1, len(others) - 1, RANKS).astype(np.int64))
    ranks = ranks[np.linspace(0, len(ranks) - 1, RANKS).astype(np.int64)]
    own = np.empty((len(points), RANKS), np.float32)
    nearest = np.empty((len(points), n_near), np.int64)
    for start in range(0, len(points), BLOCK):
        cosine = points[start : start + BLOCK] @ others.T
        near = np.argpartition(-cosine, n_near, axis=1)[:, : n_near + 1]
        order = np.argsort(-np.take_along_axis(cosine, near, axis=1), axis=1)[:, 1:]
        nearest[start : start + BLOCK] = np.take_along_axis(near, order, axis=1)
        cosine.sort(axis=1)
        own[start : start + BLOCK] = cosine[:, -1 - ranks]
    return own, nearest


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
