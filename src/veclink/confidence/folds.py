"""Folds: which links each of several maps is fitted without, and which maps a pair may be scored by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.backends import CloudPair


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold the rows of a pool are in.

    Attributes
    ----------
    of_link : (m,) int64
        The fold of each link of the pool.
    of_a, of_b : (n_a,) and (n_b,) int64
        The fold of each row, −1 where it is not in the pool.
    count : int
    """

    of_link: np.ndarray
    of_a: np.ndarray
    of_b: np.ndarray
    count: int

    @classmethod
    def drawn(cls, pool: np.ndarray, clouds: CloudPair, rng: np.random.Generator, count: int) -> Folds:
        """Folds of equal size, but for one link, at random."""
        of_link = rng.permutation(len(pool)) % count
        of_a = np.full(clouds.n_a, -1)
        of_b = np.full(clouds.n_b, -1)
        of_a[pool[:, 0]] = of_link
        of_b[pool[:, 1]] = of_link
        return cls(of_link, of_a, of_b, count)

    def outside(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of A, and of B, that had no part in the map without this fold."""
        return (
            np.flatnonzero((self.of_a == fold) | (self.of_a < 0)),
            np.flatnonzero((self.of_b == fold) | (self.of_b < 0)),
        )

    def weights(self, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """(c, count) of 0 and 1: the maps that each pair is scored by.

        Those that neither row had a part in; where there is none, those that one of the two had no part in.
        """
        weights = np.ones((self.count, len(rows_a)), np.float32).T  # maps are gone through one by one
        # Of large clouds few rows are in the pool: all maps score the others.
        in_pool = np.flatnonzero((self.of_a[rows_a] >= 0) | (self.of_b[rows_b] >= 0))
        every = np.arange(self.count)
        of_a = self.of_a[rows_a[in_pool]][:, None]
        of_b = self.of_b[rows_b[in_pool]][:, None]
        free_a = (of_a == every) | (of_a < 0)
        free_b = (of_b == every) | (of_b < 0)
        both = free_a & free_b
        either = free_a | free_b
        has_both = both.any(axis=1, keepdims=True)
        weights[in_pool] = np.where(has_both, both, either)
        return weights
