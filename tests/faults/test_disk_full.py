"""A disk that fills up while a command writes: one sentence, what was there stays, and with room the command works."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults import journal
from faults.cases import all_cases
from faults.papers import write_papers
from faults.trials import NOTHING
from own_process import alone
from veclink.errors import VeclinkError

CASES = [
    "merge to npy, replacing",
    "merge to hdf5, replacing",
    "merge to parquet folder, replacing",
    "merge to sqlite, replacing",
    "merge to duckdb, replacing",
    "merge to duckdb",
    "export to duckdb",
    "link to csv, with a report",
    "review journal",
]
ROOM = 8 << 10
"""Bytes: of room beside what is there, or of the largest file that may be written."""


def can_mount() -> bool:
    """Whether a small disk can be had: for root, where mounting is allowed."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


WAYS = ["tmpfs" if can_mount() else "ulimit"]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full") / "papers"
    write_papers(folder)
    return folder


@contextmanager
def small_disk(folder: Path, way: str) -> Iterator[None]:
    """A folder on a disk with hardly any room left; for the other way it stays as it is."""
    if way == "ulimit":
        yield
        return
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    size = sum(-(-path.stat().st_size // 4096) * 4096 + 4096 for path in kept.rglob("*")) + ROOM
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
    shutil.copytree(kept, folder, dirs_exist_ok=True)


def run(name: str, papers: Path, folder: Path, largest: int) -> None:
    """The command, or the answers; `largest`: bytes of a file, 0 for any."""
    words = [str(each) for each in all_cases()[name].words(papers, folder)]
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if words[0] == "answer":
        try:
            journal.answer_all(folder)
        except VeclinkError as error:
            sys.exit(f"veclink: {error}")
        return
    from veclink.cli.app import main

    sys.argv = ["veclink", *words]
    main()


def found(name: str, folder: Path) -> str:
    try:
        return all_cases()[name].look(folder)
    except VeclinkError as error:
        assert "does not exist" in str(error), error
        return NOTHING


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_is_one_sentence_and_what_was_there_stays(
    papers: Path, tmp_path: Path, name: str, way: str
) -> None:
    case, folder = all_cases()[name], tmp_path / "out"
    folder.mkdir()
    if case.older is not None:
        case.older(papers, folder)
    before = found(name, folder)
    # a file of answers is small: leave it room for its first line
    largest = 0 if way == "tmpfs" else 200 if case.steps else ROOM
    with small_disk(folder, way):
        if case.steps and way == "tmpfs":
            (folder / "filler").write_bytes(bytes(ROOM))
        code, said = alone(run, name, papers, folder, largest)
        assert code == 1 and "Traceback" not in said, said
        assert said.splitlines()[-1].startswith("veclink: "), said
        assert name.startswith("merge") == ("be lost to wrong links" in said), "costs are told before it writes"
        (folder / "filler").unlink(missing_ok=True)
    assert found(name, folder) in (before, "a part of the answers")
    code, said = alone(run, name, papers, folder, 0)
    assert code == 0, said
    assert found(name, folder) not in (before, NOTHING)
