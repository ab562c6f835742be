"""Two files that say together what is so: one of another run is refused, and nobody else's is written over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import InputError, StoreError
from veclink.stores import open_collection, open_store
from veclink.stores.files import read_ids_beside
from veclink.stores.protocol import Batch

NPY = "x.npy"
STORES = pytest.mark.stores
FAISS = pytest.param("x.faiss", marks=STORES)


def links_of(probability: float) -> Links:
    return Links(np.array([[0, 1]]), np.array([probability]), Summary("span", 3, 3, 1))


def write(path: Path, run: int, ids: bool = True, replace: bool = False) -> None:
    """A collection of four rows that another run would have in another order."""
    vectors = np.random.default_rng(run).normal(size=(4, 8)).astype(np.float32)
    named = np.array([f"{run}-{row}" for row in range(4)], object) if ids else None
    with open_store(path, write=True) as store:
        store.write([Batch(vectors, named)], replace=replace)


class Killed(BaseException):
    """What a test stops a write with."""


def kill_at_rename(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the renames from this one on never happen; what is removed on the way out of an exception stays, too."""
    rename, done = os.replace, []

    def counted(source: Path, target: Path) -> None:
        done.append(target)
        if len(done) > number:
            raise Killed
        rename(source, target)

    monkeypatch.setattr(os, "replace", counted)


def test_metadata_of_other_links_is_refused_in_a_sentence(tmp_path: Path) -> None:
    links_of(0.5).save(tmp_path / "one.csv")
    links_of(0.75).save(tmp_path / "other.csv")
    assert Links.load(tmp_path / "one.csv").probability.tolist() == [0.5]
    shutil.copy(tmp_path / "other.csv.json", tmp_path / "one.csv.json")
    with pytest.raises(InputError, match=r"one\.csv and .*one\.csv\.json were not written together.*link again"):
        Links.load(tmp_path / "one.csv")


def test_links_of_a_run_that_was_killed_between_its_two_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links_of(0.5).save(tmp_path / "links.csv")
    with monkeypatch.context() as patch:
        kill_at_rename(patch, 1)
        with pytest.raises(Killed):
            links_of(0.75).save(tmp_path / "links.csv")
    with pytest.raises(InputError, match="were not written together"):
        Links.load(tmp_path / "links.csv")
    links_of(0.75).save(tmp_path / "links.csv")
    assert Links.load(tmp_path / "links.csv").probability.tolist() == [0.75]


@pytest.mark.parametrize("name", [NPY, FAISS])
def test_ids_of_other_vectors_are_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    for run in (0, 1):
        (tmp_path / str(run)).mkdir()
        write(tmp_path / str(run) / name, run)
    assert open_collection(tmp_path / "0" / name).ids.tolist() == ["0-0", "0-1", "0-2", "0-3"]
    shutil.copy(tmp_path / "1/x.ids.txt", tmp_path / "0/x.ids.txt")
    with pytest.raises(InputError, match=rf"{name} and .*x\.ids\.txt were not written together.*x\.ids\.json"):
        open_collection(tmp_path / "0" / name)
    (tmp_path / "0/x.ids.json").unlink()
    assert open_collection(tmp_path / "0" / name).ids[0] == "1-0"


@pytest.mark.parametrize("name", [NPY, FAISS])
@pytest.mark.parametrize("renames", [0, 1, 2, 3])
def test_a_killed_replacement_is_the_older_one_the_new_one_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, renames: int
) -> None:
    path = tmp_path / name
    write(path, 0)
    with monkeypatch.context() as patch:
        kill_at_rename(patch, renames)
        try:
            write(path, 1, replace=True)
        except Killed:
            assert renames < 3
    if renames == 2:  # the new record and ids, the older vectors
        with pytest.raises(InputError, match="were not written together"):
            open_collection(path)
        return
    run = int(renames == 3)
    read = open_collection(path)
    assert read.ids[0] == f"{run}-0"
    assert np.allclose(read.vectors[0], np.random.default_rng(run).normal(size=8))


@pytest.mark.parametrize(("name", "reader"), [(NPY, "files"), pytest.param("x.faiss", "engines.faiss", marks=STORES)])
def test_vectors_of_one_writer_never_get_the_ids_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reader: str
) -> None:
    write(tmp_path / name, 0)

    def after_another_write(path: Path) -> np.ndarray | None:
        write(path, 1, replace=True)
        return read_ids_beside(path)

    monkeypatch.setattr(f"veclink.stores.{reader}.read_ids_beside", after_another_write)
    with pytest.raises(StoreError, match="changed while it was read"):
        open_collection(tmp_path / name)


def test_the_rows_of_one_writer_are_not_cut_by_the_count_of_another(tmp_path: Path) -> None:
    write(tmp_path / "x.npy", 0)
    rows = open_collection(tmp_path / "x.npy")
    for count in (3, 4):
        with open_store(f"parquet://{tmp_path}/folder", write=True) as writer:
            if count == 4:
                reader = open_store(f"parquet://{tmp_path}/folder")
                assert reader.count() == 3
            each = (slice(row, row + 1) for row in range(count))
            writer.write((Batch(rows.vectors[row], rows.ids_at(row)) for row in each), replace=True)
    with reader, pytest.raises(StoreError, match="changed while it was read"):
        list(reader.batches())


@pytest.mark.parametrize("name", [NPY, FAISS])
def test_a_collection_without_ids_does_not_get_those_it_replaced(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, 0)
    write(tmp_path / name, 1, ids=False, replace=True)
    assert open_collection(tmp_path / name).ids is None
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", [NPY, FAISS])
@pytest.mark.parametrize("ids", [True, False])
def test_ids_of_another_collection_are_not_replaced_unasked(tmp_path: Path, name: str, ids: bool) -> None:
    (tmp_path / "x.ids.txt").write_text("mine\n")
    with pytest.raises(InputError, match=r"x\.ids\.txt is there already.*--replace"):
        write(tmp_path / name, 0, ids=ids)
    assert (tmp_path / "x.ids.txt").read_text() == "mine\n" and not (tmp_path / name).exists()
    write(tmp_path / name, 0, replace=True)
    assert open_collection(tmp_path / name).ids[0] == "0-0"
    other = (tmp_path / name).rename(tmp_path / {"x.npy": "x.faiss", "x.faiss": "x.npy"}[name])
    with pytest.raises(InputError, match=r"x\.ids\.txt is there already"):
        write(tmp_path / name, 1, ids=ids)
    assert other.exists() and (tmp_path / "x.ids.txt").read_text().startswith("0-0")
