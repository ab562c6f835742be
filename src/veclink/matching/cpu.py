"""Matching on the CPU: one BLAS product per tile, then a sweep that keeps the best entries of each row and column.

A kept list is wider than k, so almost every ranking can be read off the lists and proven (see `rankings`); the tiles of
cosines are never stored, and only the few rows without a proof are multiplied a second time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink.geometry.nearest import largest_values
from veclink.geometry.rows import ArrayRows, RowSource, Unfinished, checked, tiles
from veclink.matching import numba_kernels as kernels
from veclink.matching.numba_kernels import Kept
from veclink.matching.rankings import Found, Lists, Matches, Nearest, Ranks, in_tiles, proven, scan
from veclink.threads import ROWS_AT_ONCE, computing, multiply, share, thread_count

# The product of a tile this large runs at nearly the full speed of BLAS and is still in the cache when it is swept.
TILE_ROWS, TILE_COLUMNS = 1024, 2048
LEAST_PARTS = 4  # of a tile, which threads share
MANY = 8192  # rows, of which a tile has enough larger parts
DEFAULT_MEMORY = 256_000_000

SEARCH_TILE = 1024  # columns of a tile of the quick search, and pieces that each tile is dealt into
PIECES = 8
PIECES_HELD = 64  # tiles whose pieces are held before all but the largest are let go
SEARCH_MEMORY = 1 << 26  # bytes of other rows that are held at once where they are made when read


@computing()
def match(
    left: RowSource,
    right: RowSource,
    ranks: Ranks,
    *,
    memory: int | None = None,
    unfinished: Unfinished | None = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, in `memory` bytes beyond O(n·(k + depth))."""
    memory = memory or DEFAULT_MEMORY
    room = memory // 4
    rows, columns = ArrayRows(left, room), ArrayRows(right, room)
    tile = tile_in_parts(rows.shape, columns.shape, memory // 2)
    near, exact = listed(rows, columns, ranks, tile, room, unfinished)
    find = in_tiles(tile, room)
    again = partial(scan, rows, columns, find, room), partial(scan, columns, rows, find, room)
    return proven(near, exact, again, ranks, rounding_error(rows.shape[1]))


def listed(
    rows: ArrayRows,
    columns: ArrayRows,
    ranks: Ranks,
    tile: tuple[int, int],
    memory: int,
    unfinished: Unfinished | None = None,
) -> tuple[Lists, tuple[np.ndarray, np.ndarray]]:
    """Lists of the nearest for both sides, and the exact cosines of what they list."""
    near = nearest(rows, columns, ranks.list_width, tile, unfinished)
    of_rows = inner_products(rows, columns, near[0].index, memory)
    return near, (of_rows, inner_products(columns, rows, near[1].index, memory))


def is_compiled() -> bool:
    """Whether the loops are in numba's cache: the first run on a machine compiles them, which takes some seconds."""
    return any(Path(str(kernels.keep_by_row.stats.cache_path)).glob("numba_kernels.keep_by_row-*.nbi"))


def rounding_error(dimension: int) -> float:
    """How far the float32 product of two unit vectors can be off at most."""
    return (dimension + 2) * 2.0**-24


def tile_shape(
    left: tuple[int, int], right: tuple[int, int], memory: int, rows: int = TILE_ROWS, columns: int = TILE_COLUMNS
) -> tuple[int, int]:
    """Rows and columns of a tile, at most those given, that takes at most `memory` bytes with what it multiplies.

    Tiles are of nearly equal size, so that the last one is not a sliver.
    """
    while 4 * (rows * (columns + 32) + (rows + columns) * left[1]) > memory and max(rows, columns) > 16:
        rows, columns = max(rows // 2, 16), max(columns // 2, 16)
    return -(-left[0] // -(-left[0] // rows)), -(-right[0] // -(-right[0] // columns))


def tile_in_parts(left: tuple[int, int], right: tuple[int, int], memory: int) -> tuple[int, int]:
    """Rows and columns of a tile that has parts for all threads, in at most `memory` bytes.

    Whole parts, so that the products are the same ones, and the same numbers, for any number of threads.
    """
    part = _part_rows(left[0])
    rows, columns = tile_shape(left, right, memory, part * max(LEAST_PARTS, thread_count()))
    return rows if rows < part else -(-rows // part) * part, columns


def _part_rows(n: int) -> int:
    """Rows of one product: many run quicker, few are shared out more evenly."""
    return 2 * ROWS_AT_ONCE if n >= MANY else ROWS_AT_ONCE


@computing()
def nearest(
    rows: ArrayRows, columns: ArrayRows, width: int, tile: tuple[int, int], unfinished: Unfinished | None = None
) -> Lists:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass in float32.

    unfinished: has the lists of a pass that was broken off, and keeps those of this one.
    """
    by_row, by_column = _none(len(rows), len(columns), width), _none(len(columns), len(rows), width)
    done = 0 if unfinished is None else _resumed(unfinished.load(), by_row, by_column)
    # A row length that is a multiple of the page would put every row of the tile in the same few cache sets.
    space = np.empty((tile[0], tile[1] + -tile[1] % 16 + 16), dtype=np.float32)
    for top, bottom in tiles(len(rows), tile[0], done):
        block = checked(rows.block(top, bottom), top, "Left")
        for first, last in tiles(len(columns), tile[1]):
            others = columns.block(first, last)
            if top == done:
                checked(others, first, "Right")
            of_rows, of_columns = _part(by_row, top, bottom), _part(by_column, first, last)
            sweep = partial(_sweep, kernels.BY_ROW, space, last - first, first, of_rows, (block, others))
            share(sweep, bottom - top, step=_part_rows(len(rows)))
            share(partial(_sweep, kernels.BY_COLUMN, space, bottom - top, top, of_columns, None), last - first)
        if unfinished is not None:
            unfinished.keep(bottom, len(rows), partial(_held, bottom, by_row, by_column))
    return _nearest(by_row), _nearest(by_column)


def inner_products(rows: ArrayRows, others: ArrayRows, index: np.ndarray, memory: int) -> np.ndarray:
    """⟨rows[i], others[index[i, j]]⟩ for all i, j: summed in float64, given in float32."""
    exact = np.empty(index.shape, dtype=np.float32)
    if index.size and not (index.min() >= 0 and index.max() < len(others)):  # the loops below look nowhere else
        raise InputError(f"The lists name rows outside the {len(others):,} that there are; start the run again.")
    if rows.array is not None and others.array is not None:
        share(partial(kernels.inner_products, rows.array, others.array, index, exact), len(index))
        return exact
    step = max(1, memory // (4 * rows.shape[1] * (index.shape[1] + 1)))
    for start, stop in tiles(len(rows), step):
        others_here, place = np.unique(index[start:stop], return_inverse=True)
        place = place.reshape(stop - start, -1)
        own, listed = rows.block(start, stop), others.take(others_here)
        share(partial(kernels.inner_products, own, listed, place, exact[start:stop]), stop - start)
    return exact


@computing()
def searched(queries: np.ndarray, others: RowSource, k: int, memory: int | None = None) -> Found:
    """As `matching.searched`, by compiled loops."""
    rows = ArrayRows(others, SEARCH_MEMORY if memory is None else min(SEARCH_MEMORY, memory // 4))
    q, groups = len(queries), min(k, len(checked(queries, 0, "Left")))
    best = np.full(q, -np.inf, np.float32), np.zeros(q, np.int64)
    space = np.empty((q, SEARCH_TILE + 16), np.float32)  # not a multiple of the page: rows would share cache sets
    density = np.empty(SEARCH_TILE, np.float32)
    parts: list[np.ndarray] = []
    for first, last in tiles(len(rows), SEARCH_TILE):
        columns = last - first
        multiply(queries, checked(rows.block(first, last), first, "Right").T, out=space[:, :columns])
        share(partial(kernels.density_by_column, space, groups, q // groups, density), columns)
        pieces = np.empty((q, min(PIECES, columns)), np.float32)
        share(partial(kernels.best_by_row, space, columns, first, density, pieces, best), q)
        parts.append(pieces)
        if len(parts) == PIECES_HELD:
            parts = [largest_values(np.concatenate(parts, axis=1), k).copy()]
    return *best, np.sort(largest_values(np.concatenate(parts, axis=1), k), axis=1)


def _none(n: int, others: int, width: int) -> Kept:
    """Empty buffers for the entries of n rows."""
    width = min(width, others)
    room = (n, min(2 * width + 16, others + 1))
    floor = np.full(n, -np.inf, dtype=np.float32)
    return Kept(width, np.empty(room, np.float32), np.empty(room, np.int32), np.zeros(n, np.int64), floor)


def _part(kept: Kept, start: int, stop: int) -> Kept:
    return Kept(kept.width, *(part[start:stop] for part in kept[1:]))


def _sweep(
    loops: tuple[Any, Any],
    space: np.ndarray,
    extent: int,
    first: int,
    kept: Kept,
    multiplied: tuple[np.ndarray, np.ndarray] | None,
    start: int,
    stop: int,
) -> None:
    """Takes in the entries of rows (or columns) start…stop−1 of a tile, of which `extent` columns (or rows) are used.

    It does all there is to do for a part before the next part: what it works on is still in the cache.
    first: of the columns (or rows). multiplied: whose product the tile is, where it is not made yet.
    """
    set_floor, keep = loops
    if multiplied is not None:
        np.matmul(multiplied[0][start:stop], multiplied[1].T, out=space[start:stop, :extent])
    # Enough groups that the largest `width` of a tile's entries nearly all fall into different ones.
    groups = max(64, 1 << (3 * kept.width - 1).bit_length())
    if first == 0 and groups <= extent // 2:
        set_floor(space, extent, groups, kept, start, stop)
    keep(space, extent, first, kept, start, stop)


def _nearest(kept: Kept) -> Nearest:
    share(partial(kernels.cut, kept), len(kept.held))
    if (kept.held < kept.width).any():  # what stands behind the entries is no row
        raise InputError("Some rows have no cosine with enough others; give rows of finite numbers.")
    cosine, index = (np.ascontiguousarray(part[:, : kept.width]) for part in (kept.cosine, kept.partner))
    return Nearest(cosine, index, kept.floor)


def _held(done: int, by_row: Kept, by_column: Kept) -> dict[str, np.ndarray]:
    """What a pass has after its first `done` rows, by the names that a checkpoint gives it."""
    sides = {"row": _part(by_row, 0, done), "column": by_column}
    arrays = {
        f"{side}_{name}": part
        for side, kept in sides.items()
        for name, part in zip(("cosine", "index", "count", "floor"), kept[1:], strict=True)
    }
    return {"done": np.array(done), **arrays}


def _resumed(held: dict[str, np.ndarray] | None, by_row: Kept, by_column: Kept) -> int:
    """Puts the lists of an unfinished pass in place; how many rows it had done, 0 where they are not sound.

    Compiled loops read and write where these lists say, so lists of a damaged file are not taken.
    """
    done = 0 if held is None else int(held["done"])
    if held is None or not 0 < done <= len(by_row.held):
        return 0
    own = _held(done, by_row, by_column)
    kinds = [{name: (part.shape, part.dtype) for name, part in arrays.items()} for arrays in (own, held)]
    if kinds[0] != kinds[1]:
        return 0
    for side, others in (("row", len(by_column.held)), ("column", len(by_row.held))):
        count, index = held[f"{side}_count"], held[f"{side}_index"]
        listed = np.arange(index.shape[1]) < count[:, None]
        is_held = (count >= 0) & (count < index.shape[1])
        if not is_held.all() or (listed & ((index < 0) | (index >= others))).any():
            return 0
    for name, part in own.items():
        part[...] = held[name]
    return done
