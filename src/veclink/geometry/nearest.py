"""Nearest neighbours by brute force: the one place that picks the largest of many similarities."""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Array, along_rows, concat, is_numpy, to_numpy
from veclink.geometry.rows import Rows, tiles

QUERIES = 512  # rows at a time: their similarities to one block of the others are the largest thing here
EXCLUDED = -2.0  # below any cosine: what a row must not find


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
        found[start:stop] = to_numpy(_nearest(queries[start:stop], cloud, count, block))
    return found


def _nearest(queries: Array, cloud: Rows, count: int, block: int) -> Array:
    cosine: Array = None
    index: Array = None
    for first, last in tiles(cloud.shape[0], block):
        here = queries @ cloud.block(first, last).T
        column = largest(here, min(count, last - first))
        best = along_rows(here, column)
        if cosine is None:
            cosine, index = best, column + first
            continue
        cosine = concat([cosine, best], axis=1)
        index = concat([index, column + first], axis=1)
        if cosine.shape[1] > count:
            kept = largest(cosine, count)
            cosine, index = along_rows(cosine, kept), along_rows(index, kept)
    return index
