"""Anchors: pairs of vectors that are taken to be the same object. Seeds are anchors that are rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.data.pairs import lookup
from veclink.errors import InputError, plural
from veclink.geometry.clouds import Cloud

# Pairs taken from a column, or from earlier links, at most. More would not start better, and the rest stays a check
# of the links.
MAX_FROM_COLUMN = 200


@dataclass(frozen=True, eq=False)
class Anchors:
    """m pairs of vectors of the same objects, in the geometry of the two clouds (unit length, centred as they are)."""

    left: np.ndarray  # (m, d1) float32
    right: np.ndarray  # (m, d2) float32
    pairs: np.ndarray | None = None  # (m, 2) positions in the clouds; None for outside anchors, which are in neither
    # given by a person, who is believed while the pool is small and whose pairs are links; guessed ones are neither
    trusted: bool = True
    name: str = "seeds"  # what reasons call them
    # whether their pairs stay in the pool and are marked as given; links that were found earlier do not and are not
    marked: bool = True
    by_column: bool = False  # whether they are rows with equal values in a column

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

    def subset(self, positions: np.ndarray) -> Anchors:
        """Some of them."""
        return replace(
            self,
            left=self.left[positions],
            right=self.right[positions],
            pairs=None if self.pairs is None else self.pairs[positions],
        )


def no_pairs() -> np.ndarray:
    """Pairs of rows of which there are none, (0, 2)."""
    return np.empty((0, 2), np.int64)


def anchors_from_rows(clouds: CloudPair, pairs: np.ndarray, *, trusted: bool = True) -> Anchors:
    """Anchors that are rows. pairs: (m, 2) positions in the two clouds."""
    left, right = clouds.vectors(pairs)
    return Anchors(left, right, pairs, trusted=trusted)


def anchors_from_pairs(a: Cloud, b: Cloud, pairs: np.ndarray) -> Anchors:
    """Anchors that are rows. pairs: (m, 2) rows of the two collections, as from `resolve_pairs`."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rows_a = a.positions(pairs[:, 0])
    rows_b = b.positions(pairs[:, 1])
    return Anchors(a.take(rows_a), b.take(rows_b), np.column_stack([rows_a, rows_b]))


def anchors_in_doubt(a: Cloud, b: Cloud, pairs: np.ndarray, random_state: int, **known: Any) -> Anchors:
    """Anchors that are a random part of pairs (m, 2) of rows of the two collections, and may be wrong.

    They have equal values in a column, or are links of an earlier run. known: what else `Anchors` says of them.
    """
    there = (lookup(a.rows, pairs[:, 0]) >= 0) & (lookup(b.rows, pairs[:, 1]) >= 0)
    pairs = pairs[there]  # zero vectors that were skipped have no partner
    chosen = np.random.default_rng(random_state).permutation(len(pairs))[:MAX_FROM_COLUMN]
    return replace(anchors_from_pairs(a, b, pairs[np.sort(chosen)]), trusted=False, **known)


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
