"""Compiled inner loops of the CPU matcher.

They release the interpreter lock and are shared out over threads by `cpu`; nothing here starts a thread itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

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
def inner_products(
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
