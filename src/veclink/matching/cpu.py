"""Matching on the CPU: one BLAS product per tile, then a sweep that keeps the best entries of each row and column.

A kept list is wider than k, so almost every ranking can be read off the lists and proven (see `rankings`); the tiles of
cosines are never stored, and only the few rows without a proof are multiplied a second time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from veclink.errors import InputError
from veclink.geometry.arrays import ArrayRows, RowSource, Unfinished, checked, tiles
from veclink.geometry.nearest import largest_values
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

# Entries compared at a time: only a strip with an entry above its floor is looked at one by one. Comparisons are
# joined by "or" over an array slice of constant length because that compiles to a few vector instructions.
STRIP = 64

try:
    CACHED = bool(njit(cache=True)(lambda: None))
except RuntimeError:  # neither the package's folder nor the user's cache folder can be written to
    CACHED = False
_compiled = njit(nogil=True, cache=CACHED)


class Kept(NamedTuple):
    """The entries kept so far of each of n rows, in no order."""

    width: int  # entries that matter: a full buffer is cut to its `width` largest
    cosine: np.ndarray  # (n, capacity) float32
    partner: np.ndarray  # (n, capacity) int32
    held: np.ndarray  # (n,) int64, entries in each buffer
    floor: np.ndarray  # (n,) float32, what a new entry has to beat


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
    return any(Path(str(keep_by_row.stats.cache_path)).glob("numba_keep_by_row-*.nbi"))


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
            sweep = partial(_sweep, BY_ROW, space, last - first, first, of_rows, (block, others))
            share(sweep, bottom - top, step=_part_rows(len(rows)))
            share(partial(_sweep, BY_COLUMN, space, bottom - top, top, of_columns, None), last - first)
        if unfinished is not None:
            unfinished.keep(bottom, len(rows), partial(_held, bottom, by_row, by_column))
    return _nearest(by_row), _nearest(by_column)


def inner_products(rows: ArrayRows, others: ArrayRows, index: np.ndarray, memory: int) -> np.ndarray:
    """⟨rows[i], others[index[i, j]]⟩ for all i, j: summed in float64, given in float32."""
    exact = np.empty(index.shape, dtype=np.float32)
    if index.size and not (index.min() >= 0 and index.max() < len(others)):  # the loops below look nowhere else
        raise InputError(f"The lists name rows outside the {len(others):,} that there are; start the run again.")
    if rows.array is not None and others.array is not None:
        share(partial(_inner_products, rows.array, others.array, index, exact), len(index))
        return exact
    step = max(1, memory // (4 * rows.shape[1] * (index.shape[1] + 1)))
    for start, stop in tiles(len(rows), step):
        others_here, place = np.unique(index[start:stop], return_inverse=True)
        place = place.reshape(stop - start, -1)
        own, listed = rows.block(start, stop), others.take(others_here)
        share(partial(_inner_products, own, listed, place, exact[start:stop]), stop - start)
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
        share(partial(density_by_column, space, groups, q // groups, density), columns)
        pieces = np.empty((q, min(PIECES, columns)), np.float32)
        share(partial(best_by_row, space, columns, first, density, pieces, best), q)
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
    share(partial(cut, kept), len(kept.held))
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


# The compiled loops. They release the interpreter lock and are shared out over threads above; none starts a thread.


@_compiled
def keep_by_row(tile: np.ndarray, columns: int, first_column: int, kept: Kept, start: int, stop: int) -> None:
    """Adds the entries of tile rows start…stop−1 that beat their row's floor to that row's buffer.

    kept: the buffers of exactly the tile's rows. A full buffer is cut to its `width` largest entries, and the smallest
    of those becomes the floor: nothing at or below it can matter.
    """
    width, cosine, index, count, floor = kept
    capacity = cosine.shape[1]
    whole = columns - columns % STRIP
    for i in range(start, stop):
        row = tile[i]
        least = floor[i]
        size = count[i]
        for j0 in range(0, columns, STRIP):
            if j0 < whole:
                strip = row[j0 : j0 + STRIP]
                above = np.int32(0)
                for j in range(STRIP):
                    above |= np.int32(strip[j] > least)
                if above == 0:
                    continue
            for j in range(j0, min(j0 + STRIP, columns)):
                if row[j] > least:
                    cosine[i, size] = row[j]
                    index[i, size] = first_column + j
                    size += 1
                    if size == capacity:
                        least = _cut(cosine, index, i, capacity, width)
                        size = width
        floor[i] = least
        count[i] = size


@_compiled
def keep_by_column(tile: np.ndarray, rows: int, first_row: int, kept: Kept, start: int, stop: int) -> None:
    """The same for tile columns start…stop−1 and the buffers of the tile's columns.

    Four rows at a time: the floors, which are as many numbers as a row has, are read once for all of them.
    """
    width, cosine, index, count, floor = kept
    capacity = cosine.shape[1]
    whole = start + (stop - start) // STRIP * STRIP
    for i0 in range(0, rows, 4):
        last = min(i0 + 4, rows)
        for j0 in range(start, stop, STRIP):
            if j0 < whole and last == i0 + 4:
                a, b = tile[i0, j0 : j0 + STRIP], tile[i0 + 1, j0 : j0 + STRIP]
                c, d = tile[i0 + 2, j0 : j0 + STRIP], tile[i0 + 3, j0 : j0 + STRIP]
                least = floor[j0 : j0 + STRIP]
                above = np.int32(0)
                for j in range(STRIP):
                    largest = max(max(a[j], b[j]), max(c[j], d[j]))
                    above |= np.int32(largest > least[j])
                if above == 0:
                    continue
            for i in range(i0, last):
                for j in range(j0, min(j0 + STRIP, stop)):
                    if tile[i, j] > floor[j]:
                        size = count[j]
                        cosine[j, size] = tile[i, j]
                        index[j, size] = first_row + i
                        size += 1
                        if size == capacity:
                            floor[j] = _cut(cosine, index, j, capacity, width)
                            size = width
                        count[j] = size


@_compiled
def floor_by_row(tile: np.ndarray, columns: int, groups: int, kept: Kept, start: int, stop: int) -> None:
    """Sets a first floor for tile rows start…stop−1, so that few more than `width` entries of each row are above it.

    The columns are dealt into `groups` ≥ width; the `width`-th largest of the groups' maxima has `width` entries at or
    above it. The floor lies just below, so that those pass.
    """
    best, unused = np.empty((1, groups), dtype=np.float32), np.empty((1, groups), dtype=np.int32)
    for i in range(start, stop):
        row, top = tile[i], best[0]
        top[:] = row[:groups]
        for j0 in range(groups, columns - groups + 1, groups):
            strip = row[j0 : j0 + groups]
            for j in range(groups):
                top[j] = strip[j] if strip[j] > top[j] else top[j]
        kept.floor[i] = np.nextafter(_cut(best, unused, 0, groups, kept.width), np.float32(-np.inf))


@_compiled
def floor_by_column(tile: np.ndarray, rows: int, groups: int, kept: Kept, start: int, stop: int) -> None:
    """The same for tile columns start…stop−1, whose rows are dealt into `groups`."""
    best = np.empty((groups, STRIP), dtype=np.float32)
    group, unused = np.empty((1, groups), dtype=np.float32), np.empty((1, groups), dtype=np.int32)
    for j0 in range(start, stop, STRIP):
        columns = min(STRIP, stop - j0)
        best[:] = -np.inf
        for i in range(rows):
            strip, top = tile[i, j0 : j0 + columns], best[i % groups, :columns]
            for j in range(columns):
                top[j] = strip[j] if strip[j] > top[j] else top[j]
        for j in range(columns):
            group[0] = best[:, j]
            kept.floor[j0 + j] = np.nextafter(_cut(group, unused, 0, groups, kept.width), np.float32(-np.inf))


@_compiled
def cut(kept: Kept, start: int, stop: int) -> None:
    """Leaves the `width` largest entries first in each buffer, and sets the floor where something was dropped."""
    width, cosine, index, count, floor = kept
    for i in range(start, stop):
        if count[i] > width:
            floor[i] = _cut(cosine, index, i, count[i], width)
            count[i] = width


@njit(nogil=True, cache=CACHED, fastmath={"reassoc", "contract", "nsz"})
def _inner_products(
    left: np.ndarray, right: np.ndarray, index: np.ndarray, exact: np.ndarray, start: int, stop: int
) -> None:
    """exact[i, j] = ⟨left[i], right[index[i, j]]⟩ for rows start…stop−1, summed in float64.

    Four at a time: the rows of `right` lie far apart, and one by one most of the time is spent waiting for memory.
    """
    width = index.shape[1]
    fours = width - width % 4
    for i in range(start, stop):
        own = left[i]
        for j in range(0, fours, 4):
            a, b, c, d = right[index[i, j]], right[index[i, j + 1]], right[index[i, j + 2]], right[index[i, j + 3]]
            sum_a = sum_b = sum_c = sum_d = 0.0
            for t in range(len(own)):
                x = np.float64(own[t])
                sum_a += x * np.float64(a[t])
                sum_b += x * np.float64(b[t])
                sum_c += x * np.float64(c[t])
                sum_d += x * np.float64(d[t])
            exact[i, j], exact[i, j + 1], exact[i, j + 2], exact[i, j + 3] = sum_a, sum_b, sum_c, sum_d
        for j in range(fours, width):
            a = right[index[i, j]]
            sum_a = 0.0
            for t in range(len(own)):
                sum_a += np.float64(own[t]) * np.float64(a[t])
            exact[i, j] = sum_a


@_compiled
def _cut(cosine: np.ndarray, index: np.ndarray, row: int, size: int, width: int) -> float:
    """Moves the `width` largest of a buffer's first `size` entries to its front; returns the smallest of them."""
    low, high = 0, size - 1
    while low < high:
        a, b, c = cosine[row, low], cosine[row, (low + high) >> 1], cosine[row, high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while cosine[row, i] > pivot:
                i += 1
            while cosine[row, j] < pivot:
                j -= 1
            if i <= j:
                cosine[row, i], cosine[row, j] = cosine[row, j], cosine[row, i]
                index[row, i], index[row, j] = index[row, j], index[row, i]
                i += 1
                j -= 1
        if width - 1 <= j:
            high = j
        elif width - 1 >= i:
            low = i
        else:
            break
    smallest = cosine[row, 0]
    for i in range(1, width):
        smallest = min(smallest, cosine[row, i])
    return smallest


_reordering = njit(nogil=True, cache=CACHED, fastmath={"nnan", "nsz", "reassoc"})  # maxima in any order: they vectorise


@_reordering
def density_by_column(tile: np.ndarray, groups: int, size: int, density: np.ndarray, start: int, stop: int) -> None:
    """density[j]: mean over groups of `size` rows of the largest entry in each, for tile columns start…stop−1."""
    largest = np.empty(stop - start, np.float32)
    density[start:stop] = 0.0
    for group in range(groups):
        largest[:] = -2.0
        for i in range(group * size, (group + 1) * size):
            row = tile[i, start:stop]
            for j in range(stop - start):
                largest[j] = max(largest[j], row[j])
        for j in range(stop - start):
            density[start + j] += largest[j]
    for j in range(start, stop):
        density[j] /= groups


@_reordering
def best_by_row(
    tile: np.ndarray,
    columns: int,
    first_column: int,
    density: np.ndarray,
    pieces: np.ndarray,
    best: tuple[np.ndarray, np.ndarray],
    start: int,
    stop: int,
) -> None:
    """Updates the best of 2·tile − density and its column; sets pieces[i, p] to the largest of columns p, p + 8, …"""
    best_value, best_column = best
    every = pieces.shape[1]
    whole = columns // every * every
    for i in range(start, stop):
        row = tile[i]
        largest = pieces[i]
        largest[:] = -2.0
        for j0 in range(0, whole, every):
            for piece in range(every):
                largest[piece] = max(largest[piece], row[j0 + piece])
        top = np.float32(-9.0)
        for j in range(columns):
            top = max(top, np.float32(2.0) * row[j] - density[j])
        if top > best_value[i]:
            for j in range(columns):
                if np.float32(2.0) * row[j] - density[j] >= top:
                    best_value[i] = top
                    best_column[i] = first_column + j
                    break


# For either axis of a tile: what sets first floors, and what keeps entries.
BY_ROW = floor_by_row, keep_by_row
BY_COLUMN = floor_by_column, keep_by_column
