"""Engines behind clients: copies of folders to read from, rows and links in parts, renames that replace."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from veclink.data.collection import as_ids
from veclink.errors import InputError
from veclink.files.atomic import locked, scratch_folder
from veclink.files.memory import size_of
from veclink.stores.arrow import ID, VECTOR, column_of, id_column, vectors_of
from veclink.stores.protocol import Store
from veclink.stores.urls import Condition

# How a journal ends that names another file, which SQLite would then read, and remove.
NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")


def undo_killed_write(file: Path) -> None:
    """Let SQLite put back the pages that a killed writer had changed; nothing happens where it left no journal.

    Where that cannot be (a folder that may not be written), the file stays as it is, and reading it says so.
    """
    with suppress(OSError, sqlite3.Error):
        journal = file.with_name(f"{file.name}-journal").read_bytes()
        if journal and not journal.endswith(NAMES_A_FILE):
            address = f"file:{quote(str(file.absolute()))}?mode=rw"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                # the first read looks at the journal; a writer that is alive holds a lock, and nothing is undone
                connection.execute("select count(*) from sqlite_master").fetchone()


def check_ordered(condition: Condition, engine: str) -> None:
    """Refuse an order of text, for engines that have none."""
    if condition.sign != "=" and isinstance(condition.value, str):
        raise InputError(f"{engine} orders numbers only, and the filter compares {condition.field!r} with text.")


def with_vectors(links: pa.Table) -> pa.Table:
    """Links with the vectors that engines want of every record; they mean nothing."""
    return links.append_column(VECTOR, column_of(np.ones((len(links), 2), np.float32)))


class ClientStore(Store):
    """A collection behind a client, whose rows are ids, vectors and records of JSON."""

    _open = ("_client", "_copies")
    _most: ClassVar[int]  # rows that are written in one call

    @cached_property
    def _copies(self) -> ExitStack:
        return ExitStack()

    def _folder(self, mark: str, lock: str, *leave_out: str) -> Path:
        """The folder that the client is to open; a copy to read from, as clients write to their files even then.

        mark: what is in every folder of this kind. lock: the file that a client locks; what fits `leave_out` is not
        copied.
        """
        folder = self._path
        if self.writable:
            return folder
        if not (folder / mark).exists():
            raise InputError(f"{self.name} does not exist; check the name.")  # the client would make it
        held = locked(folder / lock, shared=True)
        if held is not None:
            self._copies.callback(os.close, held)
        elif (folder / lock).exists() and os.name != "nt":
            return folder  # the client says what is wrong, such as that somebody else has it open
        inside = folder.resolve()
        for each in folder.rglob("*"):
            if each.is_symlink() and not each.resolve().is_relative_to(inside):
                raise InputError(
                    f"{self.name} has a file that leads out of the folder, {each}; copy the file itself there."
                )
        home = self._copies.enter_context(scratch_folder(size_of(folder), f"copies of {self.name}"))
        return shutil.copytree(folder, home / "copy.db", ignore=shutil.ignore_patterns(lock, *leave_out))

    def _ids(self, values: Sequence[Any]) -> pa.Array:
        """Ids of an answer as a column."""
        return id_column(as_ids(values, self.name))

    @property
    @abstractmethod
    def _held(self) -> str:
        """The name that the collection has now."""

    @abstractmethod
    def _make(self, name: str, first: pa.Table, metadata: dict[str, Any]) -> None:
        """Make an empty collection for rows like these."""

    @abstractmethod
    def _put(self, name: str, ids: Sequence[Any], vectors: np.ndarray, records: list[dict[str, Any]]) -> None:
        """Write rows, in place of those with the same ids."""

    def _finish(self, name: str) -> None:
        """What is done once, after all rows."""

    def _together(self, name: str) -> AbstractContextManager[Any]:
        """What makes one step of many calls, where that can be."""
        return nullcontext()

    @abstractmethod
    def _replacing(self) -> AbstractContextManager[str]:
        """The name to write to; what is there at the end becomes the collection."""

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        if VECTOR not in first.column_names:  # of links, too, these engines want one
            first = with_vectors(first)
            tables, metadata = iter([first]), {"holds": "links"}
        with self._replacing() as name:
            self._make(name, first, metadata)
            with self._together(name):
                self._put_all(name, tables, named=self._names_rows(first))
            self._finish(name)

    def _put_all(self, name: str, tables: Iterator[pa.Table], *, named: bool) -> int:
        """Write all rows of tables, numbered or `named` by their ids, and say how many there are."""
        rows = 0
        for table in tables:
            ids = table.column(ID).to_pylist() if named else list(range(rows, rows + len(table)))
            vectors, fields = vectors_of(table), table.drop_columns([ID, VECTOR] if named else [VECTOR])
            # dates and the like as text
            records = json.loads(json.dumps(fields.to_pylist(), default=str)) or [{} for _ in ids]
            known = [{key: value for key, value in each.items() if value is not None} for each in records]
            for start in range(0, len(ids), self._most):
                part = slice(start, start + self._most)
                self._put(name, ids[part], vectors[part], known[part])
            rows += len(table)
        return rows

    def _names_rows(self, first: pa.Table) -> bool:
        """Whether the ids of such rows name the records; others are numbered, and hold the id as a field."""
        return ID in first.column_names


class RenamingStore(ClientStore):
    """A collection whose engine renames and drops, but not both in one step.

    So the older or the new collection is there whenever the process is killed: dropping takes many steps, a rename is
    one. `_mark` stands between the name of a collection on its way and the word for its state.
    """

    _mark: ClassVar[str]

    @abstractmethod
    def names(self) -> list[str]:
        """All collections, those that are being written too."""

    @abstractmethod
    def rename(self, name: str, to: str) -> None:
        """Give a collection another name, in one step."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a collection."""

    @cached_property
    def _wanted(self) -> str:
        """The name of the collection: the only one that a person could mean where the URL names none."""
        if self.address.table:
            return self.address.table
        unseen = (f"{self._mark}unfinished", f"{self._mark}older")
        names = (each.removesuffix(f"{self._mark}whole") for each in self.names() if not each.endswith(unseen))
        return self._only_one(set(names), "collection")

    @cached_property
    def _held(self) -> str:
        """The name that it has now; what a killed run had written is put in its place first where it may be."""
        names, whole = self.names(), f"{self._wanted}{self._mark}whole"
        if self._wanted in names or whole not in names:
            return self._wanted
        if self.writable:
            self.rename(whole, self._wanted)
        return self._wanted if self.writable else whole

    def _exists(self) -> bool:
        return self._held in self.names()

    @contextmanager
    def _replacing(self) -> Iterator[str]:
        # being written; all of it is there, and where there is no NAME it is the collection; replaced, to be dropped
        unfinished, whole, older = (f"{self._wanted}{self._mark}{state}" for state in ("unfinished", "whole", "older"))
        for name in sorted({unfinished, whole, older} & set(self.names())):
            self.drop(name)
        try:
            yield unfinished
            self.rename(unfinished, whole)
            if self._wanted in self.names():
                self.rename(self._wanted, older)
            self.rename(whole, self._wanted)
            if older in self.names():
                self.drop(older)
        except BaseException:
            with suppress(Exception):
                self.drop(unfinished)
            raise
