"""A local folder of Qdrant, read from its SQLite file row by row.

The client would load all points into memory before it gives the first one, and run whatever their pickles name. Here
only their ids are held, and the pickles are read by `qdrant_pickles`. There is no way back to the client: a folder
that cannot be read here is refused.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import uuid
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from veclink.errors import InputError, StoreError, named, needed
from veclink.files.locks import locked
from veclink.stores.engines.qdrant import QdrantStore
from veclink.stores.engines.qdrant_pickles import Model, collections_of, open_points, unpickled
from veclink.stores.protocol import BATCH, Batch, Store
from veclink.stores.urls import Address


def open_folder(address: Address) -> QdrantFolder:
    """The collection of a local folder, to be read only."""
    assert address.path is not None
    collections, aliases = collections_of(address.path, address.shown)
    collection = _chosen_collection(address, collections, aliases)
    file = address.path / "collection" / collection / "storage.sqlite"
    if not file.exists():  # the client would make an empty one
        raise StoreError(f"{file} is missing, and with it the points; restore it from a backup.")
    if not file.resolve().is_relative_to(address.path.resolve()):
        raise InputError(f"{file} leads out of the folder; copy the file itself there.")
    lock = _shared_lock(address)
    try:
        storage = open_points(file, address.shown)
        if storage is None:
            raise StoreError(f"{file} has no table of points; restore it from a backup.")
    except BaseException:
        _unlock(lock)
        raise
    return QdrantFolder(address, file, collections[collection], storage, lock)


def _chosen_collection(address: Address, collections: dict[str, Any], aliases: dict[str, str]) -> str:
    """The collection that the URL names or stands for; the only one where it names none."""
    if address.table is None:
        if len(collections) != 1:
            names = named(sorted(collections)) or "none"
            raise InputError(f"{address.shown} holds {len(collections)} collections, {names}; name one.")
        return next(iter(collections))
    chosen = address.table if address.table in collections else aliases.get(address.table)
    if chosen not in collections:
        raise InputError(f"{address.shown} does not exist; check the name.")
    return str(chosen)


def _shared_lock(address: Address) -> int | None:
    """A lock that keeps clients from changing the folder; None where none ever opened it here, or locks are not known.

    A copied folder has no `.lock`. It is not made: what is read is not changed.
    """
    assert address.path is not None
    file = address.path / ".lock"
    if not file.exists() or os.name == "nt":
        return None
    lock = locked(file, shared=True)
    if lock is None:
        raise StoreError(f"{address.shown} is already accessed by another client; close that one first.")
    return lock


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


class QdrantFolder(QdrantStore):
    """A collection of a local folder, read-only; it holds a shared lock, so that no client changes it meanwhile."""

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        """A folder that is only read is read here; all else goes through the client."""
        cls._package()
        if writable or address.path is None:
            return QdrantStore(address, writable=writable)
        return open_folder(address)

    def __init__(
        self, address: Address, file: Path, config: dict[str, Any], storage: sqlite3.Connection, lock: int | None
    ) -> None:
        super().__init__(address, writable=False)
        self._collection, self._file = file.parent.name, file
        self._stored_config, self._lock = config, lock
        self._storage: sqlite3.Connection | None = storage

    @cached_property
    def _config(self) -> Any:
        made = self._models.CreateCollection(**{key: self._stored_config.get(key) for key in ("vectors", "metadata")})
        return SimpleNamespace(params=SimpleNamespace(vectors=made.vectors), metadata=made.metadata)

    def _there(self) -> bool:
        return True

    def version(self) -> str:
        return str(self._file.stat().st_mtime_ns)

    def count(self) -> int:
        return len(self._points)

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        start = 0
        if after is not None:
            if after[0] is None:
                return
            start = bisect_left(self._points, _order(after[0]), key=lambda point: _order(point[0]))
        with self.errors():
            for first in range(start, len(self._points), size):
                rows = [row for _, row in self._points[first : first + size]]
                beyond = first + size
                place = [self._points[beyond][0] if beyond < len(self._points) else None]
                yield self._batch(self._read(rows), payload, place)

    @cached_property
    def _points(self) -> list[tuple[int | str, int]]:
        """The id of each point and its row in the file, in the client's order: numbers first, then UUIDs."""
        with self.errors():
            newest: dict[int | str, int] = {}
            for row, key in self._open_storage.execute("select rowid, id from points"):
                each = _plain_id(unpickled(base64.b64decode(key), self.name))
                # older clients kept a point twice under two spellings; the later row counts
                newest[each] = max(row, newest.get(each, 0))
            if self._filter is not None:
                newest = self._filtered(newest)
        return sorted(newest.items(), key=lambda point: _order(point[0]))

    def _filtered(self, points: dict[int | str, int]) -> dict[int | str, int]:
        """Those whose payload satisfies the conditions of the URL, as the client itself compares them."""
        satisfied: Any = needed("qdrant_client.local.payload_filters", "Qdrant", install="veclink[qdrant]").check_filter
        rows = set(points.values())
        kept = set()
        for row, value in self._open_storage.execute("select rowid, point from points"):
            if row not in rows:
                continue
            point = self._fields(value)
            if satisfied(self._filter, point["payload"] or {}, _plain_id(point["id"]), {}):
                kept.add(row)
        return {each: row for each, row in points.items() if row in kept}

    @property
    def _open_storage(self) -> sqlite3.Connection:
        if self._storage is None:
            raise StoreError(f"{self.name} could not be read (it was closed).")
        return self._storage

    def _read(self, rows: list[int]) -> list[Any]:
        query = "select rowid, point from points where rowid in (select value from json_each(?))"
        points = {row: self._point(value) for row, value in self._open_storage.execute(query, (json.dumps(rows),))}
        return [points[row] for row in rows]

    def _point(self, value: bytes) -> Any:
        fields = self._fields(value)
        try:
            vector = self._chosen(fields["vector"])
        except (AttributeError, TypeError, ValueError) as error:
            raise self._damaged from error
        return SimpleNamespace(id=_plain_id(fields["id"]), vector=vector, payload=fields["payload"])

    def _fields(self, value: bytes) -> dict[str, Any]:
        """The id, the vector and the payload of a point."""
        point = unpickled(value, self.name)
        fields = getattr(point, "fields", None)
        if not isinstance(point, Model) or not isinstance(fields, dict):
            raise self._damaged
        if not {"id", "vector", "payload"} <= set(fields) or not isinstance(fields["payload"], (dict, type(None))):
            raise self._damaged
        return fields

    @property
    def _damaged(self) -> InputError:
        return InputError(f"{self.name} holds a point that is damaged, or of a layout not known here; restore it.")

    def _chosen(self, vector: Any) -> Any:
        """As the client gives it, but as an array, which takes an eighth of the memory of a list."""
        if not isinstance(vector, dict):
            return vector if vector is None else np.array(vector, np.float32)
        chosen = vector.get(self._vector or "")  # one without a name is kept under the name ""
        numbers = None if chosen is None else np.array(chosen, np.float32)
        return numbers if self._vector is None else {self._vector: numbers}

    def close(self) -> None:
        self.__dict__.pop("_points", None)
        storage, self._storage = self._storage, None
        if storage is not None:
            with suppress(Exception):
                storage.close()
            _unlock(self._lock)
        super().close()


def _plain_id(value: Any) -> int | str:
    """A point's id as the client gives it: a number, or a UUID in its usual spelling."""
    if isinstance(value, int):
        return value
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        return str(value)


def _order(each: int | str) -> tuple[str, int]:
    return ("", each) if isinstance(each, int) else (each, 0)
