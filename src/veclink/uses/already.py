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
from veclink.errors import needed
from veclink.files.fingerprints import file_digest
from veclink.files.tables import write_table
from veclink.geometry.signatures import unit_rows
from veclink.stores.protocol import Batch, Store
from veclink.uses.merged_rows import names
from veclink.uses.merging import Merged
from veclink.uses.translating import Translator

ALIKE = 0.999
"""The least cosine of a row and of what a store made of it: half precision and other rounding lose far less."""


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
    objects_of_a : (n,) array of str, optional
        Of a merge: the id that each row has in A, "" where it has none.
    """

    count: int
    dimension: int
    ids: np.ndarray | None
    vectors: Callable[[np.ndarray], np.ndarray]
    objects_of_a: np.ndarray | None = None


def may_hold(store: Store, a: Collection, b: Collection) -> bool:
    """Whether a store is of a size that a merge of A and B may have; tells most other collections without any work."""
    return store.exists() and max(len(a), len(b)) <= store.count() <= len(a) + len(b)


def holds_merged(store: Store, merged: Merged) -> bool:
    """Whether a store holds just the rows of a merge: their ids, their vectors and what they are in A."""
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

    in_a = np.concatenate([rows.partner, rows.alone])
    known = np.where(in_a < 0, "", names(rows.a).astype(str)[in_a])
    return holds(store, Wanted(len(rows), width, rows.ids, vectors, known))


def holds_translated(store: Store, source: Collection, translator: Translator) -> bool:
    """Whether a store holds just the translated rows of a collection."""

    def vectors(places: np.ndarray) -> np.ndarray:
        return translator.transform(numbers(source, places))

    return holds(store, Wanted(len(source), translator.dimensions[1], source.ids, vectors))


def table_is_there(path: Path, columns: dict[str, np.ndarray]) -> bool:
    """Whether a file of a table is, byte for byte, what would be written."""
    with TemporaryDirectory() as folder:
        fresh = Path(folder) / path.name
        write_table(fresh, columns)
        return file_digest(fresh) == file_digest(path)


def holds(store: Store, wanted: Wanted) -> bool:
    """Whether a store holds just these rows, in any order."""
    if not store.exists() or store.count() != wanted.count or store.dimension() != wanted.dimension:
        return False
    place = _places(wanted.ids)
    objects_beside = _objects_beside(store)
    start = 0
    with store.errors():
        for batch in store.batches(payload=store.keeps_payload):
            at = _places_of(batch, place, start)
            stop = start + len(batch)
            if (at < 0).any() or not _alike(batch.vectors, wanted.vectors(at)):
                return False
            objects = _objects(batch) if store.keeps_payload else objects_beside[start:stop]
            if wanted.objects_of_a is not None and not np.array_equal(objects, wanted.objects_of_a[at]):
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
    """Whether rows (n, d) point the same way; zero vectors count as alike."""
    cosine = np.einsum("ij,ij->i", unit_rows(there.astype(np.float32)), unit_rows(wanted))
    return bool(((cosine >= ALIKE) | ~wanted.any(axis=1)).all())


def _objects(batch: Batch) -> np.ndarray:
    if batch.payload is None or "id_a" not in batch.payload.column_names:
        return _texts([])
    return _texts(batch.payload.column("id_a").to_pylist())


def _objects_beside(store: Store) -> np.ndarray:
    """The ids in A by the table beside a file that keeps vectors only; empty where there is none."""
    if store.keeps_payload or store.address.path is None or not table_path(store.address.path).exists():
        return _texts([])
    parquet: Any = needed("pyarrow.parquet", "The table of a merged collection")
    table = parquet.read_table(table_path(store.address.path), columns=["id_a"])
    return _texts(table.column("id_a").to_pylist())


def _texts(values: list[Any]) -> np.ndarray:
    return np.array(["" if value is None else str(value) for value in values], dtype=str)
