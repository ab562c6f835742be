"""Linking with copies: one row of each group is linked, and the links are those of the groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.pairs import lookup
from veclink.geometry.arrays import Sides, both
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import Groups, copy_groups, without_copies


@dataclass(frozen=True, eq=False)
class Grouped:
    """Two clouds of which one row of each group of copies is left."""

    clouds: tuple[Cloud, Cloud]  # without copies
    groups: tuple[Groups, Groups]  # of the rows that they had
    rows: Sides  # of the collections, that those were, ascending

    @property
    def copies(self) -> tuple[int, int]:
        """How many rows of A and of B are left out."""
        return self.groups[0].copies, self.groups[1].copies

    def seeds(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of rows of the collections (m, 2) as pairs of the rows that stand for them, each row once.

        A row that is not in its cloud stays as it is.
        """
        stand = pairs.copy()
        for side, (groups, rows) in enumerate(zip(self.groups, self.rows, strict=True)):
            place = lookup(rows, pairs[:, side])
            stand[place >= 0, side] = rows[groups.first[place[place >= 0]]]
        for side in (0, 1):
            _, first = np.unique(stand[:, side], return_index=True)
            stand = stand[np.sort(first)]
        return stand

    def expanded(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every row of the one group with every row of the other, for pairs of rows that stand for groups (n, 2).

        Gives pairs (p, 2), and which of the given ones each is of (p,), ascending.
        """
        (rows_a, sizes_a), (rows_b, sizes_b) = (self._members(side, pairs[:, side]) for side in (0, 1))
        counts = sizes_a * sizes_b
        source = np.repeat(np.arange(len(counts)), counts)
        place_in_a, place_in_b = np.divmod(_within(counts), sizes_b[source])
        left = rows_a[(np.cumsum(sizes_a) - sizes_a)[source] + place_in_a]
        right = rows_b[(np.cumsum(sizes_b) - sizes_b)[source] + place_in_b]
        return np.column_stack([left, right]), source

    def _members(self, side: int, rows: np.ndarray) -> Sides:
        """All rows of the groups that these rows (m,) stand for, group by group, and how many each has: (m,)."""
        order, spans = self.groups[side].members()
        first, last = spans[np.searchsorted(self.rows[side], rows)].T
        sizes = last - first
        return self.rows[side][order[np.repeat(first, sizes) + _within(sizes)]], sizes


def grouped(a: Cloud, b: Cloud) -> Grouped:
    """Both clouds without their copies."""
    groups = both(copy_groups, (a, b))
    return Grouped(both(without_copies, (a, b), groups), groups, (a.rows, b.rows))


def _within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, 2 … in groups of these sizes (m,), one after another."""
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.arange(len(starts)) - starts
