"""Milvus: `milvus://host:19530/collection` for a server, `milvus:///file.db#collection` for Milvus Lite.

Both go through the same client. A server's token ("user:password" or a key) comes from MILVUS_TOKEN.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.errors import InputError, needed
from veclink.stores.arrow import ID, VECTOR, batch_of, fields_of
from veclink.stores.engines.clients import RenamingStore
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Id, Note
from veclink.stores.urls import Condition

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its library writes to stderr while a long read goes on
OWN = "veclink"
_KINDS = {"FLOAT_VECTOR": "<f4", "FLOAT16_VECTOR": "<f2", "INT8_VECTOR": "i1"}
_OTHER_FILE = re.compile(rb"ilod.{4}\0{4}", re.DOTALL)
"""In an index of FAISS: lists that are in another file ("ilod"), and how many, in eight bytes."""


class MilvusStore(RenamingStore):
    """A Milvus collection: its primary key is the id, its vector fields are chosen by `?vector=`."""

    needs = ("pymilvus", "Milvus", "veclink[milvus]")
    _mark = "__veclink_"
    _most = 2000

    @cached_property
    def _client(self) -> Any:
        milvus = self._package()
        # no word of their logs: every refusal is there with a traceback; the sentence of the error is enough
        for name in ("pymilvus", "milvus_lite", *logging.Logger.manager.loggerDict):
            if name.startswith(("pymilvus", "milvus_lite")):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        address = self.address
        if address.path is None:
            uri = f"{'https' if address.tls else 'http'}://{address.host}:{address.port or 19530}"
            own = f"{address.user}:{address.password}" if address.user and address.password else ""
            return milvus.MilvusClient(uri, token=os.environ.get("MILVUS_TOKEN") or own, timeout=20)
        lite: Any = needed("milvus_lite.server_manager", "A Milvus Lite file", install="veclink[milvus]")
        # the engine deletes files of rows that the folder does not list, also to read others
        folder = self._folder("collections", "LOCK", "*.sock")
        check_folder(folder, self.name)
        if not self.writable:
            self._copies.callback(lite.server_manager_instance.release_server, str(folder))
        return milvus.MilvusClient(str(folder.absolute()))

    def names(self) -> list[str]:
        return list(self._client.list_collections())

    def rename(self, name: str, to: str) -> None:
        self._client.rename_collection(name, to)

    def drop(self, name: str) -> None:
        self._client.drop_collection(name)

    @cached_property
    def _described(self) -> dict[str, Any]:
        described = self._client.describe_collection(self._held)
        self._client.load_collection(self._held)
        return dict(described)

    def _count(self) -> int:
        _ = self._described
        answer = self._client.query(self._held, filter=self._where, output_fields=["count(*)"])
        return int(answer[0]["count(*)"])

    def _dimension(self) -> int:
        kept = next(each for each in self._described["fields"] if each["name"] == self._vector)
        return int(kept["params"]["dim"])

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_KINDS[self._kinds[self._vector]])

    def _metadata(self) -> dict[str, Any]:
        properties = dict(self._described.get("properties") or {})
        own = json.loads(properties.pop(OWN, "{}"))
        text = self._described.get("description")
        return {**({"description": text} if text else {}), **own}

    @cached_property
    def _key(self) -> str:
        return next(each["name"] for each in self._described["fields"] if each.get("is_primary"))

    @property
    def _id(self) -> str:
        return self.address.id or self._key

    @property
    def _kinds(self) -> dict[str, str]:
        """The kind of each field."""
        return {each["name"]: each["type"].name for each in self._described["fields"]}

    @property
    def _fields(self) -> list[str]:
        return list(self._kinds)

    @property
    def _vectors(self) -> list[str]:
        return [name for name, kind in self._kinds.items() if kind in _KINDS]

    @property
    def _all_vectors(self) -> list[str]:
        return [name for name, kind in self._kinds.items() if kind.endswith("_VECTOR")]

    @property
    def _inner(self) -> list[str]:
        return [self._key, *self._all_vectors]

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        # fields beyond the schema cannot be named before they are there
        asked = [*({"*"} if payload else {self._key, self._id}), *([self._vector] if vectors else [])]
        for rows in self._pages(asked, size):
            fields: dict[str, Any] = fields_of(rows)
            for name in set(self._all_vectors) - {self._vector if vectors else None}:
                fields.pop(name, None)
            fields[self._id] = self._ids(fields[self._id])
            if vectors:
                fields[self._vector] = pa.array([_numbers(each, self.dtype) for each in fields[self._vector]])
            yield batch_of(fields)

    def _pages(self, fields: list[str], size: int) -> Iterator[list[dict[str, Any]]]:
        """Rows in the order of their keys, by Milvus's own iterator."""
        _ = self._described  # which loads it
        pages = self._client.query_iterator(self._held, batch_size=size, filter=self._where, output_fields=fields)
        try:
            while rows := pages.next():
                yield rows
        finally:
            pages.close()

    def _make(self, name: str, first: pa.Table, metadata: dict[str, Any]) -> None:
        """An empty collection; float16 where the engine has it, which Milvus Lite has not."""
        types, path = self._package().DataType, self.address.path
        for state in () if path is None else ("unfinished", "older"):
            # Milvus Lite does not see a folder without a schema, which a killed run had only begun to make or had not
            # quite dropped, and refuses to make one where it is
            folder = self._path / "collections" / f"{self._wanted}{self._mark}{state}"
            if not (folder / "schema.json").exists():
                shutil.rmtree(folder, ignore_errors=True)
        vectors = first.column(VECTOR).type
        half = vectors.value_type == pa.float16() and path is None
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=True)
        if ID in first.column_names and pa.types.is_string(first.column(ID).type):
            schema.add_field(ID, types.VARCHAR, is_primary=True, max_length=65_535)
        else:
            schema.add_field(ID, types.INT64, is_primary=True)
        kind = types.FLOAT16_VECTOR if half else types.FLOAT_VECTOR
        schema.add_field(VECTOR, kind, dim=vectors.list_size)
        self._client.create_collection(
            name, schema=schema, properties={OWN: json.dumps(metadata)}, consistency_level="Strong"
        )

    def _put(self, name: str, ids: Sequence[Any], vectors: np.ndarray, records: list[dict[str, Any]]) -> None:
        half = vectors.dtype == np.float16 and self.address.path is None
        rows = zip(records, ids, vectors.astype("<f2" if half else "<f4", copy=False), strict=True)
        self._client.upsert(name, [{**record, ID: each, VECTOR: row} for record, each, row in rows])

    def _finish(self, name: str) -> None:
        """What a search needs; made once, after the rows, as every insert would work on it."""
        index = self._client.prepare_index_params()
        kind = "AUTOINDEX" if self.address.path is None else "FLAT"  # Lite is for few vectors, and its graphs take long
        index.add_index("vector", index_type=kind, metric_type="COSINE")
        self._client.create_index(name, index)

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        if not self._described.get("enable_dynamic_field"):
            raise InputError(f"{self.name} takes no fields beyond its schema; it was made without dynamic fields.")
        for rows in list(self._pages(["*", *self._all_vectors], self._most)):
            # a row can only be written whole; None takes a field away
            changed = [
                {**row, **dict(zip((LINKED, PROBABILITY), notes[row[self._id]], strict=True))}
                for row in rows
                if row[self._id] in notes
            ]
            if changed:
                self._client.upsert(self._held, changed)

    @cached_property
    def _where(self) -> str:
        return " and ".join(map(_expression, self.address.where))


