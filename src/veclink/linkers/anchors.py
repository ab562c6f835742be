"""Seeds and anchors: pairs of rows, or pairs of vectors that are in neither cloud."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, plural
from veclink.geometry.clouds import Cloud


@dataclass(frozen=True, eq=False)
class Anchors:
    """m pairs of vectors of the same objects, in the geometry of the two clouds (unit length, centred as they are).

    left, right: (m, d1) and (m, d2) float32.
    pairs: (m, 2) int64 positions in the two clouds; None for out-of-domain anchors, which are in neither.
    """

    left: np.ndarray
    right: np.ndarray
    pairs: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.left)


def anchors_from_pairs(a: Cloud, b: Cloud, pairs: np.ndarray) -> Anchors:
    """Anchors that are rows of the clouds. pairs: (m, 2) rows of the two collections, as from `resolve_pairs`."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    here = np.column_stack([a.positions(pairs[:, 0]), b.positions(pairs[:, 1])])
    return Anchors(a.take(here[:, 0]), b.take(here[:, 1]), here)


def anchors_from_vectors(a: Cloud, b: Cloud, left: np.ndarray | Collection, right: np.ndarray | Collection) -> Anchors:
    """Out-of-domain anchors: row i of `left` (of A's model) and of `right` (of B's) are the same object."""
    if len(left) != len(right):
        raise InputError(
            f"There are {plural(len(left), 'anchor vector')} for A and {len(right):,} for B; "
            "row i of both must be the same object."
        )
    if not len(left):
        raise InputError("There are 0 anchor vectors; give some, or none at all.")
    return Anchors(a.project(left, what="The anchors' A side"), b.project(right, what="The anchors' B side"))
