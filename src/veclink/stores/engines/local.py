"""Folders and files of embedded engines: copies to read from, writes that were killed, and renames that replace."""

from __future__ import annotations

import os
import shutil
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from veclink.errors import InputError
from veclink.files.atomic import scratch_folder
from veclink.files.memory import size_of
from veclink.stores.protocol import Store

# How a journal ends that names another file, which SQLite would then read, and remove.
NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")


def copied(folder: Path, name: str, stack: ExitStack, *leave_out: str) -> Path:
    """A copy of a folder, without files of these patterns, for as long as the stack is open.

    Some clients write to their files even where they are only asked for rows.
    """
    inside = folder.resolve()
    for each in folder.rglob("*"):
        if each.is_symlink() and not each.resolve().is_relative_to(inside):
            raise InputError(f"{name} has a file that leads out of the folder, {each}; copy the file itself there.")
    home = stack.enter_context(scratch_folder(size_of(folder), f"copies of {name}"))
    copy = home / "copy.db"  # Milvus asks for the ending
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*leave_out))
    return copy


def undo_killed_write(file: Path) -> None:
    """Let SQLite put back the pages that a killed writer had changed; nothing happens where it left no journal.

    Where that cannot be (a folder that may not be written), the file stays as it is, and reading it says so.
    """
    if not _has_own_journal(file.with_name(f"{file.name}-journal")):
        return
    with suppress(sqlite3.Error):
        address = f"file:{quote(str(file.absolute()))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            # the first read looks at the journal; a writer that is alive holds a lock, and nothing is undone
            connection.execute("select count(*) from sqlite_master").fetchone()


def _has_own_journal(journal: Path) -> bool:
    """Whether there is a journal, and it is about its own file alone."""
    try:
        with journal.open("rb") as content:
            size = content.seek(0, os.SEEK_END)
            content.seek(max(0, size - len(NAMES_A_FILE)))
            return size > 0 and content.read() != NAMES_A_FILE
    except OSError:
        return False


class ClientStore(Store):
    """A collection behind a client of its own, which reads a copy of a folder."""

    _open = ("_client", "_copies")

    @cached_property
    def _copies(self) -> ExitStack:
        return ExitStack()


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
        with self.errors():
            names, whole = self.names(), f"{self._wanted}{self._mark}whole"
            if self._wanted in names or whole not in names:
                return self._wanted
            if self.writable:
                self.rename(whole, self._wanted)
            return self._wanted if self.writable else whole

    @contextmanager
    def _replacing(self) -> Iterator[str]:
        """The name to write to; what is there at the end becomes the collection."""
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
