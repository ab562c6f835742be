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
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from veclink.errors import StoreError
from veclink.stores.arrow import ID, batch_of, column_of, fields_of
from veclink.stores.engines.clients import RenamingStore, check_ordered, undo_killed_write
from veclink.stores.protocol import BATCH, KEY, LINKED, PROBABILITY, Id, Note, in_parts
from veclink.stores.urls import Condition

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
    _most = 5000  # Chroma's own limit is 5,461

    @cached_property
    def _client(self) -> Any:
        chroma = self._package()
        # not what a .env in the current folder says: it could name the engine that unpickles its indexes
        settings = chroma.Settings(_env_file=None, anonymized_telemetry=False)
        address, base = self.address, "chroma.sqlite3"
        if address.path is None:
            token = os.environ.get("CHROMA_TOKEN") or address.password
            return chroma.HttpClient(
                host=address.host, port=address.port or 8000, ssl=address.tls, settings=settings,
                headers={"X-Chroma-Token": token} if token else None,
            )  # fmt: skip
        undo_killed_write(address.path / base)
        folder = self._folder(base, "no lock", f"{base}*")
        if not self.writable:
            source = sqlite3.connect(f"file:{quote(str(address.path / base))}?mode=ro", uri=True)
            with closing(source), closing(sqlite3.connect(folder / base)) as copy:
                source.backup(copy)  # whole, even while another process writes
                found = copy.execute("pragma quick_check(1)").fetchone()[0]
            if found != "ok":  # the engine could end the process
                raise StoreError(f"{self.name} is damaged ({found.splitlines()[-1]}); restore it from a backup.")
        return chroma.PersistentClient(path=str(folder), settings=settings)

    @cached_property
    def _collection(self) -> Any:
        return self._opened(self._held)

    def _opened(self, name: str) -> Any:
        """A collection, without the embedding functions that its description names.

        Chroma builds them before it writes a record, and building one can load a model that brings code of its own.
        Only this object forgets them; the description in the store stays as it is.
        """
        collection = self._client.get_collection(name, embedding_function=None)
        model = collection._model
        described = [model.configuration_json, getattr(model, "serialized_schema", None)]
        while described:
            each = described.pop()
            if isinstance(each, dict):
                if each.get("embedding_function") is not None:
                    each["embedding_function"] = {"type": "legacy"}  # which Chroma does not build
                described += each.values()
            elif isinstance(each, list):
                described += each
        return collection

    def names(self) -> list[str]:
        return [getattr(each, "name", each) for each in self._client.list_collections()]

    def rename(self, name: str, to: str) -> None:
        self._client.get_collection(name, embedding_function=None).modify(name=to)

    def drop(self, name: str) -> None:
        self._client.delete_collection(name)

    def _count(self) -> int:
        if self._where is None:
            return int(self._collection.count())
        return len(self._collection.get(where=self._where, include=[])["ids"])

    def _dimension(self) -> int:
        self._check_one_vector()
        first = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        return 0 if first is None or not len(first) else len(first[0])

    @property
    def _notes(self) -> dict[str, Any]:
        return dict(self._collection.metadata or {})

    def _metadata(self) -> dict[str, Any]:
        notes = self._notes
        own = json.loads(notes.pop(OWN, "{}"))
        return {key: value for key, value in notes.items() if key != INTEGERS} | own

    @property
    def _id(self) -> str:
        return self.address.id or KEY

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        integers = bool(self._notes.get(INTEGERS))
        payload = payload or self._id != KEY
        include = ["embeddings"] * vectors + ["metadatas", "documents"] * payload
        for part in self._pages(min(size, READ)):
            found = self._collection.get(ids=part, include=include)
            ids = found["ids"]
            fields: dict[str, Any] = {KEY: self._ids(list(map(int, ids)) if integers else ids)}
            if vectors:
                fields[VECTOR] = column_of(np.asarray(found["embeddings"], np.float32))
            if payload:
                texts = [{} if text is None else {DOCUMENT: text} for text in found["documents"]]
                records = zip(found["metadatas"], texts, strict=True)
                fields |= fields_of([{**(record or {}), **text} for record, text in records])
                if self._id != KEY:
                    fields[self._id] = self._ids(fields.get(self._id) or [None] * len(ids))
            yield batch_of(fields)

    def _pages(self, size: int) -> Iterator[Any]:
        """The ids, `size` at a time, in the order in which they came."""
        for start in range(0, self._collection.count(), LISTED):
            yield from in_parts(
                self._collection.get(limit=LISTED, offset=start, where=self._where, include=[])["ids"], size
            )

    def _make(self, name: str, first: pa.Table, metadata: dict[str, Any]) -> None:
        integers = ID not in first.column_names or pa.types.is_integer(first.column(ID).type)
        # "cosine" would give back vectors that were divided by their length and multiplied again
        self._client.create_collection(
            name, embedding_function=None, metadata={INTEGERS: integers, OWN: json.dumps(metadata)},
            configuration={"hnsw": {"space": "ip"}},
        )  # fmt: skip

    def _put(self, name: str, ids: Sequence[Any], vectors: np.ndarray, records: list[dict[str, Any]]) -> None:
        plain = [
            {key: each if isinstance(each, (str, int, float)) else json.dumps(each) for key, each in record.items()}
            for record in records
        ]
        documents = [record.pop(DOCUMENT, None) for record in plain]
        self._opened(name).upsert(
            ids=list(map(str, ids)),
            embeddings=vectors.astype(np.float32),
            metadatas=[record or None for record in plain],
            documents=documents if any(documents) else None,
        )

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        for part in in_parts(list(notes.items()), self._most):
            # a value of None takes the field away
            fields = [dict(zip((LINKED, PROBABILITY), note, strict=True)) for _, note in part]
            self._collection.update(ids=[str(each) for each, _ in part], metadatas=fields)

    @cached_property
    def _where(self) -> dict[str, Any] | None:
        parts = [_condition(each) for each in self.address.where]
        return None if not parts else parts[0] if len(parts) == 1 else {"$and": parts}


def _condition(condition: Condition) -> dict[str, Any]:
    check_ordered(condition, "Chroma")
    return {condition.field: {_SIGNS[condition.sign]: condition.value}}
