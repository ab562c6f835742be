"""Linking with copies: one row of each group is linked, and the links are those of the groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.geometry.copies import Groups, copy_groups, without_copies


@dataclass(frozen=True, eq=False)
class Grouped:
    """Two clouds of which one row of each group of copies is left.

    Attributes
    ----------
    a, b : Cloud
        Without copies.
    groups_a, groups_b : Groups
        Of the rows that they had.
    rows_a, rows_b : (n,) int64
        The rows of the collections that those were.
    """

    a: Cloud
    b: Cloud
    groups_a: Groups
    groups_b: Groups
    rows_a: np.ndarray
    rows_b: np.ndarray

    @property
    def copies(self) -> tuple[int, int]:
        """How many rows of A and of B are left out."""
        return self.groups_a.copies, self.groups_b.copies

    def seeds(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of rows of the collections (m, 2) as pairs of the rows that stand for them, each row once."""
        of_a = _chosen_rows(pairs[:, 0], self.rows_a, self.groups_a)
        of_b = _chosen_rows(pairs[:, 1], self.rows_b, self.groups_b)
        stand = np.column_stack([of_a, of_b])
        for side in (0, 1):
            _, first = np.unique(stand[:, side], return_index=True)
            stand = stand[np.sort(first)]
        return stand

    def expanded(self, links: Links) -> Links:
        """The links with all rows of both groups, each as probable as the one that was found."""
        if links.considered is not None:
            links = replace(links, considered=self.expanded(links.considered))
        rows_a, at_a = _all_members(links.pairs[:, 0], self.rows_a, self.groups_a)
        rows_b, at_b = _all_members(links.pairs[:, 1], self.rows_b, self.groups_b)
        pairs, source = _products(rows_a, at_a, rows_b, at_b)
        ids_a, ids_b = self.a.collection.ids, self.b.collection.ids
        return replace(
            links,
            pairs=pairs,
            probability=links.probability[source],
            summary=replace(links.summary, n_links=len(pairs)),
            evidence={name: column[source] for name, column in links.evidence.items()},
            ids_a=None if ids_a is None else ids_a[pairs[:, 0]],
            ids_b=None if ids_b is None else ids_b[pairs[:, 1]],
        )


def grouped(a: Cloud, b: Cloud) -> Grouped:
    """Both clouds without their copies."""
    groups_a, groups_b = copy_groups(a), copy_groups(b)
    return Grouped(
        without_copies(a, groups_a),
        without_copies(b, groups_b),
        groups_a,
        groups_b,
        a.rows,
        b.rows,
    )


def _chosen_rows(rows: np.ndarray, source: np.ndarray, groups: Groups) -> np.ndarray:
    """The rows of a collection that stand for these (m,); a row that is not in the cloud stays as it is."""
    place = np.minimum(np.searchsorted(source, rows), len(source) - 1)
    known = source[place] == rows
    return np.where(known, source[groups.first[place]], rows)


def _all_members(rows: np.ndarray, source: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """All rows of the groups that these rows (m,) stand for, group by group, and where each starts: (m + 1,)."""
    order, spans = groups.members()
    span = spans[np.searchsorted(source, rows)]
    sizes = span[:, 1] - span[:, 0]
    starts = np.r_[0, np.cumsum(sizes)]
    offset = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    members = order[np.repeat(span[:, 0], sizes) + offset]
    return source[members], starts


def _products(
    rows_a: np.ndarray,
    at_a: np.ndarray,
    rows_b: np.ndarray,
    at_b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Every row of group i of A with every row of group i of B: pairs (p, 2), and the i of each (p,)."""
    sizes_a, sizes_b = np.diff(at_a), np.diff(at_b)
    counts = sizes_a * sizes_b
    source = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    left = rows_a[at_a[source] + within // sizes_b[source]]
    right = rows_b[at_b[source] + within % sizes_b[source]]
    return np.column_stack([left, right]), source
