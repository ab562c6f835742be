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
from veclink.geometry.arrays import ArrayRows, RowSource, checked, tiles
from veclink.matching import rankings
from veclink.matching.rankings import Found, Lists, Matches, Nearest, Ranks, exactly, proven, scan
from veclink.threads import ROWS_AT_ONCE, computing, multiply, share, thread_count

# The product of a tile this large runs at nearly the full speed of BLAS and is still in the cache when it is swept. Its
# rows are at least four parts, which threads share.
TILE_ROWS, TILE_COLUMNS = 4 * ROWS_AT_ONCE, 2048
DEFAULT_MEMORY = 256_000_000
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
    unfinished: Any = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, in `memory` bytes beyond O(n·(k + depth))."""
    room = (memory or DEFAULT_MEMORY) // 4
    rows, columns = ArrayRows(left, room), ArrayRows(right, room)
    near, error = listed(rows, columns, ranks, room, unfinished)
    tile = tile_in_parts(rows, columns, room)
    again = partial(scan, rows, columns, tile, room), partial(scan, columns, rows, tile, room)
    return proven(near, error, again, ranks)


def listed(
    rows: ArrayRows, columns: ArrayRows, ranks: Ranks, memory: int, unfinished: Any = None
) -> tuple[Lists, float]:
    """Lists of the nearest for both sides with exact cosines, and how far a cosine of a tile can be off.

    memory: bytes for what is gathered; a tile takes twice as many.
    """
    near = nearest(rows, columns, ranks.list_width, memory, unfinished)
    of_rows = inner_products(rows, columns, near[0].index, memory)
    exact = of_rows, inner_products(columns, rows, near[1].index, memory)
    # the float32 product of two unit vectors is off by no more than this
    return exactly(near, exact, (rows.shape[1] + 2) * 2.0**-24)


def is_compiled() -> bool:
    """Whether the loops are in numba's cache: the first run on a machine compiles them, which takes some seconds."""
    return any(Path(str(keep_by_row.stats.cache_path)).glob("cpu.keep_by_row-*.nbi"))


