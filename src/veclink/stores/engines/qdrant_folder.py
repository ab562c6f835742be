"""A local folder of Qdrant, read from its SQLite file row by row.

The client would load all points into memory before it gives the first one. Here only their ids are held. Points are
pickled there; they are read by an unpickler that makes nothing but plain values, so no code of the file ever runs.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import sqlite3
import uuid
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np

from veclink.errors import InputError, StoreError
from veclink.files.locks import locked
from veclink.stores.engines.qdrant import QdrantStore
from veclink.stores.protocol import BATCH, Batch
from veclink.stores.urls import Address


def open_folder(address: Address) -> QdrantFolder | None:
    """The collection of a local folder, None where the client has to read it: filters, or a layout not known here."""
    assert address.path is not None
    if address.where:
        return None
    try:
        meta = json.loads((address.path / "meta.json").read_text(encoding="utf-8"))
        names = list(meta["collections"])
        name = address.table or (names[0] if len(names) == 1 else None)
        if name is None or name not in names or _has_matrices(meta["collections"][name]["vectors"]):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    lock = locked(address.path / ".lock", shared=True)
    if lock is None:
        return None  # the client says that somebody else has it open
    file = address.path / "collection" / name / "storage.sqlite"
    if not file.exists():  # the client would make an empty one
        os.close(lock)
        raise StoreError(f"{file} is missing, and with it the points; restore it from a backup.")
    inside = file.resolve().is_relative_to(
        address.path.resolve()
    )  # the name stands in a file that anybody may have made
    storage = _opened(file) if inside else None
    if storage is None:
        os.close(lock)
        return None
    return QdrantFolder(address, file, meta["collections"][name], storage, lock)


class QdrantFolder(QdrantStore):
    """A collection of a local folder, read-only; it holds a shared lock, so that no client changes it meanwhile."""

    def __init__(self, address: Address, file: Path, config: dict[str, Any], storage: Any, lock: int) -> None:
        super().__init__(address, writable=False)
        self._collection, self._file = file.parent.name, file
        self._stored_config, self._storage, self._lock = config, storage, lock

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
            if self._storage is None:
                raise StoreError(f"{self.name} could not be read (it was closed).")
            found: dict[int | str, int] = {}
            for row, key in self._storage.execute("select rowid, id from points"):
                each = _plain_id(_unpickled(base64.b64decode(key), self.name))
                # older clients kept a point twice under two spellings; the later row counts
                found[each] = max(row, found.get(each, 0))
        return sorted(found.items(), key=lambda point: _order(point[0]))

    def _read(self, rows: list[int]) -> list[Any]:
        if self._storage is None:
            raise StoreError(f"{self.name} could not be read (it was closed).")
        query = "select rowid, point from points where rowid in (select value from json_each(?))"
        found = {row: self._point(value) for row, value in self._storage.execute(query, (json.dumps(rows),))}
        return [found[row] for row in rows]

    def _point(self, value: bytes) -> Any:
        point = _unpickled(value, self.name)
        try:
            fields = point.fields
            return SimpleNamespace(
                id=_plain_id(fields["id"]), vector=self._chosen(fields["vector"]), payload=fields["payload"]
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{self.name} holds a point that is damaged, or of a layout not known here.") from error

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
            os.close(self._lock)
        super().close()


def _opened(file: Path) -> sqlite3.Connection | None:
    """The file of the points, None where it is not as the client makes it."""
    try:
        storage = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error:
        return None
    with suppress(sqlite3.Error):
        if [row[1:3] for row in storage.execute("pragma table_info(points)")] == [("id", "TEXT"), ("point", "BLOB")]:
            return storage
    storage.close()
    return None


class _Unsafe(pickle.UnpicklingError):
    """A pickle that names something which is not loaded."""


class _Model:
    """What any of the client's classes is read as: its fields, and none of its code."""

    fields: dict[str, Any]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields = state["__dict__"]


class _Plain(pickle.Unpickler):
    """Reads pickles of plain values, UUIDs, dates and the client's own classes (as `_Model`), and refuses all else."""

    _KNOWN = {("uuid", "UUID"): uuid.UUID, ("builtins", "set"): set} | {
        ("datetime", kind.__name__): kind for kind in (datetime, date, timedelta, timezone)
    }

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("qdrant_client.http.models"):
            return _Model
        if (module, name) in self._KNOWN:
            return self._KNOWN[module, name]
        raise _Unsafe(f"it holds something of the kind {module}.{name}, which is not loaded")


def _unpickled(data: bytes, name: str) -> Any:
    try:
        return _Plain(io.BytesIO(data)).load()
    except _Unsafe as error:
        raise InputError(f"{name} cannot be read safely: {error}.") from None
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{name} holds a point that is damaged ({error}).") from error


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


def _has_matrices(vectors: dict[str, Any]) -> bool:
    """Whether an object has several vectors under one name, which are no rows."""
    kinds = [vectors] if isinstance(vectors.get("size"), int) else list(vectors.values())
    return any(kind.get("multivector_config") is not None for kind in kinds)
