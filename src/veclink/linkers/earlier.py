"""Links of an earlier run as pairs of rows of collections that have grown since."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.errors import InputError, plural

LEAST = 30
"""Earlier links that a run can go on from: as few as a pool needs."""
SURE = 0.5
"""Earlier links that are less probable are no start."""


def earlier_pairs(links: Links | str | Path, a: Collection, b: Collection) -> np.ndarray:
    """Rows (m, 2) of the two collections that earlier links name and that are still there.

    By ids where the links and a collection have them; else by row, which a collection with fewer rows cannot have.
    """
    found = links if isinstance(links, Links) else Links.load(links)
    rows_a = _rows(found.pairs[:, 0], found.ids_a, found.summary.n_a, a, "A")
    rows_b = _rows(found.pairs[:, 1], found.ids_b, found.summary.n_b, b, "B")
    there = (rows_a >= 0) & (rows_b >= 0) & (found.probability >= SURE)
    if there.sum() < LEAST:
        raise InputError(
            f"Of {plural(len(found), 'earlier link')}, {int(there.sum()):,} are probable and name rows that are still "
            f"there, and a run goes on from {LEAST}; check the collections, or start from seeds."
        )
    return np.column_stack([rows_a, rows_b])[there]


def _rows(rows: np.ndarray, ids: np.ndarray | None, size: int, collection: Collection, side: str) -> np.ndarray:
    """The row of each linked object (n,) in a collection; −1 where it is gone."""
    if ids is None or collection.ids is None:
        if len(collection) < size:
            raise InputError(
                f"{side} has {len(collection):,} rows and had {size:,} when the links were made, and no ids to find "
                "them by; give a collection that has grown, or one with ids."
            )
        return rows
    place = {key: row for row, key in enumerate(collection.ids.tolist())}
    return np.array([place.get(key, -1) for key in ids.tolist()], np.int64)
