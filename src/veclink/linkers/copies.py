"""Linking with copies: one row of each group is linked, and the links are those of the groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.pairs import lookup
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import Groups, copy_groups, without_copies


@dataclass(frozen=True, eq=False)
class WithoutCopies:
    """A cloud of which one row of each group of copies is left.

    Attributes
    ----------
    cloud : Cloud
        Without copies.
    groups : Groups
        Of the rows that it had.
    rows : (n,) int64
        The rows of the collection that those were, ascending.
    """

    cloud: Cloud
    groups: Groups
    rows: np.ndarray

    def stand_for(self, rows: np.ndarray) -> np.ndarray:
        """The rows of the collection that stand for these (m,); a row that is not in the cloud stays as it is."""
        place = lookup(self.rows, rows)
        chosen = self.rows[self.groups.first[place]]
        return np.where(place >= 0, chosen, rows)

    def members(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All rows of the groups that these rows (m,) stand for, group by group, and where each starts: (m + 1,)."""
        order, spans = self.groups.members()
        place = np.searchsorted(self.rows, rows)
        first, last = spans[place].T
        sizes = last - first
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = order[np.repeat(first, sizes) + _within(sizes)]
        return self.rows[members], starts


@dataclass(frozen=True, eq=False)
class Grouped:
    """Two clouds without their copies."""

    left: WithoutCopies
    right: WithoutCopies

    @property
    def clouds(self) -> tuple[Cloud, Cloud]:
        """Those of A and of B."""
        return self.left.cloud, self.right.cloud

    @property
    def copies(self) -> tuple[int, int]:
        """How many rows of A and of B are left out."""
        return self.left.groups.copies, self.right.groups.copies

    def seeds(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of rows of the collections (m, 2) as pairs of the rows that stand for them, each row once."""
        of_a = self.left.stand_for(pairs[:, 0])
        of_b = self.right.stand_for(pairs[:, 1])
        stand = np.column_stack([of_a, of_b])
        for side in (0, 1):
            _, first = np.unique(stand[:, side], return_index=True)
            stand = stand[np.sort(first)]
        return stand

    def expanded(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every row of the one group with every row of the other, for pairs of rows that stand for groups (n, 2).

        Gives pairs (p, 2), and which of the given ones each is of (p,), ascending.
        """
        rows_a, at_a = self.left.members(pairs[:, 0])
        rows_b, at_b = self.right.members(pairs[:, 1])
        sizes_a, sizes_b = np.diff(at_a), np.diff(at_b)
        counts = sizes_a * sizes_b
        source = np.repeat(np.arange(len(counts)), counts)
        place_in_a, place_in_b = np.divmod(_within(counts), sizes_b[source])
        left = rows_a[at_a[source] + place_in_a]
        right = rows_b[at_b[source] + place_in_b]
        return np.column_stack([left, right]), source


def grouped(a: Cloud, b: Cloud) -> Grouped:
    """Both clouds without their copies."""
    return Grouped(_without_copies(a), _without_copies(b))


def _without_copies(cloud: Cloud) -> WithoutCopies:
    groups = copy_groups(cloud)
    return WithoutCopies(without_copies(cloud, groups), groups, cloud.rows)


def _within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, 2 … in groups of these sizes (m,), one after another."""
    ends = np.cumsum(sizes)
    starts = np.repeat(ends - sizes, sizes)
    return np.arange(len(starts)) - starts
