"""Store: what a collection in a database or a file can be asked for, the same for all of them.

An engine says what is there (`_exists`, `_count`, `_dimension`, `dtype`), gives its columns as Arrow batches (`scan`)
and makes a collection of Arrow tables (`_create`). All else is here, also that its errors become sentences.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from veclink.data.collection import as_ids, digest
from veclink.errors import InputError, OutputError, StoreError, VeclinkError, named, needed
from veclink.files.atomic import alone, scratch_home
from veclink.files.tables import metadata_of
from veclink.stores.arrow import (
    ID,
    VECTOR,
    choose_id,
    choose_vector,
    id_column,
    ids_of,
    is_list,
    matrix,
    records_of,
)
from veclink.stores.urls import Address

BATCH = 8192
"""Rows of one batch, unless a store takes fewer at once."""

PANIC = "PanicException"
"""What an engine in Rust raises when it panics; each engine has a class of this name of its own, beside Exception."""
# how engines say that a file could not grow
NO_ROOM = re.compile(
    r"no space|disk is full|disk I/O error|file too large|write error|err(?:no|or) 2[78]\b",
    re.IGNORECASE,
)

Id = int | str
Note = tuple[Id | None, float | None]
"""The linked object, and how probable that is; None both where there is none."""
LINKED, PROBABILITY = "veclink_id", "veclink_probability"
"""The payload fields that `annotate` sets: the linked object of the other collection, and how probable that is."""
KEY = "\0id"
"""The column of `scan` that holds the ids of engines that keep them apart from all fields."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a collection."""

    vectors: np.ndarray  # (n, d)
    ids: np.ndarray | None = None  # (n,) int64, or str as objects
    payload: pa.Table | None = None  # a row for each vector

    def __len__(self) -> int:
        return len(self.vectors)


