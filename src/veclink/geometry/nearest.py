"""Nearest neighbours by brute force, and groups: the nearest centre by k-means, components of a graph."""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Array, along_rows, asarray, concat, is_numpy, namespace, order_of, to_numpy
from veclink.geometry.rows import Rows, tiles
from veclink.geometry.signatures import unit_rows

QUERIES = 512  # rows at a time: their similarities to one block of the others are the largest thing here
EXCLUDED = -2.0  # below any cosine: what a row must not find
COSINES = 1 << 21  # of vectors to centres at a time: the largest thing in k-means
DEVICE_COSINES = 1 << 28  # the same on a torch device


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


def nearest_rows(queries: Array, cloud: Rows, count: int, *, block: int) -> np.ndarray:
    """The rows of a cloud with the largest cosine to each query.

    Parameters
    ----------
    queries : array of shape (q, d)
        Vectors of unit length, of numpy, or of torch where the cloud gives tensors.
    cloud : Rows of shape (n, d)
        Read in blocks of `block` rows.
    count : int
        From 1 to n.

    Returns
    -------
    ndarray of shape (q, count), int32
        In no order; a query that is a row of the cloud finds itself too.
    """
    found = np.empty((len(queries), count), np.int32)
    for start, stop in tiles(len(queries), QUERIES):
        cosine: Array = None
        for first, last in tiles(cloud.shape[0], block):
            here = queries[start:stop] @ cloud.block(first, last).T
            column = largest(here, min(count, last - first))
            best, column = along_rows(here, column), column + first
            if cosine is None:
                cosine, index = best, column
                continue
            cosine, index = concat([cosine, best], axis=1), concat([index, column], axis=1)
            if cosine.shape[1] > count:
                kept = largest(cosine, count)
                cosine, index = along_rows(cosine, kept), along_rows(index, kept)
        found[start:stop] = to_numpy(index)
    return found


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
    return COSINES if is_numpy(like) else DEVICE_COSINES


def nearest_centre(vectors: Array, centres: Array) -> Array:
    """Position of the centre that is nearest to each vector by cosine, (n,)."""
    at_once = max(1, cosines_at_once(vectors) // len(centres))
    parts = [(vectors[start:stop] @ centres.T).argmax(axis=1) for start, stop in tiles(len(vectors), at_once)]
    return concat(parts)


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
