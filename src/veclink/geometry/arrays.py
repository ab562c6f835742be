"""The few array functions whose names or results differ between numpy and torch, and arrays of two sides.

Code that is written with these, with operators, and with the methods that both have (`sum(axis=…)`, `mean`, `reshape`)
runs on either. Torch is never imported here: an array that is no numpy array brings its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

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


def concat(parts: Sequence[Array], axis: int = 0) -> Array:
    """The parts one after another."""
    return np.concatenate(parts, axis) if is_numpy(parts[0]) else namespace(parts[0]).cat(list(parts), axis)


def nonzero(x: Array) -> tuple[Array, ...]:
    """The positions that are true, one array for each axis."""
    return x.nonzero() if is_numpy(x) else x.nonzero(as_tuple=True)


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


def median(x: Array) -> float:
    """The median of values (n,)."""
    return float(np.median(x) if is_numpy(x) else x.quantile(0.5))
