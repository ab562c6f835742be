"""Rows to match, wherever they lie: in an array of any float type, a memory map, or an object that gives blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import numpy as np

from ..errors import InputError, named

LARGEST = 1e4  # numbers of rows that are of unit length are far below, and their products inside float16 and float32


class Blocks(Protocol):
    """Rows that are read block by block, such as a cloud larger than memory."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and dimensions."""

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1 as float32 (stop − start, dimensions)."""


class CloudRows(Protocol):
    """The rows of a cloud: an array has them, and a `Cloud` reads them when asked."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, dimension)."""

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1, float32."""

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions, float32."""


class Unfinished(Protocol):
    """Where a long pass keeps what it has so far, to go on from there when it was broken off."""

    def load(self) -> dict[str, np.ndarray] | None:
        """The arrays kept last, if any."""

    def keep(self, done: int, of: int, lists: Callable[[], dict[str, np.ndarray]]) -> None:
        """Told after every tile of rows; takes the arrays when it wants to keep them."""


RowSource: TypeAlias = np.ndarray | Blocks


def checked(block: np.ndarray, first: int, side: str) -> np.ndarray:
    """A block of rows from row `first` on, once it is sure that its cosines are numbers.

    What compiled loops keep follows from comparisons, and none is true of NaN: their lists would stay empty, and what
    stands in empty lists is no row.
    """
    if block.size and not (block.min() > -LARGEST and block.max() < LARGEST):
        wrong = np.flatnonzero(~(np.abs(block) < LARGEST).all(axis=1))
        raise _unsound(side, first + wrong)
    return block


def _unsound(side: str, rows: np.ndarray) -> InputError:
    return InputError(
        f"{side} has numbers that are NaN, infinite or above {LARGEST:,.0f} in row {named(rows)}; give rows of unit "
        "length."
    )


class Rows:
    """Rows read as float32 in at most `budget` bytes: held whole (`dense`) if they fit and `whole` is set."""

    def __init__(self, source: RowSource, budget: int, *, whole: bool = True) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self._source = source
        self._sweep = max(1, budget // (4 * self.shape[1]))
        self.dense: np.ndarray | None = None
        if isinstance(source, np.ndarray) and source.dtype == np.float32 and source.flags.c_contiguous:
            self.dense = np.asarray(source)
        elif whole and 4 * self.shape[0] * self.shape[1] <= budget:
            self.dense = self.block(0, self.shape[0])

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1, float32 and contiguous."""
        if self.dense is not None:
            return self.dense[start:stop]
        source = self._source
        part = source[start:stop] if isinstance(source, np.ndarray) else source.block(start, stop)
        return np.ascontiguousarray(part, dtype=np.float32)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions, float32 (len(rows), dimensions), in their order."""
        if self.dense is not None:
            return self.dense[rows]
        if isinstance(self._source, np.ndarray):
            return np.ascontiguousarray(self._source[rows], dtype=np.float32)
        if hasattr(self._source, "take"):
            return np.ascontiguousarray(self._source.take(rows), dtype=np.float32)
        return self._take_by_blocks(rows)

    def tiles(self, size: int, first: int = 0) -> Iterator[tuple[int, int]]:
        """Consecutive (start, stop) of at most `size` rows, from row `first` on."""
        for start in range(first, len(self), size):
            yield start, min(start + size, len(self))

    def _take_by_blocks(self, rows: np.ndarray) -> np.ndarray:
        """One sweep over the blocks that hold a wanted row: a source without `take` is slow to read row by row."""
        taken = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        for start, stop in self.tiles(self._sweep):
            here = slice(*np.searchsorted(wanted, [start, stop]))
            if here.start < here.stop:
                taken[order[here]] = self.block(start, stop)[wanted[here] - start]
        return taken
