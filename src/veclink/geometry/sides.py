"""The two sides of a linking: what is done to the first is done to the second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")
Sides = tuple[np.ndarray, np.ndarray]
"""An array of A and one of B."""


def both(function: Callable[..., Result], *sides: tuple[Any, Any]) -> tuple[Result, Result]:
    """What a function gives for A, then for B: `both(f, (a, b), (x, y))` is `f(a, x), f(b, y)`."""
    of_a, of_b = zip(*sides, strict=True)
    return function(*of_a), function(*of_b)


def rows_of(sides: Sides, chosen: Sides) -> Sides:
    """The rows at the chosen positions of either side."""
    return sides[0][chosen[0]], sides[1][chosen[1]]
