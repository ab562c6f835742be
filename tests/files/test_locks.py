"""Locks of what is written, where others have been before or may do more."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from own_process import alone as in_own_process
from veclink.files.atomic import alone, locked

NOBODY = 65_534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are for one user, and what TMPDIR names may be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o777)
        yield Path(place)


def written(target: Path, beside: bool) -> None:
    """Hold the lock as somebody who is not root, and print what else can be locked meanwhile."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with alone(target):
        held = next(target.parent.glob(".veclink-*.lock")) if beside else target
        print("locked" if locked(held) is None else "free")


def test_a_lock_that_a_killed_run_of_another_user_left_stops_nobody(folder: Path) -> None:
    with alone(folder / "rows.parquet"):
        (left,) = folder.glob(".veclink-*.lock")
    left.touch()
    left.chmod(0o444)  # nobody but root may write to it
    code, said = in_own_process(written, folder / "rows.parquet", True)
    assert (code, said.split()) == (0, ["locked"]), said


def test_a_folder_of_ones_own_in_one_that_may_not_be_written_to_is_locked_itself(folder: Path) -> None:
    (folder / "lance").mkdir()
    if os.geteuid() == 0:
        os.chown(folder / "lance", NOBODY, NOBODY)
    folder.chmod(0o555)
    code, said = in_own_process(written, folder / "lance", False)
    folder.chmod(0o777)
    assert (code, said.split()) == (0, ["locked"]), said
    assert (folder / "lance").is_dir()
