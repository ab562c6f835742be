"""Whether a place holds just what would be written there: what a run that was killed at its very end has left.

Without it the same command, run again, would refuse to write over its own work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.ids import table_path
from veclink.errors import VeclinkError, needed
from veclink.files.fingerprints import file_digest
from veclink.files.tables import UNREADABLE, read_columns, write_table
from veclink.geometry.signatures import unit_rows
from veclink.stores import open_store
from veclink.stores.protocol import Batch, Store
from veclink.uses.merging import Merged
from veclink.uses.translating import Translator

ALIKE = 0.99999
"""The least cosine of a row and of what a store made of it: half precision loses a tenth of that."""
AS_LONG = 0.01
"""By how much of itself the length of a row may have changed; stores that normalise make it 1."""


DUPLICATES = ("a", "b", "probability")
"""The columns of `Merged.duplicates`."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The rows that would be written.

    Attributes
    ----------
    count, dimension : int
        How many there are, and of how many numbers.
    ids : (n,) array or None
        What each is called; None where it is its place.
    vectors : callable
        The vectors (m, d) of the rows at some places (m,).
    payload : pyarrow.Table, optional
        A line for each row: all that would be written beside it.
    """

    count: int
    dimension: int
    ids: np.ndarray | None
    vectors: Callable[[np.ndarray], np.ndarray]
    payload: Any = None


def may_hold(store: Store, a: Collection, b: Collection) -> bool:
    """Whether a store is of a size that a merge of A and B may have; tells most other collections without any work."""
    return max(len(a), len(b)) <= rows_of(store) <= len(a) + len(b)


def rows_of(store: Store) -> int:
    """How many rows a store holds; −1 where there is none, or something else that cannot be read."""
    try:
        return store.count() if store.exists() else -1
    except VeclinkError:
        return -1


def holds_merged(store: Store, merged: Merged) -> bool:
    """Whether a store holds just the rows of a merge: their ids, their vectors and all that is kept beside them."""
    rows, n_b = merged.rows, len(merged.rows.b)
    width = merged.summary.dimension

    def vectors(places: np.ndarray) -> np.ndarray:
        found = np.zeros((len(places), width), np.float32)
        of_b = places < n_b
        found[of_b, : rows.b.dimension] = numbers(rows.b, places[of_b])
        new = numbers(rows.a, rows.alone[places[~of_b] - n_b])
        if merged.translator is not None:
            new = merged.translator.transform(new)
        found[~of_b, : new.shape[1]] = new
        return found

    payload = rows.payload(0, len(rows))
    return holds(store, Wanted(len(rows), width, rows.ids, vectors, payload))


def holds_translated(store: Store, source: Collection, translator: Translator) -> bool:
    """Whether a store holds just the translated rows of a collection."""

    def vectors(places: np.ndarray) -> np.ndarray:
        return translator.transform(numbers(source, places))

    payload = source.payload if store.keeps_payload else None
    return holds(store, Wanted(len(source), translator.dimensions[1], source.ids, vectors, payload))


def may_be_table(path: Path, a: str) -> bool:
    """Whether a file may list which rows of A are in B; tells most other files before A is read."""
    try:
        found = read_columns(path, DUPLICATES)
        with open_store(a) as store:
            return tuple(found.names) == DUPLICATES and len(found.places) == rows_of(store)
    except (VeclinkError, *UNREADABLE):
        return False


def table_is_there(path: Path, columns: dict[str, np.ndarray]) -> bool:
    """Whether a file of a table is, byte for byte, what would be written."""
    with TemporaryDirectory() as folder:
        fresh = Path(folder) / path.name
        write_table(fresh, columns)
        return file_digest(fresh) == file_digest(path)


def holds(store: Store, wanted: Wanted) -> bool:
    """Whether a store holds just these rows, in any order."""
    if rows_of(store) != wanted.count or store.dimension() != wanted.dimension:
        return False
    place = _places(wanted.ids)
    beside = _table_beside(store)
    start = 0
    with store.errors():
        for batch in store.batches(payload=store.keeps_payload):
            at = _places_of(batch, place, start)
            stop = start + len(batch)
            if (at < 0).any() or not _alike(batch.vectors, wanted.vectors(at)):
                return False
            kept = batch.payload if store.keeps_payload else _lines(beside, start, stop)
            if wanted.payload is not None and not _same_columns(kept, wanted.payload.take(at)):
                return False
            start = stop
    return True


def _places(ids: np.ndarray | None) -> dict[str, int] | None:
    return None if ids is None else {str(each): place for place, each in enumerate(ids.tolist())}


def _places_of(batch: Batch, place: dict[str, int] | None, start: int) -> np.ndarray:
    """Where the rows of a batch stand among the wanted ones (n,), −1 for one that is not wanted."""
    if place is None or batch.ids is None:
        return np.arange(start, start + len(batch))
    return np.array([place.get(str(each), -1) for each in batch.ids.tolist()], np.int64)


def _alike(there: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether rows (n, d) are the same but for rounding, or for their length where a store made all of them 1."""
    there = there.astype(np.float32)
    cosine = np.einsum("ij,ij->i", unit_rows(there), unit_rows(wanted))
    length, wanted_length = (np.linalg.norm(rows, axis=1) for rows in (there, wanted))
    as_long = np.abs(length - wanted_length) <= AS_LONG * wanted_length
    normalised = np.abs(length - 1) <= AS_LONG
    is_zero = ~wanted.any(axis=1)
    return bool(((cosine >= ALIKE) & (as_long | normalised) | is_zero & ~there.any(axis=1)).all())


def _same_columns(there: Any, wanted: Any) -> bool:
    """Whether a table has all columns that are wanted, with the same values; an empty column may be missing."""
    for name in wanted.column_names:
        texts = _texts(wanted.column(name))
        if there is None or name not in there.column_names:
            if any(texts):
                return False
        elif _texts(there.column(name)) != texts:
            return False
    return True


def _table_beside(store: Store) -> Any:
    """The table beside a file that keeps vectors only; None where there is none."""
    if store.keeps_payload or store.address.path is None or not table_path(store.address.path).exists():
        return None
    parquet: Any = needed("pyarrow.parquet", "The table of a merged collection")
    return parquet.read_table(table_path(store.address.path))


def _lines(table: Any, start: int, stop: int) -> Any:
    return None if table is None else table.slice(start, stop - start)


def _texts(column: Any) -> list[str]:
    """The values of a column as stores of all kinds keep them: numbers to six digits, nothing as an empty text."""
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
