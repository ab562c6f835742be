"""Qdrant: `qdrant://host:6333/collection` for a server, `qdrant:///path#collection` for a local folder.

Both go through the client, which reads a copy of a folder: it writes to its files even where it is only asked for rows.
A server's key comes from QDRANT_API_KEY. Points are named by whole numbers or UUIDs only: other ids are written as a
payload field `id`, and the collection's metadata says so.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from veclink.errors import InputError, StoreError
from veclink.stores.arrow import ID, VECTOR, batch_of, choose_vector, fields_of
from veclink.stores.engines.clients import ClientStore, check_ordered, undo_killed_write, with_vectors
from veclink.stores.protocol import BATCH, KEY, LINKED, PROBABILITY, Id, Note, in_parts
from veclink.stores.urls import Condition

UNFINISHED, OWN_IDS = "veclink_unfinished", "veclink_ids"
NAMELESS = "\0vector"
"""The column of a vector that has no name."""
_BOUNDS = {"=": ("gte", "lte"), "<": ("lt",), "<=": ("lte",), ">": ("gt",), ">=": ("gte",)}


class QdrantStore(ClientStore):
    """A Qdrant collection; its named vectors are chosen by `?vector=`, its ids are the points' or those of `?id=`."""

    replaceable = False
    _most = 1000  # a server refuses requests of more than 32 MB
    needs = ("qdrant_client", "Qdrant", "veclink[qdrant]")
    _inner = (KEY, NAMELESS)

    @property
    def _models(self) -> Any:
        return self._package().models

    @cached_property
    def _client(self) -> Any:
        client = self._package().QdrantClient
        address = self.address
        with warnings.catch_warnings():
            # of a key sent without TLS, of a server that does not answer yet, of a folder above 20,000 points
            warnings.simplefilter("ignore")
            if address.path is None:
                key = os.environ.get("QDRANT_API_KEY") or address.password
                return client(
                    host=address.host, port=address.port or 6333, https=address.tls, api_key=key, timeout=60,
                    check_compatibility=False,
                )  # fmt: skip
            folder = self._folder("meta.json", ".lock")
            check_folder(folder, address.table, self.name)  # the client runs what the points' pickles name
            return client(path=str(folder))

    def _locked(self) -> AbstractContextManager[None]:
        """The client of a folder reads its list of collections before it locks the folder."""
        self.close()
        return nullcontext()

    @cached_property
    def _held(self) -> str:
        if self.address.table is not None:
            return self.address.table
        names = [each.name for each in self._client.get_collections().collections]
        return self._only_one(names, "collection")

    @property
    def _config(self) -> Any:
        return self._client.get_collection(self._held).config

    def _there(self) -> bool:
        return bool(self._client.collection_exists(self._held))

    def _exists(self) -> bool:
        return self._there() and not self._notes.get(UNFINISHED)

    def half_written(self) -> bool:
        return self._there() and bool(self._notes.get(UNFINISHED))

    def _count(self) -> int:
        return int(self._client.count(self._held, count_filter=self._filter, exact=True).count)

    def _dimension(self) -> int:
        return int(self._params.size)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float16 if str(self._params.datatype).lower().endswith("float16") else np.float32)

    def _metadata(self) -> dict[str, Any]:
        own = {key: value for key, value in self._notes.items() if key not in (UNFINISHED, OWN_IDS)}
        return {**own, "distance": str(getattr(self._params.distance, "value", self._params.distance))}

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        name = self._vector if vectors and self._kinds else None  # of links no vectors may be kept
        place = None
        while True:
            points, place = self._client.scroll(
                self._held,
                scroll_filter=self._filter,
                limit=size,
                offset=place,
                with_payload=payload or ([self._id] if self._id != KEY else False),
                with_vectors=name is not None and (True if name == NAMELESS else [name]),
            )
            found: dict[str, Any] = fields_of([point.payload or {} for point in points])
            found[KEY] = self._ids([point.id for point in points])
            if self._id != KEY:
                found[self._id] = self._ids(found.get(self._id) or [None] * len(points))
            if name is not None:
                rows = [point.vector for point in points]
                rows = rows if name == NAMELESS else [(row or {}).get(name) for row in rows]
                found[name] = pa.array(rows, pa.list_(pa.float32()))
            yield batch_of(found)
            if place is None:
                return

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        if VECTOR in first.column_names or not self.exists():
            if ID in first.column_names and not self._names_rows(first):
                metadata = {**metadata, OWN_IDS: ID}
            return super()._create(first, tables, metadata)
        # a table of links, which is not replaced but filled anew: in one step, where that can be
        models, name = self._models, self._held
        with self._together(name):
            rows = self._put_all(name, iter([with_vectors(first)]), named=False)
            others = models.Filter(must_not=[models.HasIdCondition(has_id=list(range(rows)))])
            self._client.delete(name, models.FilterSelector(filter=others), wait=True)

    def _names_rows(self, first: pa.Table) -> bool:
        return super()._names_rows(first) and all(map(_is_point_id, first.column(ID).to_pylist()))

    @contextmanager
    def _replacing(self) -> Iterator[str]:
        name = self._held
        if self.exists():
            raise InputError(f"{self.name} cannot be replaced as a whole by Qdrant; delete it, or choose a name.")
        try:
            yield name
        except BaseException:
            with suppress(Exception):
                self._client.delete_collection(name)
            raise

    def _make(self, name: str, first: pa.Table, metadata: dict[str, Any]) -> None:
        models = self._models
        if self._there():  # what a killed run had begun
            self._client.delete_collection(name)
        kind, dot = first.column(VECTOR).type, models.Distance.DOT  # COSINE would keep directions only
        half = models.Datatype.FLOAT16 if kind.value_type == pa.float16() else None
        kept = models.VectorParams(size=kind.list_size, distance=dot, datatype=half)
        self._client.create_collection(name, vectors_config=kept, metadata={**metadata, UNFINISHED: True})

    def _put(self, name: str, ids: Sequence[Any], vectors: np.ndarray, records: list[dict[str, Any]]) -> None:
        rows: Any = vectors.astype(np.float32).tolist() if self._kinds else [{} for _ in ids]  # of links, perhaps none
        given = zip(ids, rows, records, strict=True)
        points = [self._models.PointStruct(id=each, vector=row, payload=more) for each, row, more in given]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in `_client`
            self._client.upsert(name, points, wait=True)

    def _finish(self, name: str) -> None:
        self._client.update_collection(name, metadata={UNFINISHED: None})

    @contextmanager
    def _together(self, name: str) -> Iterator[None]:
        """A local folder is SQLite, committed point by point: 15 ms each. Here all points are one transaction.

        So a run that is killed leaves the points as they were. A server commits what it is sent.
        """
        kept = getattr(getattr(self._client, "_client", None), "collections", {}).get(name)
        file = getattr(kept, "storage", None)
        storage = getattr(file, "storage", None)
        if file is None or storage is None:
            yield
            return
        file.storage = _WithoutCommits(storage)
        try:
            yield
            storage.commit()
        finally:
            file.storage = storage
            storage.rollback()  # of nothing, where all went well

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        points: dict[Any, Any] = {}
        for records in self.scan(vectors=False):
            keys, ids = (records.column(name).to_pylist() for name in (KEY, self._id))
            points |= dict(zip(ids, keys, strict=True))
        models = self._models
        with self._together(self._held):
            for part in in_parts(list(notes.items()), self._most):
                operations = []
                for each, note in part:
                    fields = dict(zip((LINKED, PROBABILITY), note, strict=True))
                    payload = models.SetPayload(payload=fields, points=[points[each]])
                    operations.append(models.SetPayloadOperation(set_payload=payload))
                self._client.batch_update_points(self._held, operations, wait=True)

    @cached_property
    def _notes(self) -> dict[str, Any]:
        return dict(getattr(self._config, "metadata", None) or {})

    @cached_property
    def _id(self) -> str:
        """The payload field of the ids, KEY where the points' own are the ids."""
        return str(self.address.id or self._notes.get(OWN_IDS) or KEY)

    @cached_property
    def _kinds(self) -> Any:
        """What is said of the vector, or of each of several by its name; of a table of links nothing."""
        return self._config.params.vectors

    @cached_property
    def _vector(self) -> str:
        vectors = self._kinds
        if isinstance(vectors, dict):
            return choose_vector(self.address.vector, list(vectors), list(vectors), self.name)
        self._check_one_vector()
        return NAMELESS

    @cached_property
    def _params(self) -> Any:
        nameless = self._vector == NAMELESS
        params = self._kinds if nameless else self._kinds[self._vector]
        if getattr(params, "multivector_config", None) is not None:
            which = "" if nameless else f" {self._vector!r}"
            raise InputError(
                f"{self.name} keeps several vectors per object in its vector{which}, which are no rows; name another."
            )
        return params

    @cached_property
    def _filter(self) -> Any:
        if not self.address.where:
            return None
        return self._models.Filter(must=[_condition(self._models, each) for each in self.address.where])


