"""CSLS rankings on the CPU: one BLAS product per tile, then a sweep that keeps the best entries of each row and column.

A kept list is wider than k, so almost every ranking can be read off the lists and proven (see `certify`); the tiles of
cosines are never stored, and only the few rows without a proof are multiplied a second time. The sweeps are compiled;
without numba the lists come from `lists`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink.geometry.rows import ArrayRows, RowSource, Unfinished, checked, tiles
from veclink.matching import lists
from veclink.matching.certify import Ranks, rank
from veclink.matching.lists import Nearest
from veclink.matching.rankings import Matches
from veclink.threads import ROWS_AT_ONCE, computing, share, thread_count

kernels: Any
try:
    from veclink.matching import numba_kernels as kernels
except ImportError:  # numba is not installed
    kernels = None

# The product of a tile this large runs at nearly the full speed of BLAS and is still in the cache when it is swept.
TILE_ROWS, TILE_COLUMNS = 1024, 2048
LEAST_PARTS = 4  # of a tile, which threads share
MANY = 8192  # rows, of which a tile has enough larger parts
DEFAULT_MEMORY = 256_000_000
Loop = Callable[[int, int], Any]
_PARTS = ("cosine", "index", "count", "floor")  # what a checkpoint calls the arrays of `numba_kernels.Kept`


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
    rows, columns = ArrayRows(left, memory // 4), ArrayRows(right, memory // 4)
    tile = tile_in_parts(rows.shape, columns.shape, memory // 2)
    near = nearest(rows, columns, ranks.list_width, tile, unfinished)
    exact = partial(inner_products, memory=memory // 4)
    rounding = rounding_error(rows.shape[1])
    return rank((rows, columns), near, ranks, exact, tile=tile, memory=memory // 4, rounding=rounding)


def is_compiled() -> bool:
    """Whether the loops are in numba's cache: the first run on a machine compiles them, which takes some seconds."""
    if kernels is None:
        return True
    cache = Path(kernels.keep_by_row.stats.cache_path)
    return any(cache.glob("numba_kernels.keep_by_row-*.nbi"))


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
    return _even(left[0], rows), _even(right[0], columns)


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
) -> tuple[Nearest, Nearest]:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass in float32.

    unfinished: has the lists of a pass that was broken off, and keeps those of this one.
    """
    if kernels is None:
        return lists.nearest(rows, columns, width, tile)
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
            multiplied = partial(_multiplied, block, others, space)
            of_rows, of_columns = _part(by_row, top, bottom), _part(by_column, first, last)
            by_rows = _keeping(kernels.floor_by_row, kernels.keep_by_row, space, last - first, first, of_rows)
            share(_one_after_another(multiplied, *by_rows), bottom - top, step=_part_rows(len(rows)))
            by_columns = _keeping(kernels.floor_by_column, kernels.keep_by_column, space, bottom - top, top, of_columns)
            share(_one_after_another(*by_columns), last - first)
        if unfinished is not None:
            unfinished.keep(bottom, len(rows), partial(_lists, bottom, by_row, by_column))
    return _nearest(by_row), _nearest(by_column)


def inner_products(rows: ArrayRows, others: ArrayRows, index: np.ndarray, memory: int) -> np.ndarray:
    """⟨rows[i], others[index[i, j]]⟩ for all i, j: summed in float64, given in float32."""
    if kernels is None:
        return lists.inner_products(rows, others, index, memory)
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


def _none(n: int, others: int, width: int) -> Any:
    """Empty buffers for the entries of n rows."""
    width = min(width, others)
    room = (n, min(2 * width + 16, others + 1))
    floor = np.full(n, -np.inf, dtype=np.float32)
    return kernels.Kept(width, np.empty(room, np.float32), np.empty(room, np.int32), np.zeros(n, np.int64), floor)


def _part(kept: Any, start: int, stop: int) -> Any:
    return kernels.Kept(kept.width, *(part[start:stop] for part in kept[1:]))


def _multiplied(block: np.ndarray, others: np.ndarray, space: np.ndarray, start: int, stop: int) -> None:
    np.matmul(block[start:stop], others.T, out=space[start:stop, : len(others)])


def _keeping(
    set_floor: Callable[..., None], keep: Callable[..., None], space: np.ndarray, extent: int, first: int, kept: Any
) -> list[Loop]:
    """The loops that take the entries of a tile in, of which `extent` columns (or rows) from `first` on are used."""
    loops: list[Loop] = [partial(keep, space, extent, first, kept)]
    # Enough groups that the largest `width` of a tile's entries nearly all fall into different ones.
    groups = max(64, 1 << (3 * kept.width - 1).bit_length())
    if first == 0 and groups <= extent // 2:
        loops.insert(0, partial(set_floor, space, extent, groups, kept))
    return loops


def _one_after_another(*loops: Loop) -> Loop:
    """One loop that does all of these for a part before the next part: what it works on is still in the cache."""

    def run(start: int, stop: int) -> None:
        for loop in loops:
            loop(start, stop)

    return run


def _nearest(kept: Any) -> Nearest:
    share(partial(kernels.cut, kept), len(kept.held))
    if (kept.held < kept.width).any():  # what stands behind the entries is no row
        raise InputError("Some rows have no cosine with enough others; give rows of finite numbers.")
    cosine, index = (np.ascontiguousarray(part[:, : kept.width]) for part in (kept.cosine, kept.partner))
    return Nearest(cosine, index, kept.floor)


def _lists(done: int, by_row: Any, by_column: Any) -> dict[str, np.ndarray]:
    """What a pass has after its first `done` rows."""
    sides = {"row": _part(by_row, 0, done), "column": by_column}
    held = {f"{side}_{name}": part for side, kept in sides.items() for name, part in zip(_PARTS, kept[1:], strict=True)}
    return {"done": np.array(done), **held}


def _resumed(held: dict[str, np.ndarray] | None, by_row: Any, by_column: Any) -> int:
    """Puts the lists of an unfinished pass in place; how many rows it had done, 0 where they are not sound."""
    if held is None:
        return 0
    done = int(held["done"])
    n_rows, n_columns = len(by_row.held), len(by_column.held)
    sides = (("row", _part(by_row, 0, done), n_columns), ("column", by_column, n_rows))
    if not 0 < done <= n_rows or not all(_sound(held, *each) for each in sides):
        return 0
    for side, kept, _ in sides:
        for name, part in zip(_PARTS, kept[1:], strict=True):
            part[:] = held[f"{side}_{name}"]
    return done


def _sound(held: dict[str, np.ndarray], side: str, kept: Any, others: int) -> bool:
    """Whether lists from a file fit in the place of `kept`: compiled loops read and write where they say."""
    parts = {name: held.get(f"{side}_{name}") for name in _PARTS}
    for own, part in zip(kept[1:], parts.values(), strict=True):
        if part is None or part.shape != own.shape or part.dtype != own.dtype:
            return False
    count, index = parts["count"], parts["index"]
    assert count is not None and index is not None
    if ((count < 0) | (count >= kept.cosine.shape[1])).any():
        return False
    listed = np.arange(index.shape[1]) < count[:, None]
    return not (listed & ((index < 0) | (index >= others))).any()


def _even(size: int, most: int) -> int:
    return -(-size // -(-size // most))
