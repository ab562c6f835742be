"""The best partner of some rows among all rows of the other side, in one pass: what growing on a sample needs.

CSLS wants the mean cosine to the k nearest rows of the other side. For the rows that are asked this is taken over the
largest cosines of small pieces of the other side, and for the others over k groups of the rows asked, the largest of
each: the same order of hubs and outliers, for a fraction of the work of exact lists. `match` is exact; this is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from veclink.geometry.arrays import Array, concat, full, namespace, to_numpy
from veclink.geometry.nearest import largest_values
from veclink.geometry.rows import ArrayRows, Rows, checked, tiles
from veclink.matching import numba_kernels as kernels
from veclink.matching.lists import product
from veclink.threads import computing, multiply, share

TILE = 1024
PIECES = 8
KEPT = 64  # tiles whose pieces are held before all but the largest are let go
HELD = 1 << 26  # bytes of other rows that are held at once where they are made when read
DEVICE_TILE = 1 << 28  # cosines at once on a GPU

Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def best_partners(
    queries: Array, others: Any, *, k: int = 10, device: str = "cpu", memory: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The row of the others with the largest csls for each query, and this csls: (q,) each.

    Parameters
    ----------
    queries : array of shape (q, s)
        Rows of unit length, of numpy or torch, in random order: the density of a row of others is taken over k groups
        of consecutive queries.
    others : array of shape (n, s), or Rows
    """
    best, index, nearest = searched(queries, others, k=k, memory=memory, device=device)
    return index, best - nearest.mean(axis=1)


@computing()
def searched(queries: Array, others: Any, *, k: int, memory: int | None = None, device: str = "cpu") -> Found:
    """What one part of the others says: best of 2·cos − density for each query, its row, and the k largest cosines.

    (q,), (q,), (q, at most k) and ascending: parts of whole tiles are merged by `merged` to the same as all at once.
    """
    if device == "cpu":
        rows = ArrayRows(others, HELD if memory is None else min(HELD, memory // 4))
        return _compiled(checked(queries, 0, "Left"), rows, k)
    from veclink.matching.torch_backend import DeviceRows, for_triton, free_memory, torch_device

    place = torch_device(device)
    room = free_memory(place) if memory is None else min(memory, free_memory(place))
    asked, there = (DeviceRows(side, place, room // 4) for side in (queries, others))
    held = for_triton(asked, there)
    if held is not None:
        from veclink.matching import triton_search

        return triton_search.searched(*held, k)
    cosines = DEVICE_TILE if memory is None else min(DEVICE_TILE, room // 16)
    return plain(asked.block(0, len(asked)), there, k, max(PIECES, cosines // len(asked) // PIECES * PIECES))


def merged(parts: Iterable[Found], k: int) -> Found:
    """Parts in the order of their rows, as one."""
    best, index, nearest = (
        np.stack(each) if place < 2 else np.concatenate(each, axis=1)
        for place, each in enumerate(zip(*parts, strict=True))
    )
    first = best.argmax(axis=0), np.arange(best.shape[1])
    return best[first], index[first], np.sort(nearest, axis=1)[:, -k:]


def _compiled(queries: np.ndarray, others: ArrayRows, k: int) -> Found:
    q = len(queries)
    best = kernels.Best(np.full(q, -np.inf, np.float32), np.zeros(q, np.int64))
    groups, parts = min(k, q), []
    space = np.empty((q, TILE + 16), np.float32)  # not a multiple of the page: rows would share cache sets
    density = np.empty(TILE, np.float32)
    for first, last in tiles(len(others), TILE):
        columns = last - first
        multiply(queries, checked(others.block(first, last), first, "Right").T, out=space[:, :columns])
        share(partial(kernels.density_by_column, space, groups, q // groups, density), columns)
        pieces = np.empty((q, min(PIECES, columns)), np.float32)
        share(partial(kernels.best_by_row, space, columns, first, density, pieces, best), q)
        parts.append(pieces)
        if len(parts) == KEPT:
            parts = [largest_values(np.concatenate(parts, axis=1), k).copy()]
    return best.value, best.column, np.sort(largest_values(np.concatenate(parts, axis=1), k), axis=1)


def plain(queries: Array, others: Rows, k: int, tile: int = TILE) -> Found:
    """The same in plain array code, on numpy or torch: the oracle of the compiled loops."""
    xp = namespace(queries)
    q, n = len(queries), others.shape[0]
    best = full(q, -float("inf"), "float32", queries)
    index = full(q, 0, "int64", queries)
    groups = min(k, q)
    size, parts = q // groups, []
    for first, last in tiles(n, tile):
        cosine = product(queries, checked(others.block(first, last), first, "Right"))
        width = last - first
        density = xp.amax(cosine[: groups * size].reshape(groups, size, width), axis=1).mean(axis=0)
        pieces = min(PIECES * max(1, width // TILE), width)
        parts.append(xp.amax(cosine[:, : width // pieces * pieces].reshape(q, -1, pieces), axis=1))
        value = 2 * cosine - density
        at = value.argmax(axis=1)
        value = xp.amax(value, axis=1)
        better = value > best
        best = xp.where(better, value, best)
        index = xp.where(better, at + first, index)
    nearest = to_numpy(largest_values(concat(parts, axis=1), k))
    return to_numpy(best), to_numpy(index), np.sort(nearest, axis=1)
