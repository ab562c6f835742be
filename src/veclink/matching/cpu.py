"""CSLS rankings on the CPU: one BLAS product per tile, then a sweep that keeps the best entries of each row and column.

A kept list is wider than k, so almost every ranking can be read off the lists and proven (see `certify`); the tiles of
cosines are never stored, and only the few rows without a proof are multiplied a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.errors import InputError
from veclink.geometry.rows import Rows, RowSource, Unfinished, checked
from veclink.matching.certify import Nearest, list_width, rank
from veclink.matching.rankings import Matches
from veclink.matching.threads import share

try:
    from veclink.matching import numba_kernels as kernels
except ImportError:  # numba is not installed
    from veclink.matching import numpy_kernels as kernels  # type: ignore[no-redef]

# The product of a tile this large runs at nearly the full speed of BLAS and is still in the cache when it is swept.
TILE_ROWS, TILE_COLUMNS = 1024, 2048
DEFAULT_MEMORY = 256_000_000
_PARTS = ("cosine", "index", "count", "floor")


def match(
    left: RowSource,
    right: RowSource,
    *,
    k: int = 10,
    depth: int = 1,
    certain: int | None = None,
    memory: int | None = None,
    unfinished: Unfinished | None = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, in `memory` bytes beyond O(n·(k + depth))."""
    memory = memory or DEFAULT_MEMORY
    rows, columns = Rows(left, memory // 4), Rows(right, memory // 4)
    tile = tile_shape(rows.shape, columns.shape, memory // 2)
    near_rows, near_columns = nearest(rows, columns, list_width(k, depth), tile, unfinished)
    exact = partial(inner_products, memory=memory // 4)
    return rank(
        rows, columns, near_rows, near_columns, k=k, depth=depth, certain=certain, tile=tile, inner_products=exact
    )


def tile_shape(
    left: tuple[int, int], right: tuple[int, int], memory: int, rows: int = TILE_ROWS, columns: int = TILE_COLUMNS
) -> tuple[int, int]:
    """Rows and columns of a tile, at most those given, that takes at most `memory` bytes with what it multiplies.

    Tiles are of nearly equal size, so that the last one is not a sliver.
    """
    while 4 * (rows * (columns + 32) + (rows + columns) * left[1]) > memory and max(rows, columns) > 16:
        rows, columns = max(rows // 2, 16), max(columns // 2, 16)
    return _even(left[0], rows), _even(right[0], columns)


def nearest(
    rows: Rows, columns: Rows, width: int, tile: tuple[int, int], unfinished: Unfinished | None = None
) -> tuple[Nearest, Nearest]:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass in float32.

    unfinished: has the lists of a pass that was broken off, and keeps those of this one.
    """
    by_row, by_column = _Kept.none(len(rows), len(columns), width), _Kept.none(len(columns), len(rows), width)
    done = 0 if unfinished is None else _resumed(unfinished.load(), by_row, by_column)
    # A row length that is a multiple of the page would put every row of the tile in the same few cache sets.
    space = np.empty((tile[0], tile[1] + -tile[1] % 16 + 16), dtype=np.float32)
    for top, bottom in rows.tiles(tile[0], done):
        block = checked(rows.block(top, bottom), top, "Left")
        for first, last in columns.tiles(tile[1]):
            others = columns.block(first, last)
            if top == done:
                checked(others, first, "Right")
            np.matmul(block, others.T, out=space[: bottom - top, : last - first])
            here, extent = by_row.part(top, bottom), last - first
            if first == 0 and here.groups <= extent // 2:
                here.share(kernels.floor_by_row, space, extent, here.width, here.groups, here.floor)
            here.share(kernels.keep_by_row, space, extent, first, *here.lists)
            here, extent = by_column.part(first, last), bottom - top
            if top == 0 and here.groups <= extent // 2:
                here.share(kernels.floor_by_column, space, extent, here.width, here.groups, here.floor)
            here.share(kernels.keep_by_column, space, extent, top, *here.lists)
        if unfinished is not None:
            unfinished.keep(bottom, len(rows), partial(_lists, bottom, by_row, by_column))
    return by_row.nearest(), by_column.nearest()


def inner_products(rows: Rows, others: Rows, index: np.ndarray, memory: int) -> np.ndarray:
    """⟨rows[i], others[index[i, j]]⟩ for all i, j: summed in float64, given in float32."""
    exact = np.empty(index.shape, dtype=np.float32)
    if index.size and not (index.min() >= 0 and index.max() < len(others)):  # the loops below look nowhere else
        raise InputError(f"The lists name rows outside the {len(others):,} that there are; start the run again.")
    if rows.dense is not None and others.dense is not None:
        share(partial(kernels.inner_products, rows.dense, others.dense, index, exact), len(index))
        return exact
    step = max(1, memory // (4 * rows.shape[1] * (index.shape[1] + 1)))
    for start, stop in rows.tiles(step):
        others_here, place = np.unique(index[start:stop], return_inverse=True)
        place = place.reshape(stop - start, -1)
        own, listed = rows.block(start, stop), others.take(others_here)
        share(partial(kernels.inner_products, own, listed, place, exact[start:stop]), stop - start)
    return exact


@dataclass
class _Kept:
    """The entries kept so far of each of n rows, in no order, and the floor that a new entry has to beat."""

    width: int
    cosine: np.ndarray
    index: np.ndarray
    count: np.ndarray
    floor: np.ndarray

    @classmethod
    def none(cls, n: int, others: int, width: int) -> _Kept:
        width = min(width, others)
        room = (n, min(2 * width + 16, others + 1))
        floor = np.full(n, -np.inf, dtype=np.float32)
        return cls(width, np.empty(room, np.float32), np.empty(room, np.int32), np.zeros(n, np.int64), floor)

    @property
    def lists(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.width, self.cosine, self.index, self.count, self.floor

    @property
    def groups(self) -> int:
        """Enough groups that the largest `width` of a tile's entries nearly all fall into different ones."""
        return max(64, 1 << (3 * self.width - 1).bit_length())

    def part(self, start: int, stop: int) -> _Kept:
        here = slice(start, stop)
        return _Kept(self.width, self.cosine[here], self.index[here], self.count[here], self.floor[here])

    def share(self, loop: Callable[..., None], *arguments: object) -> None:
        share(partial(loop, *arguments), len(self.count))

    def nearest(self) -> Nearest:
        self.share(kernels.cut, *self.lists)
        if (self.count < self.width).any():  # what stands behind the entries is no row
            raise InputError("Some rows have no cosine with enough others; give rows of finite numbers.")
        cosine, index = (np.ascontiguousarray(part[:, : self.width]) for part in (self.cosine, self.index))
        return Nearest(cosine, index, self.floor)


def _lists(done: int, by_row: _Kept, by_column: _Kept) -> dict[str, np.ndarray]:
    """What a pass has after its first `done` rows."""
    sides = {"row": by_row.part(0, done), "column": by_column}
    held = {f"{side}_{name}": getattr(kept, name) for side, kept in sides.items() for name in _PARTS}
    return {"done": np.array(done), **held}


def _resumed(held: dict[str, np.ndarray] | None, by_row: _Kept, by_column: _Kept) -> int:
    """Puts the lists of an unfinished pass in place; how many rows it had done, 0 where they are not sound."""
    if held is None:
        return 0
    done = int(held["done"])
    sides = (("row", by_row.part(0, done), len(by_column.count)), ("column", by_column, len(by_row.count)))
    if not 0 < done <= len(by_row.count) or not all(_sound(held, *each) for each in sides):
        return 0
    for side, kept, _ in sides:
        for name in _PARTS:
            getattr(kept, name)[:] = held[f"{side}_{name}"]
    return done


def _sound(held: dict[str, np.ndarray], side: str, kept: _Kept, others: int) -> bool:
    """Whether lists from a file fit in the place of `kept`: compiled loops read and write where they say."""
    parts = {name: held.get(f"{side}_{name}") for name in _PARTS}
    for name, part in parts.items():
        own = getattr(kept, name)
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
