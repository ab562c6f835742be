"""What killed writers leave in stores: the older collection or the new one is read, and the next write is like any."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from own_process import alone
from store_kinds import KINDS, Kind, ids_of, rows_of
from veclink.stores import open_store
from veclink.stores.engines.clients import NAMES_A_FILE
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch

OLD, NEW, MANY = rows_of(5), rows_of(9, seed=1), 3000
RENAMING = [kind for kind in KINDS if kind.name in ("chroma", "milvus")]


def write(url: str, vectors: np.ndarray, *, replace: bool = False) -> None:
    with open_store(url, write=True) as store:
        store.write([Batch(vectors, ids_of("int", len(vectors)))], replace=replace)


def die_with_a_journal(file: Path) -> None:
    """Change a file of SQLite, with more pages than are held back, and die before the changes are committed."""
    connection = sqlite3.connect(file)
    connection.execute("pragma cache_size = 5")
    connection.execute("create table filler (x)")
    connection.executemany("insert into filler values (?)", [("x" * 500,)] * MANY)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite://{}/x.db#papers", "x.db"),
        ("qdrant://{}/q#papers", "q/collection/papers/storage.sqlite"),
        ("chroma://{}/c#papers", "c/chroma.sqlite3"),
    ],
)
def test_a_file_of_sqlite_whose_writer_was_killed_is_read_as_it_was_before(tmp_path: Path, url: str, file: str) -> None:
    url = url.format(tmp_path)
    write(url, OLD)
    assert alone(die_with_a_journal, tmp_path / file)[0] == -signal.SIGKILL
    assert (tmp_path / f"{file}-journal").stat().st_size
    assert np.array_equal(open_collection(url).vectors, OLD)


def test_a_journal_that_names_another_file_is_left_alone(tmp_path: Path) -> None:
    """SQLite would remove that file: a collection of a stranger could name any."""
    write(f"sqlite://{tmp_path}/x.db#papers", OLD)
    assert alone(die_with_a_journal, tmp_path / "x.db")[0] == -signal.SIGKILL
    journal = tmp_path / "x.db-journal"
    with journal.open("ab") as content:
        content.write(NAMES_A_FILE)
    before = journal.read_bytes()
    with pytest.raises(Exception, match="could not be read"):
        open_collection(f"sqlite://{tmp_path}/x.db#papers")
    assert journal.read_bytes() == before


def die_after(url: str, renames: int) -> None:
    """Replace a collection, and die after so many renames, or where the older one is dropped."""
    left = {"rename": renames, "drop": 0}
    with open_store(url, write=True) as store:
        shelf: Any = type(store)
        for step in left:
            setattr(shelf, step, counted(getattr(shelf, step), step, left))
        store.write([Batch(NEW, ids_of("int", len(NEW)))], replace=True)


def counted(step: Any, name: str, left: dict[str, int]) -> Any:
    def run(self: Any, *given: str) -> None:
        if not left[name]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[name] -= 1
        step(self, *given)

    return run


@pytest.mark.parametrize("kind", RENAMING, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("renames", "new"), [(1, False), (2, True), (3, True)])
def test_a_replacement_that_is_killed_leaves_the_older_or_the_new_collection(
    tmp_path: Path, kind: Kind, renames: int, new: bool
) -> None:
    url = kind.url(tmp_path, "papers")
    assert alone(write, url, OLD)[0] == 0  # Milvus Lite keeps a folder to the process that opened it
    assert alone(die_after, url, renames)[0] == -signal.SIGKILL
    expected = NEW if new else OLD
    assert np.array_equal(open_collection(url).vectors, expected)
    assert np.array_equal(open_collection(url.partition("#")[0]).vectors, expected)  # it is the only one
    with pytest.raises(Exception, match="is there already"):
        write(url, OLD)
    write(url, NEW[:3], replace=True)
    assert np.array_equal(open_collection(url).vectors, NEW[:3])
