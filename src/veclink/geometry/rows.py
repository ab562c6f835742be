"""Rows of vectors, wherever they lie: one protocol, and the ways to have it of arrays and of projected clouds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import numpy as np

from veclink.errors import InputError, named
from veclink.geometry.arrays import Array, namespace, to_numpy
from veclink.geometry.signatures import unit_rows
from veclink.threads import multiply

LARGEST = 1e4  # numbers of rows that are of unit length are far below, and their products inside float16 and float32
PROJECTED_AT_ONCE = 4096  # rows in one product: always the same, so that no row's numbers depend on who asks


class Rows(Protocol):
    """Vectors that are read when asked for, such as those of a `Cloud`: float32, of numpy or on a torch device."""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, dimension)."""

    def block(self, start: int, stop: int) -> Array:
        """Rows start…stop−1, (stop − start, dimension)."""

    def take(self, rows: np.ndarray) -> Array:
        """The rows at these positions, (len(rows), dimension), in their order."""


RowSource: TypeAlias = np.ndarray | Rows


class Unfinished(Protocol):
    """Where a long pass keeps what it has so far, to go on from there when it was broken off."""

    def load(self) -> dict[str, np.ndarray] | None:
        """The arrays kept last, if any."""

    def keep(self, done: int, of: int, lists: Callable[[], dict[str, np.ndarray]]) -> None:
        """Told after every tile of rows; takes the arrays when it wants to keep them."""


class ArrayRows:
    """Rows of an array of any float type, or of other rows, as float32 numpy arrays.

    Parameters
    ----------
    source : ndarray of shape (n, d), or Rows
        A float32 array is held as it is.
    budget : int
        Bytes. Other sources are held whole (`array`) if they fit; else they are read again each time.
    """

    def __init__(self, source: RowSource, budget: int = 0) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self.array: np.ndarray | None = None
        self._source = source
        if isinstance(source, np.ndarray) and source.dtype == np.float32 and source.flags.c_contiguous:
            self.array = self._source = np.asarray(source)
        elif 4 * self.shape[0] * self.shape[1] <= budget:
            self.array = self._source = self.block(0, self.shape[0])

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1, float32 and contiguous."""
        source = self._source
        part = source[start:stop] if isinstance(source, np.ndarray) else source.block(start, stop)
        return np.ascontiguousarray(part, dtype=np.float32)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions, float32 (len(rows), d), in their order."""
        source = self._source
        part = source[rows] if isinstance(source, np.ndarray) else source.take(rows)
        return np.ascontiguousarray(part, dtype=np.float32)


class ProjectedRows:
    """The rows of a cloud under a projection (d, m), of unit length, made when they are read."""

    def __init__(self, cloud: Rows, projection: np.ndarray) -> None:
        self.cloud = cloud
        self.projection = projection
        self.shape = (int(cloud.shape[0]), int(projection.shape[1]))

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1, (stop − start, m)."""
        rows = np.empty((stop - start, self.shape[1]), np.float32)
        for low in range(start, stop, PROJECTED_AT_ONCE):
            high = min(low + PROJECTED_AT_ONCE, stop)
            part = rows[low - start : high - start]
            multiply(self.cloud.block(low, high), self.projection, out=part, after=unit_rows)
        return rows

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions, (len(rows), m)."""
        return multiply(self.cloud.take(rows), self.projection, after=unit_rows)


def tiles(n: int, size: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) of at most `size` of n rows, from row `first` on."""
    for start in range(first, n, size):
        yield start, min(start + size, n)


def checked(block: Array, first: int, side: str) -> Array:
    """A block of rows from row `first` on, once it is sure that its cosines are numbers.

    What compiled loops keep follows from comparisons, and none is true of NaN: their lists would stay empty, and what
    stands in empty lists is no row.
    """
    if 0 in block.shape or bool((block.min() > -LARGEST) & (block.max() < LARGEST)):
        return block
    sound = (namespace(block).abs(block) < LARGEST).all(axis=1)
    wrong = first + np.flatnonzero(to_numpy(~sound))
    raise InputError(
        f"{side} has numbers that are NaN, infinite or above {LARGEST:,.0f} in row {named(wrong)}; give rows of unit "
        "length."
    )
