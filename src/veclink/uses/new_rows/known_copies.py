"""New rows that are copies of rows their side has already: they stand for an object that was judged before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import VeclinkError
from veclink.files.fingerprints import rows_digest
from veclink.geometry.clouds import Cloud
from veclink.geometry.copies import SAME
from veclink.geometry.rows import tiles
from veclink.geometry.signatures import unit_rows
from veclink.stores.opening import open_collection
from veclink.threads import multiply
from veclink.uses.new_rows.held import Held, whole_of
from veclink.uses.new_rows.knowledge import Knowledge, KnownSide

BLOCK = 4096  # known rows that the new ones are compared with at a time


def without_copies(new: Cloud, knowledge: Knowledge, side: int, held: Held) -> Cloud:
    """The new rows of one side but those that are equal, up to rounding, to a row that the side has already.

    They are compared with the rows that the linker keeps. Where one of them is among those, with all rows of the side,
    if they are in memory or in a file that they were read from: to read a large side each time would take longer than
    the matching.
    """
    known = knowledge.sides[side]
    vectors = new.block(0, len(new))
    kept = unit_rows(np.concatenate([known.backdrop, knowledge.nearby.vectors(side)]))  # rounding changed their lengths
    is_copy = _are_among(vectors, kept)
    if not is_copy.any():
        return new
    at_hand = _rows_at_hand(held, known, side)
    if at_hand is not None:
        for start, stop in tiles(len(at_hand), BLOCK):
            is_copy |= _are_among(vectors, at_hand.block(start, stop))
    return Cloud(new.collection, new.rows[~is_copy], new.mean)


def _are_among(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the rows (m, d) are among the others (n, d), all of unit length: (m,) bool."""
    return multiply(vectors, others.T).max(axis=1, initial=-1.0) >= 1 - SAME


def _rows_at_hand(held: Held, known: KnownSide, side: int) -> Cloud | None:
    """The known rows of a side that are in memory, or in the file that it was read from; None where there are none."""
    if held.parts[side]:
        return Cloud(whole_of(held, side), known.rows, known.mean)
    source = held.sources[side]
    if source is None or not Path(source).is_file():
        return None
    try:
        collection = open_collection(source, payload=False)
    except VeclinkError:  # nothing is lost but the count
        return None
    rows = known.rows[known.rows < _still_there(collection, known)]
    return Cloud(collection, rows, known.mean) if len(rows) else None


def _still_there(collection: Collection, known: KnownSide) -> int:
    """How many rows at the start of a collection are the known ones: it may have grown, or lack later ones."""
    stop = 0
    if collection.dimension != len(known.mean):
        return stop
    for part in known.parts:
        rows = collection.vectors[stop : stop + part.rows]
        if len(rows) < part.rows or rows_digest(rows) != part.fingerprint:
            break
        stop += part.rows
    return stop
