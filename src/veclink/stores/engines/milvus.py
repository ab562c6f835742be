"""Milvus: `milvus://host:19530/collection` for a server, `milvus:///file.db#collection` for Milvus Lite.

Both go through the same client. A server's token ("user:password" or a key) comes from MILVUS_TOKEN.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veclink.data.collection import as_ids
from veclink.errors import InputError, StoreError, needed
from veclink.files.atomic import locked
from veclink.stores.arrow import batch_of, column_of, fields_of, id_column
from veclink.stores.engines.local import RenamingStore, copied
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, in_parts
from veclink.stores.urls import Condition

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its library writes to stderr while a long read goes on
MOST = 8192  # rows in one answer; Milvus's own limit is 16,384
WRITE = 2000
OWN = "veclink"
MARK = "__veclink_"
"""What the names of collections have in them that are being written or replaced here."""
_KINDS = {"FLOAT_VECTOR": "<f4", "FLOAT16_VECTOR": "<f2", "INT8_VECTOR": "i1"}


class MilvusStore(RenamingStore):
    """A Milvus collection: its primary key is the id, its vector fields are chosen by `?vector=`."""

    needs = ("pymilvus", "Milvus", "veclink[milvus]")
    _mark = MARK

    @cached_property
    def _client(self) -> Any:
        milvus = self._package()
        _silence("pymilvus", "milvus_lite")
        address = self.address
        with self.errors("opened"):
            if address.path is None:
                uri = f"{'https' if address.tls else 'http'}://{address.host}:{address.port or 19530}"
                own = f"{address.user}:{address.password}" if address.user and address.password else ""
                return milvus.MilvusClient(uri, token=os.environ.get("MILVUS_TOKEN") or own, timeout=20)
            needed("milvus_lite", "A Milvus Lite file", install="veclink[milvus]")
            if not self.writable and not address.path.exists():
                raise InputError(f"{self.name} does not exist; check the name.")  # the client would make it
            check_folder(address.path, self.name)
            folder = address.path if self.writable else self._read_copy(address.path)
            return milvus.MilvusClient(str(folder.absolute()))

    def _read_copy(self, folder: Path) -> Path:
        """A copy to read from: the engine deletes files of rows that the folder does not list, also to read others."""
        lock = locked(folder / "LOCK", shared=True)
        if not folder.is_dir() or (lock is None and (folder / "LOCK").exists()):
            return folder  # the client says what is wrong, such as that somebody else has it open
        if lock is not None:
            self._copies.callback(os.close, lock)
        copy = copied(folder, self.name, self._copies, "LOCK", "*.sock")
        servers: Any = needed("milvus_lite.server_manager", "A Milvus Lite file", install="veclink[milvus]")
        self._copies.callback(servers.server_manager_instance.release_server, str(copy))
        return copy

    def names(self) -> list[str]:
        return list(self._client.list_collections())

    def rename(self, name: str, to: str) -> None:
        self._client.rename_collection(name, to)

    def drop(self, name: str) -> None:
        self._client.drop_collection(name)

    @cached_property
    def _described(self) -> dict[str, Any]:
        with self.errors():
            described = self._client.describe_collection(self._held)
            self._client.load_collection(self._held)
        return dict(described)

    def _exists(self) -> bool:
        with self.errors():
            return bool(self._client.has_collection(self._held))

    def count(self) -> int:
        with self.errors():
            _ = self._described
            answer = self._client.query(self._held, filter=self._where, output_fields=["count(*)"])
        return int(answer[0]["count(*)"])

    def dimension(self) -> int:
        return int(self._kept["params"]["dim"])

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_KINDS[self._kept["type"].name])

    def metadata(self) -> dict[str, Any]:
        properties = dict(self._described.get("properties") or {})
        own = json.loads(properties.pop(OWN, "{}"))
        text = self._described.get("description")
        return {**({"description": text} if text else {}), **own}

    @property
    def _id(self) -> str:
        return self.address.id or self._key

    @property
    def _fields(self) -> list[str]:
        return [each["name"] for each in self._described["fields"]]

    @property
    def _vectors(self) -> list[str]:
        return [each["name"] for each in self._described["fields"] if each["type"].name in _KINDS]

    @property
    def _inner(self) -> list[str]:
        return [self._key, *self._all_vectors]

    @property
    def _all_vectors(self) -> list[str]:
        return [each["name"] for each in self._described["fields"] if each["type"].name.endswith("_VECTOR")]

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        vector = self._vector if columns is None or self._vector in columns else None
        # fields beyond the schema cannot be named before they are there
        plain = columns is not None and set(columns) <= set(self._fields)
        asked = list(dict.fromkeys([self._key, *(columns or ())])) if plain else ["*", *([vector] if vector else [])]
        for rows in self._pages(asked, size):
            fields: dict[str, Any] = fields_of(rows)
            for name in set(self._all_vectors) - {vector}:
                fields.pop(name, None)
            fields[self._id] = id_column(as_ids(fields[self._id], self.name))
            if vector:
                fields[vector] = column_of(np.stack([_numbers(each, self.dtype) for each in fields[vector]]))
            yield batch_of(fields)

    def _pages(self, fields: list[str], size: int) -> Iterator[list[dict[str, Any]]]:
        """Rows in the order of their keys, by Milvus's own iterator."""
        with self.errors():
            _ = self._described  # which loads it
            pages = self._client.query_iterator(
                self._held, batch_size=min(size, MOST), filter=self._where, output_fields=fields
            )
            try:
                while rows := pages.next():
                    yield rows
            finally:
                pages.close()

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        for state in ("unfinished", "older"):
            self._remove_half_made(f"{self._wanted}{MARK}{state}", with_rows=True)
        rows = 0
        with self._replacing() as name:
            self._make(name, first.vectors, first.ids is not None and first.ids.dtype == object, metadata)
            for batch in batches:
                ids = range(rows, rows + len(batch)) if batch.ids is None else batch.ids.tolist()
                records = [{} for _ in ids] if batch.payload is None else batch.payload.to_pylist()
                vectors = batch.vectors.astype(self._kept_as, copy=False)
                points = [
                    {**_plain(record), "id": each, "vector": row}
                    for each, row, record in zip(ids, vectors, records, strict=True)
                ]
                for part in in_parts(points, WRITE):
                    self._client.insert(name, part)
                rows += len(batch)
            self._index(name)

    def _make(self, name: str, vectors: np.ndarray, text: bool, metadata: dict[str, Any]) -> None:
        """An empty collection; float16 where the engine has it, which Milvus Lite has not."""
        types = self._package().DataType
        half = vectors.dtype == np.float16 and self.address.path is None
        kind, self._kept_as = ("FLOAT16_VECTOR", "<f2") if half else ("FLOAT_VECTOR", "<f4")
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=True)
        kept = {"datatype": types.VARCHAR, "max_length": 65_535} if text else {"datatype": types.INT64}
        schema.add_field("id", is_primary=True, **kept)
        schema.add_field("vector", getattr(types, kind), dim=vectors.shape[1])
        self._remove_half_made(name)
        self._client.create_collection(
            name, schema=schema, properties={OWN: json.dumps(metadata)}, consistency_level="Strong"
        )

    def _remove_half_made(self, name: str, *, with_rows: bool = False) -> None:
        """Remove the folder of a collection that a killed run had only begun to make, or not quite dropped.

        Milvus Lite does not see a folder without a schema, and refuses to make one where it is.
        """
        if self.address.path is None:
            return
        folder = self.address.path / "collections" / name
        begun = folder.is_dir() and not (folder / "schema.json").exists()
        if begun and (with_rows or not any(folder.rglob("*.parquet"))):
            shutil.rmtree(folder, ignore_errors=True)

    def _index(self, name: str) -> None:
        """What a search needs; made once, after the rows, as every insert would work on it."""
        index = self._client.prepare_index_params()
        kind = "AUTOINDEX" if self.address.path is None else "FLAT"  # Lite is for few vectors, and its graphs take long
        index.add_index("vector", index_type=kind, metric_type="COSINE")
        self._client.create_index(name, index)

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        # every record needs a vector here: two numbers, the same for all, that nobody should search by
        vector = np.ones((1, 2), np.float32)
        with self.errors("written"):
            if not self.exists():
                self._make(self._held, vector, True, {"holds": "links"})
                self._index(self._held)
            for part in in_parts(list(changed.items()), WRITE):
                rows = [
                    {"id": _pair_id(a, b), "vector": vector[0], "a": a, "b": b, "probability": p} for (a, b), p in part
                ]
                self._client.upsert(self._held, rows)
            for pairs in in_parts(removed, WRITE):
                self._client.delete(self._held, ids=[_pair_id(*pair) for pair in pairs])
        self._forget()

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        if not self._described.get("enable_dynamic_field"):
            raise InputError(f"{self.name} takes no fields beyond its schema; it was made without dynamic fields.")
        for rows in list(self._pages(["*", *self._all_vectors], WRITE)):
            # a row can only be written whole; None takes a field away
            changed = [
                {**row, **dict(zip((LINKED, PROBABILITY), changes[each] or (None, None), strict=True))}
                for row in rows
                if (each := row[self._id]) in changes
            ]
            if changed:
                with self.errors("written"):
                    self._client.upsert(self._held, changed)

    @cached_property
    def _kept(self) -> dict[str, Any]:
        """What is said of the field of the vectors."""
        return next(each for each in self._described["fields"] if each["name"] == self._vector)

    @cached_property
    def _key(self) -> str:
        return next(each["name"] for each in self._described["fields"] if each.get("is_primary"))

    @cached_property
    def _where(self) -> str:
        return " and ".join(map(_expression, self.address.where))


