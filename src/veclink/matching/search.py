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

from veclink.geometry.rows import Rows, checked
from veclink.matching.cpu import kernels
from veclink.matching.threads import share

TILE = 1024
PIECES = 8
KEPT = 64  # tiles whose pieces are held before all but the largest are let go
HELD = 1 << 26  # bytes of other rows that are held at once where they are made when read
DEVICE_TILE = 1 << 28  # cosines at once on a GPU


def best_partners(
    queries: Any, others: Any, *, k: int = 10, device: str = "cpu", memory: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row of others (n, s) with the largest csls for each of the queries (q, s), and that csls; (q,) each.

    Both are arrays, or tensors on a torch device, with rows of unit length. The queries should be in random order,
    because the density of a row of others is taken over k groups of consecutive queries.
    """
    best, index, largest = searched(queries, others, k=k, memory=memory, device=device)
    return index, best - largest.mean(axis=1)


def searched(
    queries: Any, others: Any, *, k: int, memory: int | None = None, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What one part of the others says: best of 2·cos − density for each query, its row, and the k largest cosines.

    (q,), (q,), (q, at most k) and ascending: parts of whole tiles are merged by `merged` to the same as all at once.
    """
    if device == "cpu":
        return _on_cpu(queries, Rows(others, HELD if memory is None else min(HELD, memory // 4)), k)
    return _on_device(queries, others, k, device)


def merged(
    parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parts in the order of their rows, as one."""
    best, index, largest = (
        np.stack(each) if place < 2 else np.concatenate(each, axis=1)
        for place, each in enumerate(zip(*parts, strict=True))
    )
    first = best.argmax(axis=0), np.arange(best.shape[1])
    return best[first], index[first], np.sort(largest, axis=1)[:, -k:]


def _on_cpu(queries: np.ndarray, others: Rows, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q = len(checked(queries, 0, "Left"))
    best, index = np.full(q, -np.inf, np.float32), np.zeros(q, np.int64)
    groups, parts = min(k, q), []
    space = np.empty((q, TILE + 16), np.float32)  # not a multiple of the page: rows would share cache sets
    density = np.empty(TILE, np.float32)
    for first, last in others.tiles(TILE):
        columns = last - first
        np.matmul(queries, checked(others.block(first, last), first, "Right").T, out=space[:, :columns])
        share(partial(kernels.density_by_column, space, groups, q // groups, density), columns)
        pieces = np.empty((q, min(PIECES, columns)), np.float32)
        share(partial(kernels.best_by_row, space, columns, first, density, pieces, best, index), q)
        parts.append(pieces)
        if len(parts) == KEPT:
            parts = [_largest(parts, k)]
    return best, index, np.sort(_largest(parts, k), axis=1)


def _largest(parts: list[np.ndarray], k: int) -> np.ndarray:
    """The k largest of each row, in no order."""
    joined = np.concatenate(parts, axis=1)
    beyond = max(0, joined.shape[1] - k)
    return np.partition(joined, beyond, axis=1)[:, beyond:].copy()


def _on_device(queries: Any, others: Any, k: int, device: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import torch

    from veclink.matching.torch_backend import free_memory, torch_device
    from veclink.matching.torch_rows import DeviceRows, product

    place = torch_device(device)
    asked, rows = (DeviceRows(side, place, free_memory(place) // 4) for side in (queries, others))
    q, n = len(asked), len(rows)
    left = asked.operand(0, q)
    best = torch.full((q,), -float("inf"), device=place)
    index = torch.zeros(q, dtype=torch.int64, device=place)
    groups = min(k, q)
    size, tile, largest = q // groups, max(PIECES, DEVICE_TILE // q // PIECES * PIECES), []
    for first in range(0, n, tile):
        cosine = product(left, rows.operand(first, min(first + tile, n)))
        width = cosine.shape[1]
        density = cosine[: groups * size].view(groups, size, width).amax(dim=1).mean(dim=0)
        pieces = min(PIECES * max(1, width // TILE), width)
        largest.append(cosine[:, : width // pieces * pieces].view(q, -1, pieces).amax(dim=1))
        value, at = cosine.mul_(2).sub_(density).max(dim=1)
        better = value > best
        best, index = torch.where(better, value, best), torch.where(better, at + first, index)
    pieces_max = torch.cat(largest, dim=1)
    own = pieces_max.topk(min(k, pieces_max.shape[1]), dim=1).values.flip(1)
    return best.cpu().numpy(), index.cpu().numpy(), own.cpu().numpy()
