"""Links of an earlier run as pairs of rows of collections that have grown since."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.errors import InputError, plural
from veclink.linkers.span.constants import MIN_POOL


def earlier_pairs(links: Links | str | Path, a: Collection, b: Collection) -> np.ndarray:
    """Rows (m, 2) of the two collections that earlier links name and that are still there.

    By ids where the links and a collection have them; else by row, which a collection with fewer rows cannot have.
    """
    found = links if isinstance(links, Links) else Links.load(links)
    before_a, before_b = found.pairs.T
    rows_a = _rows(before_a, found.ids_a, found.summary.n_a, a, "A")
    rows_b = _rows(before_b, found.ids_b, found.summary.n_b, b, "B")
    pairs = np.column_stack([rows_a, rows_b])
    is_sure = found.probability >= 0.5  # less probable links are no start
    there = is_sure & (pairs >= 0).all(axis=1)
    count = np.count_nonzero(there)
    if count < MIN_POOL:
        raise InputError(
            f"Of {plural(len(found), 'earlier link')}, {count:,} are probable and name rows that are still "
            f"there, and a run goes on from {MIN_POOL}; check the collections, or start from seeds."
        )
    return pairs[there]


def _rows(rows: np.ndarray, ids: np.ndarray | None, size: int, collection: Collection, side: str) -> np.ndarray:
    """The row of each linked object (n,) in a collection; −1 where it is gone."""
    if ids is None or collection.ids is None:
        if len(collection) < size:
            raise InputError(
                f"{side} has {len(collection):,} rows and had {size:,} when the links were made, and no ids to find "
                "them by; give a collection that has grown, or one with ids."
            )
        return rows
    now = collection.ids.tolist()
    place = {key: row for row, key in enumerate(now)}
    rows_now = [place.get(key, -1) for key in ids.tolist()]
    return np.array(rows_now, np.int64)