def _silence(*packages: str) -> None:
    """No word of their logs: every refusal is there with a traceback; the sentence of the error is enough."""
    for package in packages:
        logging.getLogger(package).setLevel(logging.CRITICAL)
    for name in list(logging.Logger.manager.loggerDict):
        if name.startswith(packages):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _expression(condition: Condition) -> str:
    """Milvus takes filters as text: a plain name and a JSON literal, so that nothing else gets in."""
    if not condition.field.isidentifier():
        raise InputError(f"A filter cannot name the field {condition.field!r} in Milvus; names are letters and digits.")
    sign = "==" if condition.sign == "=" else condition.sign
    return f"{condition.field} {sign} {json.dumps(condition.value, ensure_ascii=False)}"


def _pair_id(a: Id, b: Id) -> str:
    """A key without quotes or backslashes, which Milvus's iterator does not escape."""
    return hashlib.sha256(json.dumps([a, b]).encode()).hexdigest()[:32]


def _numbers(value: Any, dtype: np.dtype) -> np.ndarray:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], bytes):
        value = value[0]
    return np.frombuffer(value, dtype) if isinstance(value, bytes) else np.asarray(value, dtype)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Payload as JSON takes it, without empty fields."""
    if {"id", "vector"} & set(record):
        raise InputError("The payload has a field 'id' or 'vector', which have their own meaning here; rename it.")
    kept = {key: value for key, value in record.items() if value is not None}
    return json.loads(json.dumps(kept, default=str))


BM25 = ("BM25", 1)
"""The one function that only counts words: its name, and its number."""
_OTHER_FILE = re.compile(rb"ilod.{4}\0{4}", re.DOTALL)
"""In an index of FAISS: lists that are in another file ("ilod"), and how many, in eight bytes."""


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder that names files, servers or models outside it, or whose rows its engine would not find.

    Parameters
    ----------
    folder : Path
        The "file" of Milvus Lite; where it is not there, or none of ours to look into, nothing is checked.
    name : str
        What it is called in the sentence of an error.
    """
    for file in folder.rglob("schema.json"):
        _check_functions(_read(file), name)
    for file in folder.rglob("manifest.json*"):
        for path in _named_files(_read(file)):
            _check_path(path, name)
    for file in folder.rglob("*.idx"):
        _check_index(file, name)
    for file in folder.glob("collections/*/schema.json"):  # a collection is what has one
        if MARK not in file.parent.name:  # what a killed run left half-removed is removed whole
            _check_list(file.with_name("manifest.json"))


