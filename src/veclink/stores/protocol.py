"""Store: what a collection in a database or a file can be asked for, the same for all of them.

An engine says what is there (`exists`, `count`, `dimension`, `dtype`), gives its columns as Arrow batches (`scan`) and
makes a collection of batches (`_create`). All else is here.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from veclink.data.collection import as_ids
from veclink.errors import InputError, OutputError, StoreError, VeclinkError, named, needed
from veclink.files.atomic import alone, scratch_home
from veclink.files.fingerprints import digest
from veclink.files.tables import metadata_of
from veclink.stores.arrow import choose_id, choose_vector, id_column, ids_of, is_list, matrix
from veclink.stores.urls import Address

if TYPE_CHECKING:
    from veclink.data.collection import Collection

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
    keeps_links: bool = True  # whether a table of links can be written there (`put_links`)
    replaceable: bool = True  # whether a collection that is there can be replaced as a whole
    needs: ClassVar[tuple[str, str, str] | None] = None  # the package behind it, what it is called, how it is installed
    _open: ClassVar[tuple[str, ...]] = ("_connection", "_client", "_file")  # cached properties that are closed

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        self.address = address
        self.writable = writable
        self._closings = self._streams = 0
        self._is_alone = False
        if self.needs is not None:
            self._package()

    @classmethod
    def _package(cls) -> Any:
        assert cls.needs is not None, f"{cls.__name__} needs no package"
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
        return (self.address.path is None or self.address.path.exists()) and self._exists()

    def _exists(self) -> bool:
        """The same, where the file or folder is there."""
        return True

    def in_the_way(self) -> str | None:
        """What a write would replace, by its name; None where the place is free."""
        return self.name if self.exists() else None

    def half_written(self) -> bool:
        """Whether something of this name was begun and never finished; it does not count as being there."""
        return False

    @abstractmethod
    def count(self) -> int:
        """How many rows there are, after the filters of the URL."""

    @abstractmethod
    def dimension(self) -> int:
        """How many numbers each vector has."""

    @property
    def dtype(self) -> np.dtype:
        """What the numbers are read as: float16, float32 or int8."""
        return np.dtype(np.float32)

    _fields: Any = ()  # the names of all fields, as far as they are known without reading rows
    _vectors: Any = ()  # those that could be vectors
    _inner: Any = ()  # columns of `scan` that are there whatever is kept, a table of links too

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, or all but vectors that were not chosen; always in the same order.

        The filters of the URL hold. A column that is not known may be missing, and those of `_inner` may be there.
        """
        raise NotImplementedError

    @cached_property
    def _vector(self) -> str:
        """The column of the vectors."""
        return choose_vector(self.address.vector, list(self._fields), list(self._vectors), self.name)

    @cached_property
    def _id(self) -> str | None:
        """The column of the ids, if there is one."""
        return choose_id(self.address.id, [each for each in self._fields if each != self._vector], self.name)

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Iterator[Batch]:
        """All rows in an order that stays the same while nothing is written."""
        with self.errors():
            own = [self._vector, *([self._id] if self._id else [])]
            row, closings = 0, self._closings
            self._streams += 1  # no engine is closed under a reader
            try:
                for records in self.scan(None if payload else own, size):
                    if not records.num_rows:
                        continue
                    rest = [each for each in records.schema.names if each not in (*own, *self._inner)]
                    table = pa.Table.from_batches([records.select(rest)]) if payload and rest else None
                    if table is not None:
                        table.validate(full=True)  # text that is none would be noticed only where it is looked at
                    yield Batch(
                        matrix(records.column(own[0]), row, None, self.name).astype(self.dtype, copy=False),
                        ids_of(records.column(own[1]), self.name) if self._id else None,
                        table,
                    )
                    row += records.num_rows
                    if self._closings != closings:
                        raise StoreError(f"{self.name} could not be read (it was closed).")
            finally:
                self._streams -= 1
                if self._closings != closings and not self._streams:
                    self._close()

    def in_place(self, *, payload: bool = True) -> Collection | None:
        """The whole collection mapped where it lies, None where its vectors do not lie in one piece on the disk."""
        return None

    def metadata(self) -> dict[str, Any]:
        """What the store says of the collection as a whole, and what was written with it."""
        return {}

    def version(self) -> str:
        """Changes when the store knows that its rows have changed."""
        return ""

    # --- writing

    def state(self) -> str:
        """Letters that differ once the collection was written anew: by its files, or by its version and metadata."""
        parts: list[Any] = [self.version(), self.count(), self.metadata()]
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
            self._is_alone = True
            self._forget()
            try:
                yield
            finally:
                self._is_alone = False

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
                raise OutputError(
                    f"{self.name} was changed meanwhile, and stays as it is now; run the same command again (in "
                    "Python: append to it again)."
                )
            stream = iter(batches)
            first = next(stream, None)
            if first is None:
                raise InputError(f"There is no batch to write to {self.name}; give one, of 0 rows if need be.")
            if first.payload is not None and not self.keeps_payload:
                raise InputError(
                    f"{self.name} keeps ids and vectors only, and there is payload in "
                    f"{named(first.payload.column_names)}; leave it out, or choose a store that keeps it."
                )
            rows = 0

            def counted() -> Iterator[Batch]:
                nonlocal rows
                for batch in _alike(first, stream, self.name):
                    rows += len(batch)
                    yield batch

            with self.errors("written"):
                self._create(first, counted(), dict(metadata or {}))
            self._forget()
            return rows

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        """Replace or make the collection; `batches` begins with `first`, all checked to be alike."""
        raise InputError(f"{self.name} is a kind of store that is only read; write to another.")

    def links(self) -> dict[tuple[Id, Id], float] | None:
        """The table of links with this name, None where there is none; something else of that name is an error."""
        if not self.keeps_links:
            raise InputError(f"{self.name} is a kind of store that holds no table of links; choose another.")
        if not self.exists():
            return None
        found: dict[tuple[Id, Id], float] = {}

        def check(names: Sequence[str]) -> None:
            if sorted(names) != ["a", "b", "probability"]:
                raise InputError(
                    f"{self.name} is there and is no table of links: it has {named(list(names))}, links have a, b and "
                    "probability; choose another name."
                )

        with self.errors():
            if self._fields and not self._inner:
                check(self._fields)
            for records in self.scan():
                check([each for each in records.schema.names if each not in self._inner])
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
            probability = pa.array(list(kept.values()), type=pa.float64())
            self._create_table(pa.table([a, b, probability], names=["a", "b", "probability"]))
        self._forget()

    def _create_table(self, links: pa.Table) -> None:
        """Make or replace a table of links, in one step."""
        raise InputError(f"{self.name} is a kind of store that holds no table of links; choose another.")

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        """Each id of the collection with its linked id and probability, both None where it has none."""
        notes: dict[Id, tuple[Id | None, float | None]] = {}
        for records in self.scan([self._annotated_id, LINKED, PROBABILITY]):
            there = LINKED in records.schema.names
            linked, probability = (
                records.column(name).to_pylist() if there else [None] * records.num_rows
                for name in (LINKED, PROBABILITY)
            )
            ids = ids_of(records.column(self._annotated_id), self.name).tolist()
            notes |= dict(zip(ids, zip(linked, probability, strict=True), strict=True))
        return notes

    @property
    def _annotated_id(self) -> str:
        if self._id is None:
            raise InputError(f"{self.name} has no ids, so its rows cannot be annotated; name the field: ?id=…")
        return self._id

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        """Set the fields LINKED and PROBABILITY of these ids; None takes them away."""
        raise InputError(f"{self.name} is a kind of store whose payload cannot be changed; choose another.")

    def close(self) -> None:
        """Give back what is open, once nobody reads any more. Closing twice does no harm."""
        self._closings += 1
        if not self._streams:
            self._close()

    def _close(self) -> None:
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

    def check_free(self) -> None:
        """Refuse to write over what is there."""
        there = self.in_the_way()
        if there is not None:
            raise InputError(f"{there} is there already; choose another name, or replace it (replace=True, --replace).")

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
                raise OutputError(
                    f"{self.name} could not be written, as there seems to be no room ({reason}); make room there or "
                    "choose another place."
                ) from None
            raise StoreError(f"{self.name} could not be {done} ({reason}).") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ArrowStore(Store):
    """A collection with an Arrow schema: its list columns are vectors."""

    _schema: Any

    def dimension(self) -> int:
        kind = self._schema.field(self._vector).type
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        first = next(self.batches(1, payload=False), None)
        return 0 if first is None else first.vectors.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._schema.field(self._vector).type.value_type.to_pandas_dtype())

    def metadata(self) -> dict[str, Any]:
        return metadata_of(self._schema)

    @property
    def _fields(self) -> list[str]:
        return self._schema.names

    @cached_property
    def _vectors(self) -> list[str]:
        return [each.name for each in self._schema if is_list(each.type)]


def _alike(first: Batch, rest: Iterator[Batch], name: str) -> Iterator[Batch]:
    """`first` and the rest, refusing a batch of another dimension, or with ids or payload where `first` has none."""
    start = 0
    for batch in chain([first], rest):
        if batch.vectors.shape[1] != first.vectors.shape[1]:
            raise InputError(
                f"The rows from {start:,} on have {batch.vectors.shape[1]:,} numbers and those before "
                f"{first.vectors.shape[1]:,}; nothing was written to {name}."
            )
        if (batch.ids is None) != (first.ids is None) or (batch.payload is None) != (first.payload is None):
            raise InputError(f"Some batches have ids or payload and others none; nothing was written to {name}.")
        if len({ids.dtype == object for ids in (first.ids, batch.ids) if ids is not None and len(ids)}) > 1:
            raise InputError("Later rows have ids that are text and the first ones integers; give one kind.")
        for what, held in (("ids", batch.ids), ("payload", batch.payload)):
            if held is not None and len(held) != len(batch):
                raise InputError(f"There are {len(batch):,} vectors and {len(held):,} {what}; give one for each.")
        yield batch
        start += len(batch)