def _is_point_id(value: Any) -> bool:
    """Whether a point can be called this: a whole number of 64 bits, or a UUID in its usual spelling."""
    if isinstance(value, int):
        return 0 <= value < 2**64
    try:
        return str(uuid.UUID(value)) == value
    except (ValueError, AttributeError):
        return False


def _condition(models: Any, condition: Condition) -> Any:
    """A filter in Qdrant's own terms."""
    value = condition.value
    if condition.sign == "=" and not isinstance(value, float):
        return models.FieldCondition(key=condition.field, match=models.MatchValue(value=value))
    check_ordered(condition, "Qdrant")
    bounds = dict.fromkeys(_BOUNDS[condition.sign], value)
    return models.FieldCondition(key=condition.field, range=models.Range(**bounds))


class _WithoutCommits:
    """A connection to SQLite whose commits are left to somebody else."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def __enter__(self) -> _WithoutCommits:
        return self

    def __exit__(self, *error: object) -> None:
        """The block is over, and the transaction goes on."""

    def commit(self) -> None:
        """Not yet."""


EVERY_POINT = "SELECT rowid, id, point FROM points ORDER BY rowid DESC"
"""As the client asks for them: another query could be answered from an index that says something else."""


class _Model:
    """What the client's classes are read as: nothing of their code."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields = state["__dict__"]


