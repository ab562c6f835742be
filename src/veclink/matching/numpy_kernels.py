"""The inner loops of the CPU matcher in plain numpy, for machines without numba; same functions as `numba_kernels`."""

from __future__ import annotations

import numpy as np


def keep_by_row(
    tile: np.ndarray,
    columns: int,
    first_column: int,
    width: int,
    cosine: np.ndarray,
    index: np.ndarray,
    count: np.ndarray,
    floor: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Adds the best entries of tile rows start…stop−1 to their rows' buffers, and cuts those to `width`."""
    _keep(
        tile[start:stop, :columns], first_column, width, *(part[start:stop] for part in (cosine, index, count, floor))
    )


def keep_by_column(
    tile: np.ndarray,
    rows: int,
    first_row: int,
    width: int,
    cosine: np.ndarray,
    index: np.ndarray,
    count: np.ndarray,
    floor: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """The same for tile columns start…stop−1 and the buffers of the tile's columns."""
    _keep(tile[:rows, start:stop].T, first_row, width, *(part[start:stop] for part in (cosine, index, count, floor)))


def floor_by_row(
    tile: np.ndarray, columns: int, width: int, groups: int, floor: np.ndarray, start: int, stop: int
) -> None:
    """Sets no floor: it would only spare the compiled loops work."""


def floor_by_column(
    tile: np.ndarray, rows: int, width: int, groups: int, floor: np.ndarray, start: int, stop: int
) -> None:
    """Sets no floor, as `floor_by_row`."""


def cut(
    width: int, cosine: np.ndarray, index: np.ndarray, count: np.ndarray, floor: np.ndarray, start: int, stop: int
) -> None:
    """Nothing to do: buffers are cut whenever something is kept."""


def inner_products(
    left: np.ndarray, right: np.ndarray, index: np.ndarray, exact: np.ndarray, start: int, stop: int
) -> None:
    """exact[i, j] = ⟨left[i], right[index[i, j]]⟩ for rows start…stop−1, summed in float64."""
    for i in range(start, stop):
        exact[i] = right[index[i]].astype(np.float64) @ left[i].astype(np.float64)


def _keep(
    tile: np.ndarray,
    first: int,
    width: int,
    cosine: np.ndarray,
    index: np.ndarray,
    count: np.ndarray,
    floor: np.ndarray,
) -> None:
    held = int(count[0]) if len(count) else 0
    joined = np.concatenate([cosine[:, :held], tile], axis=1)
    size = min(width, joined.shape[1])
    if size < joined.shape[1]:
        chosen = np.argpartition(joined, joined.shape[1] - size, axis=1)[:, -size:]
    else:
        chosen = np.broadcast_to(np.arange(size), joined.shape)
    position = np.concatenate(
        [index[:, :held], np.broadcast_to(np.arange(first, first + tile.shape[1], dtype=index.dtype), tile.shape)],
        axis=1,
    )
    cosine[:, :size] = np.take_along_axis(joined, chosen, axis=1)
    index[:, :size] = np.take_along_axis(position, chosen, axis=1)
    count[:] = size
    if size < joined.shape[1]:
        floor[:] = np.maximum(floor, cosine[:, :size].min(axis=1))


def density_by_column(tile: np.ndarray, groups: int, size: int, density: np.ndarray, start: int, stop: int) -> None:
    """density[j]: mean over groups of `size` rows of the largest entry in each, for tile columns start…stop−1."""
    part = tile[: groups * size, start:stop].reshape(groups, size, -1)
    density[start:stop] = part.max(axis=1).mean(axis=0)


def best_by_row(
    tile: np.ndarray,
    columns: int,
    first_column: int,
    density: np.ndarray,
    pieces: np.ndarray,
    best: np.ndarray,
    index: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Updates best and index by 2·tile − density, and sets pieces[i, p] to the largest entry of columns p, p + 8, …"""
    rows = tile[start:stop, :columns]
    every = pieces.shape[1]
    pieces[start:stop] = rows[:, : columns // every * every].reshape(len(rows), -1, every).max(axis=1)
    value = 2 * rows - density[:columns]
    place = value.argmax(axis=1)
    top = value[np.arange(len(rows)), place]
    better = np.flatnonzero(top > best[start:stop])
    best[start + better], index[start + better] = top[better], first_column + place[better]
