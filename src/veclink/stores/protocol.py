"""Store: what a collection in a database or a file can be asked for, the same for all of them."""

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

from veclink.errors import InputError, OutputError, StoreError, VeclinkError, named, needed
from veclink.files.fingerprints import digest
from veclink.files.locks import alone
from veclink.files.scratch_folders import open_home
from veclink.stores.urls import Address

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

    from veclink.data.collection import Collection

SUSPECT, RATIO = 1 << 30, 100
"""Bytes of vectors from which on they are suspect if they are so many times the bytes of the files they are in."""
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
TABLE = "table"
"""In the metadata of a merge: the fingerprint of the table that is written beside it."""

LINKED, PROBABILITY = "veclink_id", "veclink_probability"
"""The payload fields that `annotate` sets: the linked object of the other collection, and how probable that is."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a collection.

    Attributes
    ----------
    vectors : (n, d) array
        The numbers.
    ids : (n,) array or None
        int64, or str as objects.
    payload : pyarrow.Table or None
        A row for each vector.
    place : Any
        Where the next batch begins, for `Store.batches(after=…)`; plain JSON, None where a read cannot be resumed.
    """

    vectors: np.ndarray
    ids: np.ndarray | None = None
    payload: pa.Table | None = None
    place: Any = None

    def __len__(self) -> int:
        return len(self.vectors)


def in_parts(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """The items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


class Store(ABC):
    """One collection in a store. Opened read-only; only one made with `writable` changes anything.

    keeps_payload: whether what is written beside ids and vectors comes back.
    keeps_links:   whether a table of links can be written there (`put_links`).
    replaceable:   whether a collection that is there can be replaced as a whole.
    needs:         the package behind it, what it is called, and how it is installed.
    """

    keeps_payload: bool = True
    keeps_links: bool = True
    replaceable: bool = True
    needs: ClassVar[tuple[str, str, str] | None] = None
    _open: ClassVar[tuple[str, ...]] = ("_connection", "_client", "_file")
    """Cached properties that are open, and are closed at the end."""

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        """The store of an address; an error where its package is not installed."""
        if cls.needs is not None:
            cls._package()
        return cls(address, writable=writable)

    @classmethod
    def _package(cls) -> Any:
        assert cls.needs is not None, f"{cls.__name__} needs no package"
        return needed(*cls.needs)

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        self.address = address
        self.writable = writable
        self._is_alone = False

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

    @abstractmethod
    def exists(self) -> bool:
        """Whether the collection is there."""

    def in_the_way(self) -> str | None:
        """What a write would replace, by its name; None where the place is free."""
        return self.name if self.exists() else None

    def half_written(self) -> bool:
        """Whether something of this name was begun and never finished; it does not count as being there."""
        return False

    @abstractmethod
    def count(self) -> int:
        """How many rows there are, after the filters of the URL."""

    def at_most(self) -> int | None:
        """Where counting takes long, a number that there are no more rows than; None where `count` is quick."""
        return None

    @abstractmethod
    def dimension(self) -> int:
        """How many numbers each vector has."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """What the numbers are read as: float16, float32 or int8."""

    @abstractmethod
    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        """All rows in an order that stays the same while nothing is written; from the place `after` on, if given."""

    def in_place(self, *, payload: bool = True) -> Collection | None:
        """The whole collection mapped where it lies, None where its vectors do not lie in one piece on the disk."""
        return None

    def metadata(self) -> dict[str, Any]:
        """What the store says of the collection as a whole, and what was written with it."""
        return {}

    def version(self) -> str:
        """Changes when the store knows that its rows have changed; a read is resumed only in the same version."""
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
        with alone(self.address.path or open_home() / digest(self.name)):
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
            return self._write(batches, metadata)

    def _write(self, batches: Iterable[Batch], metadata: Mapping[str, Any] | None) -> int:
        stream = iter(batches)
        first = next(stream, None)
        if first is None:
            raise InputError(f"There is no batch to write to {self.name}; give one, of 0 rows if need be.")
        if first.payload is not None and not self.keeps_payload:
            raise InputError(
                f"{self.name} keeps ids and vectors only, and there is payload in {named(first.payload.column_names)}; "
                "leave it out, or choose a store that keeps it."
            )
        rows = 0

        def counted() -> Iterator[Batch]:
            nonlocal rows
            for batch in _alike(first, stream, self.name):
                rows += len(batch)
                yield batch

        with self.errors("written"):
            self._create(first, counted(), dict(metadata or {}))
        return rows

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        """Replace or make the collection; `batches` begins with `first`, all checked to be alike."""
        raise InputError(f"{self.name} is a kind of store that is only read; write to another.")

    def links(self) -> dict[tuple[Id, Id], float] | None:
        """The table of links with this name, None where there is none; something else of that name is an error."""
        raise InputError(f"{self.name} is a kind of store that holds no table of links; choose another.")

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        """Write new and changed links and take out `removed`; makes the table where it is not there."""
        raise InputError(f"{self.name} is a kind of store that holds no table of links; choose another.")

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        """Each id of the collection with its linked id and probability, both None where it has none."""
        raise InputError(f"{self.name} is a kind of store whose payload cannot be changed; choose another.")

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        """Set the fields LINKED and PROBABILITY of these ids; None takes them away."""
        raise InputError(f"{self.name} is a kind of store whose payload cannot be changed; choose another.")

    def close(self) -> None:
        """Give back what is open. Closing twice does no harm."""
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
        except VeclinkError:
            raise
        except MemoryError:
            raise
        except BaseException as error:  # each engine has errors of its own
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            reason = self._reason(error)
            if done == "written" and self.address.path is not None and NO_ROOM.search(str(error)):
                raise OutputError(
                    f"{self.name} could not be written, as there seems to be no room ({reason}); make room there or "
                    "choose another place."
                ) from None
            raise StoreError(f"{self.name} could not be {done} ({reason}).") from None

    def _reason(self, error: BaseException) -> str:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0].rstrip(".;:") if lines else type(error).__name__
        for secret in self.address.secrets():
            for form in (secret, quote(secret, safe=""), quote(secret)):
                reason = reason.replace(form, "***")
        return reason[:300]

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
        for what, held in (("ids", batch.ids), ("payload", batch.payload)):
            if held is not None and len(held) != len(batch):
                raise InputError(f"There are {len(batch):,} vectors and {len(held):,} {what}; give one for each.")
        yield batch
        start += len(batch)
