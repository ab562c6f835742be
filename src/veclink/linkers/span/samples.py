"""Rows of two clouds to search on: some of them, whitened."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import matmul

import numpy as np

from veclink.geometry.arrays import Sides, both, rows_of
from veclink.linkers.span.constants import (
    SHARED_DIRECTIONS,
)
from veclink.linkers.span.directions import leading, whitening
from veclink.linkers.span.search_constants import (
    UNSEEN_DIRECTIONS,
)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of two clouds to search on: whitened, and in how they were whitened.

    Attributes
    ----------
    rows : ndarrays of shape (n1, r) and (n2, r)
        Whitened principal coordinates.
    whitening : ndarrays of shape (d1, r) and (d2, r)
        From unit rows to those.
    chosen : ndarrays
        Positions of the rows among those that were sampled.
    """

    rows: Sides
    whitening: Sides
    chosen: Sides

    def projections(self, joint: np.ndarray, power: float) -> Sides:
        """From unit rows to the directions that a cross-covariance (r, r) of the whitened ones shares."""
        shared = leading(joint, SHARED_DIRECTIONS, power)
        return both(matmul, self.whitening, shared)


def sample(clouds: Sides, pairs: int, rng: np.random.Generator) -> Sampled:
    """Rows of both clouds, at most so many pairs of them: all of a small cloud, more of the other then."""
    as_many_each = int(np.sqrt(pairs))
    fewer = min(*both(len, clouds), as_many_each)
    draw = partial(some_rows, most=pairs // fewer, rng=rng)
    chosen = both(draw, clouds)
    whitened_by = _of_one_width(both(_whitening, clouds))
    rows = whitened(rows_of(clouds, chosen), whitened_by)
    return Sampled(rows, whitened_by, chosen)


def wide_rows(clouds: Sides, sampled: Sampled) -> Sides:
    """The sampled rows along many more principal directions than are turned, whitened."""
    directions = both(partial(whitening, count=UNSEEN_DIRECTIONS), clouds)
    return whitened(rows_of(clouds, sampled.chosen), _of_one_width(directions))


def whitened(rows: Sides, whitened_by: Sides) -> Sides:
    """Rows of both clouds along the directions that whiten them, of mean square 1."""
    return both(_of_mean_square_1, both(matmul, rows, whitened_by))


def some_rows(cloud: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of all rows of a cloud, or of a larger one of so many, ascending."""
    n = len(cloud)
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, most, replace=False))


def _whitening(points: np.ndarray) -> np.ndarray:
    return whitening(points, SHARED_DIRECTIONS)


def _of_one_width(projections: Sides) -> Sides:
    """Both with as many directions as the one that has fewer."""
    of_a, of_b = projections
    width = min(of_a.shape[1], of_b.shape[1])
    return of_a[:, :width], of_b[:, :width]


def _of_mean_square_1(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows**2).mean())
