"""Chroma: `chroma:///path#collection` for a persistent folder, `chroma://host:8000/collection` for a server.

Ids are text there; integers are written as text and the collection's metadata says so. Vectors are always given, never
made: no embedding function is used. A server's token comes from CHROMA_TOKEN.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from veclink.data.collection import as_ids
from veclink.errors import InputError, StoreError
from veclink.stores.arrow import batch_of, column_of, fields_of, id_column
from veclink.stores.engines.local import RenamingStore, copied, undo_killed_write
from veclink.stores.protocol import BATCH, KEY, LINKED, PROBABILITY, Batch, Id, in_parts
from veclink.stores.urls import Condition

MOST = 5000  # rows written in one call; Chroma's own limit is 5,461
READ, LISTED = 1000, 20_000
"""Rows read in one call, as they come as lists of Python's numbers, and ids listed in one, as offsets are slow."""
INTEGERS, OWN, VECTOR = "veclink_integer_ids", "veclink", "\0vector"
DOCUMENT = "document"
"""The payload field that Chroma's documents are read into, and written from."""
_SIGNS = {"=": "$eq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


class ChromaStore(RenamingStore):
    """A Chroma collection; documents and metadata are its payload."""

    needs = ("chromadb", "Chroma", "veclink[chroma]")
    _mark = "-veclink-"
    _inner = (KEY, VECTOR)
    _vector = VECTOR

    @cached_property
    def _client(self) -> Any:
        chroma = self._package()
        # not what a .env in the current folder says: it could name the engine that unpickles its indexes
        settings = chroma.Settings(_env_file=None, anonymized_telemetry=False)
        address = self.address
        with self.errors("opened"):
            if address.path is None:
                token = os.environ.get("CHROMA_TOKEN") or address.password
                headers = {"X-Chroma-Token": token} if token else None
                return chroma.HttpClient(
                    host=address.host, port=address.port or 8000, ssl=address.tls, headers=headers, settings=settings
                )
            if not self.writable and not (address.path / "chroma.sqlite3").is_file():
                raise InputError(f"{self.name} does not exist; check the name.")  # the client would make it
            folder = address.path if self.writable else self._read_copy(address.path)
            return chroma.PersistentClient(path=str(folder), settings=settings)

    def _read_copy(self, folder: Path) -> Path:
        """A copy to read from: the client writes to its files even where it is only asked for rows."""
        undo_killed_write(folder / "chroma.sqlite3")
        target = copied(folder, self.name, self._copies, "chroma.sqlite3*")
        source = sqlite3.connect(f"file:{quote(str(folder / 'chroma.sqlite3'))}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(target / "chroma.sqlite3")) as base:
            source.backup(base)  # whole, even while another process writes
            found = base.execute("pragma quick_check(1)").fetchone()[0]
        if found != "ok":  # the engine could end the process
            raise StoreError(f"{self.name} is damaged ({found.splitlines()[-1]}); restore it from a backup.")
        return target

    @cached_property
    def _collection(self) -> Any:
        with self.errors():
            return _without_functions(self._client.get_collection(self._held, embedding_function=None))

    def names(self) -> list[str]:
        with self.errors():
            return [getattr(each, "name", each) for each in self._client.list_collections()]

    def rename(self, name: str, to: str) -> None:
        with self.errors("written"):
            self._client.get_collection(name, embedding_function=None).modify(name=to)

    def drop(self, name: str) -> None:
        with self.errors("written"):
            self._client.delete_collection(name)

    def _exists(self) -> bool:
        return self._held in self.names()

    def count(self) -> int:
        with self.errors():
            if self._where is None:
                return int(self._collection.count())
            return len(self._collection.get(where=self._where, include=[])["ids"])

    def dimension(self) -> int:
        if self.address.vector:
            raise InputError(f"{self.name} has one vector per object without a name; leave ?vector= out.")
        with self.errors():
            known = getattr(self._collection, "dimension", None)
            if known is not None:
                return int(known)
            first = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        return 0 if first is None or not len(first) else len(first[0])

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def metadata(self) -> dict[str, Any]:
        notes = dict(self._collection.metadata or {})
        own = json.loads(notes.pop(OWN, "{}"))
        return {key: value for key, value in notes.items() if key != INTEGERS} | own

    @property
    def _id(self) -> str:
        return self.address.id or KEY

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        integers = bool((self._collection.metadata or {}).get(INTEGERS))
        with_vectors = columns is None or VECTOR in columns
        with_payload = columns is None or bool(set(columns) - {KEY, VECTOR})
        include = ["embeddings"] * with_vectors + ["metadatas", "documents"] * with_payload
        for ids in self._pages(min(size, READ)):
            with self.errors():
                found = self._collection.get(ids=ids, include=include)
            order = {each: place for place, each in enumerate(found["ids"])}
            if len(order) != len(ids):
                raise StoreError(f"{self.name} changed while it was read; read again.")
            rows = [order[each] for each in ids]
            fields: dict[str, Any] = {KEY: id_column(as_ids(list(map(int, ids)) if integers else ids))}
            if with_vectors:
                fields[VECTOR] = column_of(np.asarray(found["embeddings"], np.float32)[rows])
            if with_payload:
                fields |= fields_of(_records(found, rows))
                if self._id != KEY:
                    fields[self._id] = id_column(as_ids(fields.get(self._id) or [None] * len(ids), self.name))
            yield batch_of(fields)

    def _pages(self, size: int) -> Iterator[list[str]]:
        """The ids, `size` at a time."""
        start = 0
        while True:
            with self.errors():
                found = self._collection.get(limit=LISTED, offset=start, where=self._where, include=[])["ids"]
            yield from in_parts(found, size)  # type: ignore[misc]
            start += len(found)
            if len(found) < LISTED:
                return

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        integers = first.ids is None or first.ids.dtype != object
        notes = {INTEGERS: integers, OWN: json.dumps(metadata)}
        rows = 0
        with self._replacing() as name:
            # "cosine" would give back vectors that were divided by their length and multiplied again
            collection = self._client.create_collection(
                name, embedding_function=None, metadata=notes, configuration={"hnsw": {"space": "ip"}}
            )
            for batch in batches:
                if integers and batch.ids is not None and batch.ids.dtype == object:
                    raise InputError("Later rows have ids that are text and the first ones integers; give one kind.")
                ids = range(rows, rows + len(batch)) if batch.ids is None else batch.ids.tolist()
                self._add(collection.add, ids, batch.vectors, batch.payload and batch.payload.to_pylist())
                rows += len(batch)

    def _add(self, write: Any, ids: Sequence[Any], vectors: np.ndarray, records: list[dict[str, Any]] | None) -> None:
        for start in range(0, len(ids), MOST):
            part = slice(start, start + MOST)
            plain: list[Any] | None = None if records is None else list(map(_plain, records[part]))
            documents = None
            if plain is not None and any(DOCUMENT in record for record in plain):
                documents = [record.pop(DOCUMENT, None) for record in plain]
            write(
                ids=list(map(str, ids[part])),
                embeddings=vectors[part].astype(np.float32),
                metadatas=plain and [record or None for record in plain],
                documents=documents,
            )

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        with self.errors("written"):
            # every record needs a vector here: one number, the same for all, that nobody should search by
            made = self._client.get_or_create_collection(self._held, embedding_function=None)
            collection = _without_functions(made)
            records = [{"a": a, "b": b, "probability": p} for (a, b), p in changed.items()]
            self._add(collection.upsert, list(map(json.dumps, changed)), np.ones((len(changed), 1)), records)
            for pairs in in_parts(removed, MOST):
                collection.delete(ids=[json.dumps(pair) for pair in pairs])
        self._forget()

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        with self.errors("written"):
            for part in in_parts(list(changes.items()), MOST):
                # a value of None takes the field away
                notes = [dict(zip((LINKED, PROBABILITY), value or (None, None), strict=True)) for _, value in part]
                self._collection.update(ids=[str(each) for each, _ in part], metadatas=notes)

    @cached_property
    def _where(self) -> dict[str, Any] | None:
        parts = [_condition(each) for each in self.address.where]
        return None if not parts else parts[0] if len(parts) == 1 else {"$and": parts}


def _without_functions(collection: Any) -> Any:
    """The collection, without the embedding functions that its description names.

    Chroma builds them before it writes a record, and building one can load a model that brings code of its own. Only
    this object forgets them; the description in the store stays as it is.
    """
    model = collection._model
    for described in (model.configuration_json, getattr(model, "serialized_schema", None)):
        _forget_functions(described)
    return collection


def _forget_functions(described: Any) -> None:
    """Make every entry "embedding_function", at any depth, one that Chroma does not build."""
    if isinstance(described, list):
        for each in described:
            _forget_functions(each)
    elif isinstance(described, dict):
        for key, value in described.items():
            if key == "embedding_function" and value is not None:
                described[key] = {"type": "legacy"}
            else:
                _forget_functions(value)


def _condition(condition: Condition) -> dict[str, Any]:
    if condition.sign != "=" and isinstance(condition.value, str):
        raise InputError(f"Chroma orders numbers only, and the filter compares {condition.field!r} with text.")
    return {condition.field: {_SIGNS[condition.sign]: condition.value}}


def _records(found: dict[str, Any], rows: list[int]) -> list[dict[str, Any]]:
    """The metadata and the document of these rows of an answer."""
    none = [None] * len(found["ids"])
    metadatas, documents = found.get("metadatas") or none, found.get("documents") or none
    return [
        {**(metadatas[row] or {}), **({} if documents[row] is None else {DOCUMENT: documents[row]})} for row in rows
    ]


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Metadata as Chroma takes it: text, numbers, true and false; other values as JSON text."""
    return {
        key: value if isinstance(value, (str, int, float)) else json.dumps(value, default=str)
        for key, value in record.items()
        if value is not None
    }
