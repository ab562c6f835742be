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

from veclink.errors import InputError, StoreError
from veclink.stores.arrow import batch_of, column_of, fields_of
from veclink.stores.engines.clients import RenamingStore, undo_killed_write
from veclink.stores.protocol import BATCH, KEY, LINKED, PROBABILITY, Batch, Id, in_parts
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
    _link_dimension = 1

    @cached_property
    def _client(self) -> Any:
        chroma = self._package()
        # not what a .env in the current folder says: it could name the engine that unpickles its indexes
        settings = chroma.Settings(_env_file=None, anonymized_telemetry=False)
        address, base = self.address, "chroma.sqlite3"
        with self.errors("opened"):
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
        with self.errors():
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
        with self.errors():
            return [getattr(each, "name", each) for each in self._client.list_collections()]

    def rename(self, name: str, to: str) -> None:
        with self.errors("written"):
            self._client.get_collection(name, embedding_function=None).modify(name=to)

    def drop(self, name: str) -> None:
        with self.errors("written"):
            self._client.delete_collection(name)

    def count(self) -> int:
        with self.errors():
            if self._where is None:
                return int(self._collection.count())
            return len(self._collection.get(where=self._where, include=[])["ids"])

    def dimension(self) -> int:
        if self.address.vector:
            raise InputError(f"{self.name} has one vector per object without a name; leave ?vector= out.")
        with self.errors():
            first = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        return 0 if first is None or not len(first) else len(first[0])

    @property
    def _notes(self) -> dict[str, Any]:
        return dict(self._collection.metadata or {})

    def metadata(self) -> dict[str, Any]:
        notes = self._notes
        own = json.loads(notes.pop(OWN, "{}"))
        return {key: value for key, value in notes.items() if key != INTEGERS} | own

    @property
    def _id(self) -> str:
        return self.address.id or KEY

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        integers = bool(self._notes.get(INTEGERS))
        with_vectors = columns is None or VECTOR in columns
        with_payload = columns is None or bool(set(columns) - {KEY, VECTOR})
        include = ["embeddings"] * with_vectors + ["metadatas", "documents"] * with_payload
        for ids in self._pages(min(size, READ)):
            with self.errors():
                found = self._collection.get(ids=ids, include=include)
            place = {each: row for row, each in enumerate(found["ids"])}
            if len(place) != len(ids):
                raise StoreError(f"{self.name} changed while it was read; read again.")
            rows = [place[each] for each in ids]
            fields: dict[str, Any] = {KEY: self._ids(list(map(int, ids)) if integers else ids)}
            if with_vectors:
                fields[VECTOR] = column_of(np.asarray(found["embeddings"], np.float32)[rows])
            if with_payload:
                none = [None] * len(ids)
                records, texts = found["metadatas"] or none, found["documents"] or none
                said = ({} if texts[row] is None else {DOCUMENT: texts[row]} for row in rows)
                fields |= fields_of([{**(records[row] or {}), **each} for row, each in zip(rows, said, strict=True)])
                if self._id != KEY:
                    fields[self._id] = self._ids(fields.get(self._id) or none)
            yield batch_of(fields)

    def _pages(self, size: int) -> Iterator[Sequence[str]]:
        """The ids, `size` at a time."""
        with self.errors():
            rows = self._collection.count()
        for start in range(0, rows, LISTED):
            with self.errors():
                found = self._collection.get(limit=LISTED, offset=start, where=self._where, include=[])["ids"]
            yield from in_parts(found, size)

    def _make(self, name: str, first: Batch, metadata: dict[str, Any]) -> None:
        integers = first.ids is None or first.ids.dtype != object
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

    def _pair_id(self, pair: tuple[Id, Id]) -> str:
        return json.dumps(pair)

    def _remove(self, name: str, ids: list[str]) -> None:
        self._opened(name).delete(ids=ids)

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        with self.errors("written"):
            for part in in_parts(list(changes.items()), self._most):
                # a value of None takes the field away
                notes = [dict(zip((LINKED, PROBABILITY), value or (None, None), strict=True)) for _, value in part]
                self._collection.update(ids=[str(each) for each, _ in part], metadatas=notes)

    @cached_property
    def _where(self) -> dict[str, Any] | None:
        parts = [_condition(each) for each in self.address.where]
        return None if not parts else parts[0] if len(parts) == 1 else {"$and": parts}


def _condition(condition: Condition) -> dict[str, Any]:
    if condition.sign != "=" and isinstance(condition.value, str):
        raise InputError(f"Chroma orders numbers only, and the filter compares {condition.field!r} with text.")
    return {condition.field: {_SIGNS[condition.sign]: condition.value}}
