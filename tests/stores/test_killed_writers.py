"""What killed writers leave in stores: the older collection or the new one is read, and the next write is like any."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from own_process import alone
from store_kinds import KINDS, Kind, ids_of, rows_of
from veclink.stores import open_store
from veclink.stores.engines.local import NAMES_A_FILE
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


def write_two_to_merge(folder: Path, linked: int) -> None:
    for side in (0, 1):
        np.save(folder / f"{'ab'[side]}.npy", rows_of(50, seed=side))
    (folder / "pairs.csv").write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(linked)))


def merge_and_die(folder: Path, renames: int, output: str, *more: str) -> None:
    """Merge two files, and die before the rename of this number in the folder."""
    rename, done = os.replace, []

    def counted_rename(source: Path, target: Path) -> None:
        if Path(target).parent == folder:
            done.append(target)
        if len(done) > renames:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(source, target)

    instead: Any = counted_rename
    os.replace = instead
    merge_files(folder, output, *more)


def merge_files(folder: Path, output: str, *more: str) -> None:
    from veclink.cli.app import main

    given = ["a.npy", "b.npy", "--links", "pairs.csv", "--map", "procrustes", "-o", output, "--yes"]
    os.chdir(folder)
    sys.argv = ["veclink", "merge", *given, *more]
    main()


@pytest.mark.parametrize(("output", "files"), [("m.npy", 4), ("m.npz", 2)])
def test_a_merge_that_is_killed_between_its_renames_is_finished_by_the_same_command(
    tmp_path: Path, output: str, files: int
) -> None:
    write_two_to_merge(tmp_path, 30)
    before = set(os.listdir(tmp_path))
    for renames in range(1, files):
        assert alone(merge_and_die, tmp_path, renames, output)[0] == -signal.SIGKILL
        code, said = alone(merge_files, tmp_path, output)
        assert not code, said
        made = sorted(name for name in set(os.listdir(tmp_path)) - before if not name.endswith(".lock"))
        assert len(made) == files and not any(name.startswith(".") for name in made), made
        ids = pq.read_table(tmp_path / "m.rows.parquet").column("id").to_pylist()
        assert [str(each) for each in ids] == [str(each) for each in open_collection(tmp_path / output).ids]
        for name in made:
            (tmp_path / name).unlink()


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


@pytest.mark.parametrize("name", ["papers__veclink_unfinished", "papers__veclink_older"])
def test_a_folder_that_milvus_had_only_begun_to_make_or_drop_is_no_obstacle(tmp_path: Path, name: str) -> None:
    url = f"milvus://{tmp_path}/m.db#papers"
    write(url, OLD)
    half = tmp_path / "m.db/collections" / name
    (half / "partitions").mkdir(parents=True)
    (half / "partitions/rows.parquet").write_bytes(b"of a collection that was being dropped")
    write(url, NEW, replace=True)
    assert np.array_equal(open_collection(url).vectors, NEW) and not half.exists()
