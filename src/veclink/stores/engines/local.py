"""Folders and files of embedded engines: copies to read from, writes that were killed, and renames that replace."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from veclink.errors import InputError
from veclink.files.memory import size_of
from veclink.files.scratch import scratch_folder

# How a journal ends that names another file, which SQLite would then read, and remove.
NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")
STATES = ("unfinished", "whole", "older")


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


class Shelf(Protocol):
    """What an engine can do with whole collections."""

    def names(self) -> Collection[str]:
        """The collections that are there."""

    def rename(self, name: str, to: str) -> None:
        """Give a collection another name, in one step."""

    def drop(self, name: str) -> None:
        """Remove a collection."""


class Replacement:
    """The names of a collection on its way, where an engine renames and drops, but not both in one step.

    So the older or the new collection is there whenever the process is killed: dropping takes many steps, a rename is
    one. `mark` stands between its name and the word for its state.
    """

    def __init__(self, name: str, mark: str) -> None:
        self.name = name
        # being written; all of it is there, and where there is no NAME it is the collection; replaced, to be dropped
        self.unfinished, self.whole, self.older = (f"{name}{mark}{state}" for state in STATES)

    def held_as(self, names: Collection[str]) -> str:
        """The name that the collection has now, whether or not it is there."""
        return self.whole if self.name not in names and self.whole in names else self.name

    def opened(self, shelf: Shelf, *, writable: bool) -> str:
        """The name to open it by; where it may be changed, what a killed run had written is put in its place first."""
        if writable and self.held_as(shelf.names()) == self.whole:
            shelf.rename(self.whole, self.name)
        return self.held_as(shelf.names())

    def clear(self, shelf: Shelf) -> None:
        """Remove what killed runs left."""
        for name in sorted({self.unfinished, self.whole, self.older} & set(shelf.names())):
            shelf.drop(name)

    def put_in_place(self, shelf: Shelf) -> None:
        """Make what was written the collection."""
        shelf.rename(self.unfinished, self.whole)
        if self.name in shelf.names():
            shelf.rename(self.name, self.older)
        shelf.rename(self.whole, self.name)
        if self.older in shelf.names():
            shelf.drop(self.older)


def asked_for(names: Iterable[str], mark: str) -> set[str]:
    """The collections that a person could mean: those that are whole, by the name they have or will have."""
    unseen = (f"{mark}unfinished", f"{mark}older")
    return {each.removesuffix(f"{mark}whole") for each in names if not each.endswith(unseen)}