def damaged(file: Path) -> StoreError:
    """What is said of a file that describes the collection and cannot be read."""
    return StoreError(
        f"{file} is damaged or missing, and without it the rows cannot be told; restore it from a backup."
    )


def has_rows(collection: Path) -> bool:
    """Whether there are files of rows in the folder of a collection that are nowhere else.

    Before its first list, an engine that was killed has all rows in its log, too, and writes the files again.
    """
    begun = not any(collection.glob("manifest.json*")) and any((collection / "wal").glob("*.arrow"))
    return not begun and any((collection / "partitions").rglob("*.parquet"))


def _check_list(file: Path) -> None:
    """Refuse a list of the files with rows that the engine itself cannot read; it is asked without the older list."""
    if not has_rows(file.parent):
        return
    engine: Any = needed("milvus_lite.storage.manifest", "A Milvus Lite file", install="veclink[milvus]")
    with TemporaryDirectory(prefix="veclink-") as alone:
        try:
            shutil.copy(file, alone)
            engine.Manifest.load(alone)
        except Exception as error:  # whatever a changed list makes of the engine
            raise damaged(file) from error


def _read(file: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where it is damaged, which the engine does not read either."""
    with suppress(OSError, ValueError):
        described = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(described, dict):
            return described
    return {}


def _check_functions(schema: dict[str, Any], name: str) -> None:
    functions = schema.get("functions") or []
    kinds = [each.get("function_type") if isinstance(each, dict) else each for each in functions]
    for kind in kinds:
        if kind not in BM25:
            raise InputError(
                f"{name} has a function of the kind {kind!r}, which would send its texts to a server that it names; "
                "read it without a filter, or write to another store."
            )


def _named_files(manifest: dict[str, Any]) -> Iterator[str]:
    """The partitions and files that a manifest names."""
    partitions = manifest.get("partitions")
    if not isinstance(partitions, dict):
        return
    for partition, contents in partitions.items():
        yield partition
        if not isinstance(contents, dict):
            continue
        for files in contents.values():
            yield from (str(each) for each in files if isinstance(files, list))


def _check_path(path: str, name: str) -> None:
    given = PurePosixPath(path.replace("\\", "/"))
    if given.is_absolute() or ".." in given.parts or re.match("[A-Za-z]:", path):
        raise InputError(f"{name} names a file outside its folder, {path}; restore the folder from a backup.")


def _check_index(file: Path, name: str) -> None:
    if not file.stat().st_size:
        return
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _OTHER_FILE.search(content):
            raise InputError(f"{name} has an index, {file.name}, that names another file; remove that index.")