def tile_shape(
    left: tuple[int, int], right: tuple[int, int], memory: int, rows: int, columns: int
) -> tuple[int, int]:
    """Rows and columns of a tile, at most those given, that takes at most `memory` bytes with what it multiplies.

    Tiles are of nearly equal size, so that the last one is not a sliver.
    """
    while 4 * (rows * (columns + 32) + (rows + columns) * left[1]) > memory and max(rows, columns) > 16:
        rows, columns = max(rows // 2, 16), max(columns // 2, 16)
    return -(-left[0] // -(-left[0] // rows)), -(-right[0] // -(-right[0] // columns))


def tile_in_parts(rows: ArrayRows, columns: ArrayRows, memory: int) -> tuple[int, int]:
    """Rows and columns of a tile that has parts for all threads, in at most twice as many bytes.

    Whole parts, so that the products are the same ones, and the same numbers, for any number of threads.
    """
    most = max(TILE_ROWS, ROWS_AT_ONCE * thread_count())
    high, wide = tile_shape(rows.shape, columns.shape, 2 * memory, most, TILE_COLUMNS)
    return high if high < ROWS_AT_ONCE else -(-high // ROWS_AT_ONCE) * ROWS_AT_ONCE, wide


@computing()
def nearest(
    rows: ArrayRows, columns: ArrayRows, width: int, memory: int, unfinished: Any = None
) -> Lists:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass in float32.

    memory: bytes, of which a tile takes twice as many.
    unfinished: has the lists of a pass that was broken off, and keeps those of this one.
    """
    sides = []  # empty buffers
    for n, among in ((rows.shape[0], columns.shape[0]), (columns.shape[0], rows.shape[0])):
        most, floor = min(width, among), np.full(n, -np.inf, dtype=np.float32)
        room = (n, min(2 * most + 16, among + 1))
        sides.append(Kept(most, np.empty(room, np.float32), np.empty(room, np.int32), np.zeros(n, np.int64), floor))
    by_row, by_column = sides
    done = 0 if unfinished is None else _resumed(unfinished.load(), by_row, by_column)
    tile = tile_in_parts(rows, columns, memory)
    # A row length that is a multiple of the page would put every row of the tile in the same few cache sets.
    space = np.empty((tile[0], tile[1] + -tile[1] % 16 + 16), dtype=np.float32)
    for top, bottom in tiles(rows.shape[0], tile[0], done):
        block = checked(rows.block(top, bottom), top, "Left")
        for first, last in tiles(columns.shape[0], tile[1]):
            others = columns.block(first, last)
            if top == done:
                checked(others, first, "Right")
            of_rows, of_columns = _part(by_row, top, bottom), _part(by_column, first, last)
            share(partial(_sweep_rows, space, block, others, first, of_rows), bottom - top)
            share(partial(_sweep_columns, space[: bottom - top], top, of_columns), last - first)
        if unfinished is not None:
            unfinished.keep(bottom, rows.shape[0], partial(_held, bottom, by_row, by_column))
    found = []
    for kept in (by_row, by_column):
        share(partial(cut, kept), len(kept.held))
        if (kept.held < kept.width).any():  # what stands behind the entries is no row
            raise InputError("Some rows have no cosine with enough others; give rows of finite numbers.")
        cosine, index = (np.ascontiguousarray(part[:, : kept.width]) for part in (kept.cosine, kept.partner))
        found.append(Nearest(cosine, index, kept.floor))
    return found[0], found[1]


def inner_products(rows: ArrayRows, others: ArrayRows, index: np.ndarray, memory: int) -> np.ndarray:
    """⟨rows[i], others[index[i, j]]⟩ for all i, j: summed in float64, given in float32."""
    exact = np.empty(index.shape, dtype=np.float32)
    if index.size and not (index.min() >= 0 and index.max() < others.shape[0]):  # the loops below look nowhere else
        raise InputError(f"The lists name rows outside the {others.shape[0]:,} that there are; start the run again.")
    step = max(1, memory // (4 * rows.shape[1] * (index.shape[1] + 1)))
    for start, stop in tiles(rows.shape[0], step if others.array is None else rows.shape[0]):
        listed, place = others.array, index[start:stop]
        if listed is None:
            there, place = np.unique(place, return_inverse=True)
            listed, place = others.take(there), place.reshape(stop - start, -1)
        own = rows.block(start, stop)
        share(partial(_inner_products, own, listed, place, exact[start:stop]), stop - start)
    return exact


@computing()
def searched(queries: np.ndarray, others: RowSource, k: int, memory: int | None = None) -> Found:
    """As `matching.searched`, by compiled loops."""
    rows = ArrayRows(others, (memory or DEFAULT_MEMORY) // 4)
    space = np.empty((len(queries), 1024 + 16), np.float32)  # no multiple of the page, as in `nearest`
    return rankings.searched(checked(queries, 0, "Left"), rows, k, sweep=partial(_swept, space))


def _swept(space: np.ndarray, queries: np.ndarray, block: np.ndarray, groups: int) -> rankings.Swept:
    """As `rankings.swept`; space: for the cosines."""
    q, columns = len(queries), len(block)
    cosine = multiply(queries, block.T, out=space[:, :columns])
    size, largest = q // groups, np.empty((groups, columns), np.float32)
    value, at, pieces = np.empty(q, np.float32), np.empty(q, np.int64), np.empty((q, min(8, columns)), np.float32)

    def look(group: int, _: int) -> None:
        cosine[group * size : (group + 1) * size].max(axis=0, out=largest[group])

    share(look, groups, step=1)
    share(partial(best_by_row, cosine, largest.mean(axis=0), pieces, value, at), q)
    return value, at, pieces


def _part(kept: Kept, start: int, stop: int) -> Kept:
    return Kept(kept.width, *(part[start:stop] for part in kept[1:]))


def _sweep_rows(
    space: np.ndarray, block: np.ndarray, others: np.ndarray, first: int, kept: Kept, start: int, stop: int
) -> None:
    """Multiplies rows start…stop−1 of a tile and takes in their entries, while they are still in the cache.

    first: row of the first of the others.
    """
    cosine = np.matmul(block[start:stop], others.T, out=space[start:stop, : len(others)])
    if first == 0:
        _set_floors(cosine, _part(kept, start, stop))
    keep_by_row(space, len(others), first, kept, start, stop)


def _sweep_columns(space: np.ndarray, first: int, kept: Kept, start: int, stop: int) -> None:
    """Takes in the entries of columns start…stop−1 of a tile that is multiplied. first: row of its first row."""
    if first == 0:
        _set_floors(space[:, start:stop].T, _part(kept, start, stop))
    keep_by_column(space, len(space), first, kept, start, stop)


def _set_floors(entries: np.ndarray, kept: Kept) -> None:
    """Sets first floors for rows of entries (n, m), so that few more than `width` of each row are above.

    The entries of a row are dealt into so many groups that the largest nearly all fall into different ones. The
    `width`-th largest of the groups' maxima has `width` entries at or above it; the floor lies just below.
    """
    groups = max(64, 1 << (3 * kept.width - 1).bit_length())
    dealt = entries.shape[1] // groups
    if dealt > 1:
        best = entries[:, : dealt * groups].reshape(len(entries), dealt, groups).max(axis=1)
        least = np.partition(best, groups - kept.width, axis=1)[:, groups - kept.width]
        np.nextafter(least, np.float32(-np.inf), out=kept.floor)


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
    """Puts the lists of an unfinished pass in place; how many rows it had done."""
    if held is None:
        return 0
    done = int(held["done"])
    for name, part in _held(done, by_row, by_column).items():
        part[...] = held[name]
    for kept in (by_row, by_column):  # compiled loops write behind as many entries, whatever the file says
        kept.held.clip(0, kept.cosine.shape[1] - 1, out=kept.held)
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


# maxima in any order: they vectorise
@njit(nogil=True, cache=CACHED, fastmath={"nnan", "nsz", "reassoc"})
def best_by_row(
    tile: np.ndarray,
    density: np.ndarray,
    pieces: np.ndarray,
    best: np.ndarray,
    column: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Sets the best of 2·tile − density and its column, and pieces[i, p] to the largest of columns p, p + 8, …"""
    columns, every = tile.shape[1], pieces.shape[1]
    for i in range(start, stop):
        row = tile[i]
        largest = pieces[i]
        largest[:] = -2.0
        for j0 in range(0, columns // every * every, every):
            for piece in range(every):
                largest[piece] = max(largest[piece], row[j0 + piece])
        top = np.float32(-9.0)
        for j in range(columns):
            top = max(top, np.float32(2.0) * row[j] - density[j])
        best[i] = top
        for j in range(columns):
            if np.float32(2.0) * row[j] - density[j] >= top:
                column[i] = j
                break
