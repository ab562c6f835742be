"""Anchors: pairs of vectors that are taken to be the same object. Seeds are anchors that are rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from veclink.data.agreement import ColumnMatches
from veclink.data.collection import Collection
from veclink.data.pairs import lookup
from veclink.errors import InputError, plural
from veclink.geometry.clouds import Cloud

# Pairs taken from a column, or from earlier links, at most. More would not start better, and the rest stays a check
# of the links.
MAX_FROM_COLUMN = 200


@dataclass(frozen=True, eq=False)
class Anchors:
    """m pairs of vectors of the same objects, in the geometry of the two clouds (unit length, centred as they are).

    Attributes
    ----------
    left, right : ndarray of shape (m, d1) and (m, d2), float32
        The vectors of both sides.
    pairs : ndarray of shape (m, 2), int64, optional
        Their positions in the two clouds; None for out-of-domain anchors, which are in neither.
    trusted : bool
        Given by a person, who is believed while the pool is small and whose pairs are links; guessed ones are neither.
    name : str
        What reasons call them.
    marked : bool
        Whether their pairs stay in the pool and are marked as given; links that were found earlier do not and are not.
    by_column : bool
        Whether they are rows with equal values in a column.
    """

    left: np.ndarray
    right: np.ndarray
    pairs: np.ndarray | None = None
    trusted: bool = True
    name: str = "seeds"
    marked: bool = True
    by_column: bool = False

    def __len__(self) -> int:
        return len(self.left)

    @property
    def outside(self) -> bool:
        """Whether they are vectors of neither cloud."""
        return self.pairs is None

    @property
    def rows(self) -> np.ndarray:
        """Their positions in the two clouds, (m, 2); (0, 2) where they are outside."""
        return no_pairs() if self.pairs is None else self.pairs

    def subset(self, positions: np.ndarray, name: str | None = None) -> Anchors:
        """Some of them, under another name if one is given."""
        return replace(
            self,
            left=self.left[positions],
            right=self.right[positions],
            pairs=None if self.pairs is None else self.pairs[positions],
            name=name or self.name,
        )


class HasVectors(Protocol):
    """Two clouds that know the vectors of pairs of rows, such as a `CloudPair`."""

    def vectors(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of pairs of rows (m, 2), side by side."""


def no_pairs() -> np.ndarray:
    """Pairs of rows of which there are none, (0, 2)."""
    return np.empty((0, 2), np.int64)


def anchors_from_rows(clouds: HasVectors, pairs: np.ndarray, *, trusted: bool = True) -> Anchors:
    """Anchors that are rows. pairs: (m, 2) positions in the two clouds."""
    left, right = clouds.vectors(pairs)
    return Anchors(left, right, pairs, trusted=trusted)


def anchors_from_pairs(a: Cloud, b: Cloud, pairs: np.ndarray) -> Anchors:
    """Anchors that are rows. pairs: (m, 2) rows of the two collections, as from `resolve_pairs`."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rows_a = a.positions(pairs[:, 0])
    rows_b = b.positions(pairs[:, 1])
    return Anchors(a.take(rows_a), b.take(rows_b), np.column_stack([rows_a, rows_b]))


def anchors_from_column(a: Cloud, b: Cloud, matches: ColumnMatches, random_state: int) -> Anchors:
    """Anchors that are rows with equal values in a column: a random part of them, which may be wrong."""
    found = _some_pairs(a, b, matches.pairs, random_state)
    return replace(found, name=f"equal {matches.name}", by_column=True)


def anchors_from_links(a: Cloud, b: Cloud, pairs: np.ndarray, random_state: int) -> Anchors:
    """Anchors that are links of an earlier run: a random part of them, which may be wrong.

    pairs: (m, 2) rows of the two collections.
    """
    found = _some_pairs(a, b, pairs, random_state)
    return replace(found, name="earlier links", marked=False)


def _some_pairs(a: Cloud, b: Cloud, pairs: np.ndarray, random_state: int) -> Anchors:
    """A random part of pairs (m, 2) of rows of the two collections, as anchors that may be wrong."""
    there_a = lookup(a.rows, pairs[:, 0]) >= 0
    there_b = lookup(b.rows, pairs[:, 1]) >= 0
    pairs = pairs[there_a & there_b]  # zero vectors that were skipped have no partner
    rng = np.random.default_rng(random_state)
    chosen = rng.permutation(len(pairs))[:MAX_FROM_COLUMN]
    found = anchors_from_pairs(a, b, pairs[np.sort(chosen)])
    return replace(found, trusted=False)


def anchors_from_vectors(a: Cloud, b: Cloud, left: np.ndarray | Collection, right: np.ndarray | Collection) -> Anchors:
    """Out-of-domain anchors: row i of `left` (of A's model) and of `right` (of B's) are the same object."""
    if len(left) != len(right):
        raise InputError(
            f"There are {plural(len(left), 'anchor vector')} for A and {len(right):,} for B; "
            "row i of both must be the same object."
        )
    if not len(left):
        raise InputError("There are 0 anchor vectors; give some, or none at all.")
    of_a = a.project(left, what="The anchors' A side")
    of_b = b.project(right, what="The anchors' B side")
    return Anchors(of_a, of_b, name="anchors")
