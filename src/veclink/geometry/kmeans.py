"""Spherical k-means: clusters of unit vectors by cosine."""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Array, asarray, concat, is_numpy, namespace
from veclink.geometry.rows import tiles
from veclink.geometry.signatures import SMALLEST_NORM, unit_rows

COSINES = 1 << 21  # of vectors to centres at a time: the largest thing here
DEVICE_COSINES = 1 << 28  # the same on a torch device


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
        move = _move_centres if is_numpy(vectors) else _move_centres_on_device
        move(vectors, nearest, centres)
    return centres


def cosines_at_once(like: Array) -> int:
    """How many cosines of vectors to centres are held where `like` is."""
    return COSINES if is_numpy(like) else DEVICE_COSINES


def nearest_centre(vectors: Array, centres: Array) -> Array:
    """Position of the centre that is nearest to each vector by cosine, (n,)."""
    at_once = max(1, cosines_at_once(vectors) // len(centres))
    parts = [(vectors[start:stop] @ centres.T).argmax(axis=1) for start, stop in tiles(len(vectors), at_once)]
    return concat(parts)


def _move_centres(vectors: np.ndarray, nearest: np.ndarray, centres: np.ndarray) -> None:
    order = np.argsort(nearest, kind="stable")
    taken, first = np.unique(nearest[order], return_index=True)
    centres[taken] = unit_rows(np.add.reduceat(vectors[order], first, axis=0))


def _move_centres_on_device(vectors: Array, nearest: Array, centres: Array) -> None:
    """The same in torch, summed in a fixed order: the same clusters on every run."""
    torch = namespace(vectors)
    order = nearest.argsort(stable=True)
    lengths = torch.bincount(nearest, minlength=len(centres))
    sums = torch.segment_reduce(vectors[order], "sum", lengths=lengths)
    norms = torch.linalg.vector_norm(sums, dim=1, keepdim=True).clip(SMALLEST_NORM)
    taken = lengths > 0
    centres[taken] = (sums / norms)[taken]