def _expression(condition: Condition) -> str:
    """Milvus takes filters as text: a plain name and a JSON literal, so that nothing else gets in."""
    if not condition.field.isidentifier():
        raise InputError(f"A filter cannot name the field {condition.field!r} in Milvus; names are letters and digits.")
    sign = "==" if condition.sign == "=" else condition.sign
    return f"{condition.field} {sign} {json.dumps(condition.value, ensure_ascii=False)}"


def _numbers(value: Any, dtype: np.dtype) -> np.ndarray:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], bytes):
        value = value[0]
    return np.frombuffer(value, dtype) if isinstance(value, bytes) else np.asarray(value, dtype)


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder that names files, servers or models outside it, before its engine opens it.

    The engine reads what the folder names, maps what an index names, and sends texts to the server that an embedding
    function names, with the key of whoever runs it. `name` is what the folder is called in the sentence of an error.
    """
    for file in folder.rglob("schema.json"):
        for each in _read(file).get("functions") or []:
            kind = each.get("function_type") if isinstance(each, dict) else each
            if kind not in ("BM25", 1):  # the one that only counts words, by its name or number
                raise InputError(
                    f"{name} has a function, {kind!r}, that would send its texts to a server; copy the vectors."
                )
    for file in folder.rglob("manifest.json*"):
        for text in _texts(_read(file)):
            path = PurePosixPath(text.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", text):
                raise InputError(f"{name} names a file outside its folder, {text}; restore the folder from a backup.")
    for file in folder.rglob("*.idx"):
        if _OTHER_FILE.search(file.read_bytes()):
            raise InputError(f"{name} has an index, {file.name}, that names another file; remove that index.")


def _read(file: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where it is damaged, which the engine does not read either."""
    with suppress(OSError, ValueError):
        described = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(described, dict):
            return described
    return {}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of JSON, the names in it too."""
    if isinstance(value, str):
        yield value
    for each in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)