def in_parts(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """The items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


class Store(ABC):
    """One collection in a store. Opened read-only; only one made with `writable` changes anything."""

    keeps_payload: bool = True  # whether what is written beside ids and vectors comes back
    keeps_links: bool = True  # whether a table of links or notes can be written there (`put_links`, `annotate`)
    replaceable: bool = True  # whether a collection that is there can be replaced as a whole
    needs: ClassVar[tuple[str, ...]] = ()  # the package behind it, what it is called, how it is installed
    _open: ClassVar[tuple[str, ...]] = ("_connection", "_client", "_file")  # cached properties that are closed

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        self.address = address
        self.writable = writable
        self._is_alone = False
        if self.needs:
            self._package()

    @classmethod
    def _package(cls) -> Any:
        return needed(*cls.needs)

    @property
    def name(self) -> str:
        """How the store is called in sentences; never with a password."""
        return self.address.shown

    @property
    def _path(self) -> Path:
        """The file or folder of an embedded store."""
        assert self.address.path is not None, f"{self.name} is a server"
        return self.address.path

    # --- reading

    def exists(self) -> bool:
        """Whether the collection is there; asking makes nothing."""
        with self.errors():
            return (self.address.path is None or self.address.path.exists()) and self._exists()

    def _exists(self) -> bool:
        """The same, where the file or folder is there."""
        return True

    def count(self) -> int:
        """How many rows there are, after the filters of the URL."""
        with self.errors():
            return self._count()

    @abstractmethod
    def _count(self) -> int: ...

    def dimension(self) -> int:
        """How many numbers each vector has."""
        with self.errors():
            return self._dimension()

    @abstractmethod
    def _dimension(self) -> int: ...

    def metadata(self) -> dict[str, Any]:
        """What the store says of the collection as a whole, and what was written with it."""
        with self.errors():
            return self._metadata()

    def _metadata(self) -> dict[str, Any]:
        return {}

    def in_the_way(self) -> str | None:
        """What a write would replace, by its name; None where the place is free."""
        return self.name if self.exists() else None

    def half_written(self) -> bool:
        """Whether something of this name was begun and never finished; it does not count as being there."""
        return False

    @property
    def dtype(self) -> np.dtype:
        """What the numbers are read as: float16, float32 or int8."""
        return np.dtype(np.float32)

    _fields: Any = ()  # the names of all fields, as far as they are known without reading rows
    _vectors: Any = ()  # those that could be vectors
    _inner: Any = ()  # columns that `scan` gives of every collection, a table of links too

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[pa.RecordBatch]:
        """The ids of all rows, the chosen vectors and the payload if they are wanted; always in the same order.

        The filters of the URL hold.
        """
        raise NotImplementedError

    def _names(self, vectors: bool, payload: bool) -> list[str]:
        """The fields that `scan` gives; a table of links has neither ids nor vectors."""
        own = {self._id, self._vector if vectors else None} if self._vectors else set()
        return [each for each in self._fields if each in own or (payload and each not in self._vectors)]

    @cached_property
    def _vector(self) -> str:
        """The column of the vectors."""
        return choose_vector(self.address.vector, list(self._fields), list(self._vectors), self.name)

    @cached_property
    def _id(self) -> str | None:
        """The column of the ids, if there is one."""
        return choose_id(self.address.id, [each for each in self._fields if each != self._vector], self.name)

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Generator[Batch]:
        """All rows in an order that stays the same while nothing is written."""
        row, dimension = 0, None
        with self.errors():
            own = [self._vector, *([self._id] if self._id else [])]
            for records in self.scan(size, payload=payload):
                if not records.num_rows:
                    continue
                rest = [each for each in records.schema.names if each not in (*own, *self._inner)]
                table = pa.Table.from_batches([records.select(rest)]) if payload and rest else None
                if table is not None:
                    table.validate(full=True)  # text that is none would be noticed only where it is looked at
                vectors = matrix(records.column(own[0]), row, dimension, self.name).astype(self.dtype, copy=False)
                yield Batch(vectors, ids_of(records.column(own[1]), self.name) if self._id else None, table)
                row, dimension = row + len(vectors), vectors.shape[1]

    # --- writing

    def state(self) -> str:
        """Letters that differ once the collection was written anew: by its files, or by its rows and metadata."""
        parts: list[Any] = [self.count(), self.metadata()]
        path = self.address.path
        for file in () if path is None else (path, path.with_name(f"{path.name}-wal")):  # what SQLite has yet to move
            if file.is_file():
                told = file.stat()
                parts += [told.st_ino, told.st_mtime_ns, told.st_size]
        return digest(*parts)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other writers of this place waiting; what is read of it in the block is as they left it."""
        if self._is_alone:
            yield
            return
        with alone(self.address.path or scratch_home() / digest(self.name)):
            self._forget()
            with self._locked():
                self._is_alone = True
                try:
                    yield
                finally:
                    self._is_alone = False

    def _locked(self) -> AbstractContextManager[None]:
        """What an engine does to the same end."""
        return nullcontext()

    def write(
        self,
        batches: Iterable[Batch],
        *,
        metadata: Mapping[str, Any] | None = None,
        replace: bool = False,
        state: str | None = None,
    ) -> int:
        """Make the collection of these rows, whole or not at all, and say how many there are.

        The first batch decides the dimension, the numbers, and whether there are ids and payload. A collection that is
        there already is an error, unless `replace`; and one that is not in the given `state` any more.
        """
        self.check_writable()
        with self.alone():
            if not replace:
                self.check_free()
            if state is not None and self.state() != state:
                raise OutputError(f"{self.name} was changed meanwhile, and stays as it is now; run the same again.")
            tables = _records(batches, self.name)
            first = next(tables, None)
            if first is None:
                raise InputError(f"There is no batch to write to {self.name}; give one, of 0 rows if need be.")
            payload = [each for each in first.column_names if each not in (ID, VECTOR)]
            if payload and not self.keeps_payload:
                raise InputError(f"{self.name} keeps no payload, and there is {named(payload)}; choose another store.")
            rows = 0

            def counted() -> Iterator[pa.Table]:
                nonlocal rows
                for table in chain([first], tables):
                    rows += table.num_rows
                    yield table

            with self.errors("written"):
                self._create(first, counted(), dict(metadata or {}))
            self._forget()
            return rows

    @abstractmethod
    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        """Replace or make the collection; `tables` begins with `first`, and all have its schema."""

    def links(self) -> dict[tuple[Id, Id], float] | None:
        """The table of links with this name, None where there is none; something else of that name is an error."""
        self._check_keeps_links()
        if not self.exists():
            return None
        found: dict[tuple[Id, Id], float] = {}
        with self.errors():
            batches = list(self.scan(vectors=False))
            for names in [each.schema.names for each in batches] or [self._fields]:
                own = sorted(set(names) - set(self._inner))
                if own != ["a", "b", "probability"] and (own or batches):
                    raise InputError(
                        f"{self.name} is there and is no table of links (a, b, probability), but has {named(own)}."
                    )
            for records in batches:
                a, b = (ids_of(records.column(side), self.name).tolist() for side in "ab")
                found |= dict(zip(zip(a, b, strict=True), records.column("probability").to_pylist(), strict=True))
        return found

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        """Write new and changed links and take out `removed`; makes the table where it is not there."""
        self.check_writable()
        kept = {**(self.links() or {}), **changed}
        for pair in removed:
            kept.pop(pair, None)
        with self.errors("written"):
            a, b = (id_column(as_ids([pair[side] for pair in kept])) for side in (0, 1))
            links = pa.table({"a": a, "b": b, "probability": pa.array(list(kept.values()), type=pa.float64())})
            self._create(links, iter([links]), {})
        self._forget()

    def annotations(self) -> dict[Id, Note]:
        """Each id of the collection with its note."""
        self._check_keeps_links()
        notes: dict[Id, Note] = {}
        with self.errors():
            for records in self.scan(vectors=False):
                known = dict(zip(records.schema.names, records.columns, strict=True))
                none = pa.nulls(len(records))
                held = (known.get(name, none).to_pylist() for name in (LINKED, PROBABILITY))
                ids = ids_of(known[self._annotated_id], self.name).tolist()
                notes |= dict(zip(ids, zip(*held, strict=True), strict=True))
        return notes

    @property
    def _annotated_id(self) -> str:
        if self._id is None:
            raise InputError(f"{self.name} has no ids, so its rows cannot be annotated; name the field: ?id=…")
        return self._id

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        """Set the fields LINKED and PROBABILITY of these ids; None takes them away."""
        self.check_writable()
        with self.errors("written"):
            self._annotate({each: value or (None, None) for each, value in changes.items()})
        self._forget()

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        raise NotImplementedError

    def _check_keeps_links(self) -> None:
        if not self.keeps_links:
            raise InputError(f"{self.name} is a kind of store that keeps no links, nor notes of them; choose another.")

    def close(self) -> None:
        """Give back what is open; closing twice does no harm."""
        self._forget()
        for name in self._open:
            opened = self.__dict__.pop(name, None)
            if hasattr(opened, "close"):
                with suppress(Exception):
                    opened.close()

    def _forget(self) -> None:
        """Forget what was learnt of the collection, which a write may have changed; what is open stays open."""
        for name in list(self.__dict__):
            learnt = isinstance(getattr(type(self), name, None), cached_property)
            if learnt and name not in self._open:
                del self.__dict__[name]

    # --- for all of them

    def _only_one(self, names: Iterable[str], what: str) -> str:
        """The only table or collection there is, where the URL names none."""
        found = sorted(names)
        if len(found) != 1:
            raise InputError(f"{self.name} holds {len(found)} {what}s, {named(found) or 'none'}; name one: #{what}.")
        return found[0]

    def _check_one_vector(self) -> None:
        if self.address.vector:
            raise InputError(f"{self.name} has one vector for each object, without a name; leave ?vector= out.")

    def check_free(self) -> None:
        """Refuse to write over what is there."""
        there = self.in_the_way()
        if there is not None:
            raise InputError(
                f"{there} is there already; choose another name, or replace all of it, with the rows that were "
                "appended (--replace; in Python replace=True)."
            )

    def check_writable(self) -> None:
        """Refuse to change a store that was opened to be read."""
        if not self.writable:
            raise InputError(f"{self.name} is opened read-only; open it for writing first.")

    @contextmanager
    def errors(self, done: str = "read") -> Iterator[None]:
        """What an engine complains of becomes one sentence with the store's name and without its password."""
        try:
            yield
        except (VeclinkError, MemoryError):
            raise
        except BaseException as error:  # each engine has errors of its own
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = lines[0].rstrip(".;:") if lines else type(error).__name__
            for secret in self.address.secrets():
                for form in (secret, quote(secret, safe=""), quote(secret)):
                    reason = reason.replace(form, "***")
            reason = reason[:300]
            if done == "written" and self.address.path is not None and NO_ROOM.search(str(error)):
                raise OutputError(f"{self.name} could not be written for want of room ({reason}); make room.") from None
            damaged = done == "read" and self.address.kind == "parquet_file"
            kind = InputError if damaged else StoreError
            raise kind(f"{self.name} could not be {done} ({reason}).") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ArrowStore(Store):
    """A collection with an Arrow schema: its list columns are vectors."""

    _schema: Any

    def _dimension(self) -> int:
        kind = self._schema.field(self._vector).type
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        first = next(self.scan(1, payload=False), None)
        return 0 if first is None else matrix(first.column(self._vector), 0, None, self.name).shape[1]

    @property
    def dtype(self) -> np.dtype:
        return pa.array([], self._schema.field(self._vector).type.value_type).to_numpy(False).dtype

    def _metadata(self) -> dict[str, Any]:
        return metadata_of(self._schema)

    @property
    def _fields(self) -> list[str]:
        return self._schema.names

    @cached_property
    def _vectors(self) -> list[str]:
        return [each.name for each in self._schema if is_list(each.type)]


def _records(batches: Iterable[Batch], name: str) -> Iterator[pa.Table]:
    """Batches as tables with the schema of the first; refused are rows of another dimension, or with other fields."""
    schema, start = None, 0
    for batch in batches:
        table = records_of(batch)
        schema = schema or table.schema
        here, before = map(_described, (table.schema, schema))
        if here != before:
            raise InputError(
                f"The rows from {start:,} on have {here} and those before {before}; nothing was written to {name}."
            )
        try:
            yield table.select(schema.names).cast(schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"Later rows have other kinds of values than the first ones ({reason}).") from error
        start += len(batch)


def _described(schema: pa.Schema) -> str:
    return f"{schema.field(VECTOR).type.list_size:,} numbers and the fields {named(sorted(schema.names))}"