class _Unsafe(pickle.UnpicklingError):
    """A pickle that names something which is not loaded."""


class _Plain(pickle.Unpickler):
    """Reads pickles of plain values and of the few kinds below, and refuses all else."""

    # whole names only: a name with dots in it would reach what these modules import
    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("qdrant_client.http.models.models", "PointStruct"): _Model,
        ("qdrant_client.http.models.models", "SparseVector"): _Model,
        ("builtins", "set"): set,
        ("uuid", "UUID"): uuid.UUID,
        ("datetime", "date"): date,
        ("datetime", "datetime"): datetime,
        ("datetime", "timedelta"): timedelta,
        ("datetime", "timezone"): timezone,
    }

    def find_class(self, module: str, name: str) -> Any:
        known = self._KNOWN.get((module, name))
        if known is None:
            raise _Unsafe(f"{module}.{name}")
        return known


def check_plain(data: bytes, name: str) -> None:
    """Refuse a pickle that holds anything but plain values; `name` is what it is called in the sentence of an error."""
    try:
        point = _Plain(io.BytesIO(data)).load()
        if not isinstance(point, _Model) or not {"id", "vector", "payload"} <= set(point.fields):
            raise ValueError("no point")
    except _Unsafe as error:
        raise InputError(
            f"{name} cannot be read safely: it holds {error}, which could be code; do not open it elsewhere either."
        ) from None
    except Exception as error:  # a damaged pickle can raise anything
        raise InputError(f"{name} holds a point that is damaged ({error}); restore it from a backup.") from error


def check_folder(folder: Path, collection: str | None, name: str) -> None:
    """Look at every point that the client would unpickle, and refuse the folder where one is not plain.

    `collection` is the one that is asked for; it need not be there. `name` is what the folder is called in the sentence
    of an error.
    """
    meta: dict[str, Any] = {"collections": {}}
    if (folder / "meta.json").exists():
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    aliases = (meta.get("aliases") or {}).values()
    for each in (*meta["collections"], *aliases, *([] if collection is None else [collection])):
        if each in ("", ".", "..") or any(mark in each for mark in "/\\\0"):
            raise InputError(f"{name} names a collection {each!r}, which is no name inside a folder; rename it.")
    points = folder / "collection"
    for each in meta["collections"]:
        if not (points / each / "storage.sqlite").exists():  # the client would make an empty one
            raise StoreError(
                f"{name} is damaged: {each}/storage.sqlite is missing, and with it the points; restore it."
            )
    # also those that meta.json does not name: the client loads what it finds where it makes a collection
    for storage in sorted(points.glob("*/storage.sqlite")):
        undo_killed_write(storage)
        with closing(sqlite3.connect(f"file:{quote(str(storage.absolute()))}?mode=ro", uri=True)) as opened:
            _check_points(opened, name)


def _check_points(storage: sqlite3.Connection, name: str) -> None:
    storage.execute("pragma trusted_schema = off")
    kinds = list(storage.execute("select type, rootpage from sqlite_master where lower(name) = 'points'"))
    if not kinds:
        return
    columns = {row[0] for row in storage.execute("select name from pragma_table_xinfo('points') where hidden = 0")}
    # a view or a virtual table could answer differently each time it is asked
    table = [kind == "table" and page > 0 for kind, page in kinds] == [True]
    if not table or not {"id", "point"} <= columns:
        raise StoreError(f"{name} has an unknown layout; if you trust it, copy its points with qdrant-client.")
    for _, _, point in storage.execute(EVERY_POINT):
        check_plain(point, name)
