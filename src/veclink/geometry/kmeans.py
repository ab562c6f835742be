"""Spherical k-means: clusters of unit vectors by cosine."""

from __future__ import annotations

import numpy as np

from veclink.geometry.rows import tiles
from veclink.geometry.signatures import unit_rows

COSINES = 1 << 21  # of vectors to centres at a time: the largest thing here


def spherical_kmeans(vectors: np.ndarray, count: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Centres of clusters of unit vectors, from randomly chosen vectors on.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    count : int
        Clusters, at most n. One that loses all its vectors keeps its centre.
    steps : int

    Returns
    -------
    ndarray of shape (count, d)
        Of unit length.
    """
    centres = vectors[rng.choice(len(vectors), count, replace=False)]
    for _ in range(steps):
        nearest = _nearest_centre(vectors, centres)
        order = np.argsort(nearest, kind="stable")
        taken, first = np.unique(nearest[order], return_index=True)
        centres[taken] = unit_rows(np.add.reduceat(vectors[order], first, axis=0))
    return centres


def _nearest_centre(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    nearest = np.empty(len(vectors), np.int64)
    for start, stop in tiles(len(vectors), max(1, COSINES // len(centres))):
        nearest[start:stop] = np.argmax(vectors[start:stop] @ centres.T, axis=1)
    return nearest
