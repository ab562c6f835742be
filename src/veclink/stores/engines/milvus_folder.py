"""A Milvus Lite "file" (it is a folder), read from its Parquet files batch by batch.

The client would load all rows into memory before it gives the first one, and send them to itself over a socket. Here
only the keys are held, in order to leave out the rows that were deleted or written again since.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from veclink.data.ids import as_ids
from veclink.errors import StoreError, needed
from veclink.files.locks import locked
from veclink.stores.arrow import id_values, matrix, table_of
from veclink.stores.engines.milvus import MilvusStore
from veclink.stores.engines.milvus_check import MARK, damaged, has_rows
from veclink.stores.engines.replacing import Replacement, asked_for
from veclink.stores.formats.parquet_folder import file_rows
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, Store
from veclink.stores.urls import Address

SEQUENCE, MORE = "_seq", "$meta"  # columns of the engine's own: when a row was written, and fields beyond the schema
_PLAIN = {"bool", "int8", "int16", "int32", "int64", "float", "double", "varchar", "float_vector"}


def open_folder(address: Address) -> MilvusFolder | None:
    """The collection, None where the client has to read it: filters, rows not yet in files, a layout not known here."""
    assert address.path is not None
    if address.where or not address.path.is_dir():
        return None
    try:
        folders = [each for each in (address.path / "collections").iterdir() if each.is_dir()]
        present = [each.name for each in folders]
        names = [address.table] if address.table else list(asked_for(present, MARK))
        folder = address.path / "collections" / Replacement(names[0], MARK).held_as(present)
        if len(names) != 1 or folder not in folders:
            return None
    except (OSError, IndexError):
        return None
    lock = locked(address.path / "LOCK", shared=True)
    if lock is None:
        return None  # the client says that somebody else has it open
    try:
        schema, manifest = (_description(folder / name) for name in ("schema.json", "manifest.json"))
        known = (schema["schema_format_version"], manifest["manifest_format_version"]) == (2, 2)
        plain = {each["dtype"] for each in schema["fields"]} <= _PLAIN
        waiting = any((folder / "wal").glob("*.arrow"))
        if known and plain and not waiting:
            return MilvusFolder(address, folder, schema, manifest, lock)
    except StoreError:
        os.close(lock)
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # not a layout that is known here: the client reads it, or says what is wrong
    os.close(lock)
    return None


def _description(file: Path) -> dict[str, Any]:
    """What a file says of the collection.

    One that is damaged is never left to the client, which falls back to an older one and then removes the rows that it
    does not list.
    """
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if has_rows(file.parent):
            raise damaged(file) from error
        raise
    return found


class MilvusFolder(MilvusStore):
    """A collection of a Milvus Lite folder, read-only, in the order in which it was filled; holds a shared lock."""

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        """A folder that is only read is read here where that is possible; else through the client."""
        cls._package()
        folder = None if writable or address.path is None else open_folder(address)
        return MilvusStore(address, writable=writable) if folder is None else folder

    def __init__(
        self, address: Address, folder: Path, schema: dict[str, Any], manifest: dict[str, Any], lock: int
    ) -> None:
        super().__init__(address, writable=False)
        self._collection = folder.name
        self._schema, self._manifest, self._lock = schema, manifest, lock
        self._closed = False
        parts = manifest["partitions"].items()
        self._files = [folder / "partitions" / name / file for name, part in parts for file in part["data_files"]]
        self._deletes = [folder / "partitions" / name / file for name, part in parts for file in part["delta_files"]]
        if not all(file.resolve().is_relative_to(folder.resolve()) for file in self._files + self._deletes):
            # the engine would read them
            raise StoreError(f"{self.name} names files that are not of this collection; restore it from a backup.")

    @cached_property
    def _described(self) -> dict[str, Any]:
        fields = [
            {**each, "type": SimpleNamespace(name=each["dtype"].upper()), "params": {"dim": each["dim"]}}
            for each in self._schema["fields"]
        ]
        return {**self._schema, "fields": fields}

    def exists(self) -> bool:
        return True

    def version(self) -> str:
        return str(self._manifest["version"])

    def count(self) -> int:
        return sum(int(alive.sum()) for alive in self._alive)

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        key, vector, field = self._key, self._vector["name"], self.address.id or self._key
        scalars = [each["name"] for each in self._described["fields"] if each not in self._vectors]
        more = self._schema["enable_dynamic_field"] and (payload or field not in scalars)
        names = [*(scalars if payload else {key, field} & set(scalars)), vector, *([MORE] if more else [])]
        arrow: Any = needed("pyarrow", "Milvus")
        with self.errors():
            for place, records in file_rows(self._files, size, after, names):
                number, end = place
                start = end - records.num_rows
                alive = self._alive[number][start:end]
                if not alive.all():
                    records = records.filter(arrow.array(alive))
                if not records.num_rows:
                    continue
                beyond = _beyond(records) if more else []
                ids = id_values(records.column(field)) if field in scalars else [row.pop(field) for row in beyond]
                table = None
                if payload:
                    table = arrow.Table.from_batches([records.select([name for name in scalars if name != field])])
                    if (others := table_of(beyond)) is not None:
                        for name in others.column_names:
                            table = table.append_column(name, others.column(name))
                yield Batch(
                    matrix(records.column(vector), start, None, self.name),
                    as_ids(ids, self.name),
                    table if table is not None and table.num_columns else None,
                    place,
                )
                if self._closed:
                    raise StoreError(f"{self.name} could not be read (it was closed).")

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        notes: dict[Id, tuple[Id | None, float | None]] = {}
        for batch in self.batches():
            assert batch.ids is not None, "the key is always there"
            rows = [{} for _ in batch.ids] if batch.payload is None else batch.payload.to_pylist()
            for each, row in zip(batch.ids.tolist(), rows, strict=True):
                notes[each] = row.get(LINKED), row.get(PROBABILITY)
        return notes

    @cached_property
    def _alive(self) -> list[np.ndarray]:
        """For each file, which of its rows count: the last one written of each key, if it was not deleted since."""
        keys, written = self._keys_of(self._files)
        deleted, when = self._keys_of(self._deletes)
        last: dict[Any, int] = {}
        for each, sequence in zip(deleted, when, strict=True):
            last[each] = max(sequence, last.get(each, -1))
        for each, sequence in zip(keys, written, strict=True):
            last[each] = max(sequence, last.get(each, -1))
        alive = np.fromiter(
            (last[each] == sequence for each, sequence in zip(keys, written, strict=True)), bool, len(keys)
        )
        parquet: Any = needed("pyarrow.parquet", "Milvus")
        ends = np.cumsum([parquet.read_metadata(file).num_rows for file in self._files])
        return np.split(alive, ends[:-1]) if len(ends) else []

    def _keys_of(self, files: list[Path]) -> tuple[list[Any], list[int]]:
        """The key and the time of writing of each row, in the order of `files`."""
        keys: list[Any] = []
        written: list[int] = []
        with self.errors():
            for _, records in file_rows(files, BATCH, None, [self._key, SEQUENCE]):
                keys += records.column(self._key).to_pylist()
                written += records.column(SEQUENCE).to_pylist()
        return keys, written

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._lock)
        super().close()


def _beyond(records: Any) -> list[dict[str, Any]]:
    """The fields beyond the schema, which are kept as JSON."""
    return [json.loads(text) if text else {} for text in records.column(MORE).to_pylist()]
