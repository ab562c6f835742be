"""The few array functions whose names or results differ between numpy and torch, arrays of two sides, and rows.

Code that is written with these, with operators, and with the methods that both have (`sum(axis=…)`, `mean`, `reshape`)
runs on either. Torch is never imported here: an array that is no numpy array brings its own. Rows are vectors wherever
they lie: one protocol, and the way to have it of arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from veclink.errors import InputError, named

DEVICE_NUMBERS = 1 << 28  # that a torch device holds at once, of what is made block by block

Array = Any
"""A numpy array or a torch tensor."""
Some = TypeVar("Some", bound=Any)
"""The same kind of array as was given."""
Result = TypeVar("Result")
Sides = tuple[np.ndarray, np.ndarray]
"""An array of A and one of B: what is done to the first is done to the second."""


def both(function: Callable[..., Result], *sides: tuple[Any, Any]) -> tuple[Result, Result]:
    """What a function gives for A, then for B: `both(f, (a, b), (x, y))` is `f(a, x), f(b, y)`."""
    of_a, of_b = zip(*sides, strict=True)
    return function(*of_a), function(*of_b)


def rows_of(sides: Sides, chosen: Sides) -> Sides:
    """The rows at the chosen positions of either side."""
    return sides[0][chosen[0]], sides[1][chosen[1]]


def is_numpy(x: Array) -> bool:
    """Whether an array is numpy's."""
    return isinstance(x, np.ndarray)


def namespace(x: Array) -> Any:
    """The module that an array is of: numpy or torch."""
    return np if is_numpy(x) else sys.modules["torch"]


def asarray(values: np.ndarray, like: Array) -> Array:
    """A numpy array where `like` is: the same array, or a tensor on the device of `like`."""
    if is_numpy(like):
        return values
    return namespace(like).from_numpy(np.ascontiguousarray(values)).to(like.device)


def to_numpy(x: Array) -> np.ndarray:
    """An array as numpy's; copied from its device where it lies on one."""
    return x if is_numpy(x) else x.cpu().numpy()


def full(shape: int | tuple[int, ...], value: float, dtype: str, like: Array) -> Array:
    """An array of one value where `like` is. dtype: a name that numpy and torch share."""
    if is_numpy(like):
        return np.full(shape, value, dtype)
    torch = namespace(like)
    shape = (shape,) if isinstance(shape, int) else shape
    return torch.full(shape, value, dtype=getattr(torch, dtype), device=like.device)


def doubles(x: Array) -> Array:
    """The same numbers in float64."""
    return x.astype(np.float64) if is_numpy(x) else x.double()


def floats(x: Array) -> Array:
    """The same numbers in float32."""
    return x.astype(np.float32) if is_numpy(x) else x.float()


def integers(x: Array) -> Array:
    """The same numbers in int64, as indices have to be."""
    return x.astype(np.int64) if is_numpy(x) else x.long()


def order_of(x: Array, *, descending: bool = False) -> Array:
    """A stable order (n,) in which the values of x (n,) ascend, or descend."""
    if is_numpy(x):
        return np.argsort(-x if descending else x, kind="stable")
    return x.argsort(stable=True, descending=descending)


def running_max(x: Array) -> Array:
    """The largest of the values of x (n,) up to each."""
    return np.maximum.accumulate(x) if is_numpy(x) else x.cummax(dim=0).values


def along_rows(x: Array, index: Array) -> Array:
    """x[i, index[i, j]] for every i, j."""
    return np.take_along_axis(x, index, axis=1) if is_numpy(x) else x.gather(1, index)


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


def tiles(n: int, size: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """Consecutive (start, stop) of at most `size` of n rows, from row `first` on."""
    for start in range(first, n, size):
        yield start, min(start + size, n)


def checked(block: Array, first: int, side: str) -> Array:
    """A block of rows from row `first` on, once it is sure that its cosines are numbers.

    What compiled loops keep follows from comparisons, and none is true of NaN: their lists would stay empty, and what
    stands in empty lists is no row.
    """
    large = 1e4  # rows of unit length are far below, and their products inside float16 and float32
    if 0 in block.shape or bool((block.min() > -large) & (block.max() < large)):
        return block
    sound = (namespace(block).abs(block) < large).all(axis=1)
    wrong = first + np.flatnonzero(to_numpy(~sound))
    raise InputError(
        f"{side} has numbers that are NaN, infinite or above {large:,.0f} in row {named(wrong)}; give rows of unit "
        "length."
    )
