"""A file is written whole, or the folder looks as it did before."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from own_process import alone
from veclink.errors import InputError, OutputError
from veclink.files.atomic import scratch_home, written_whole


def test_a_finished_block_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    with written_whole(tmp_path / "out.txt") as temporary:
        assert temporary.parent == tmp_path and temporary.suffix == ".txt"
        temporary.write_text("done")
        assert not (tmp_path / "out.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "done"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError, InputError, SystemExit])
def test_an_interrupted_block_keeps_the_older_file(tmp_path: Path, interruption: type[BaseException]) -> None:
    (tmp_path / "out.txt").write_text("older")
    with pytest.raises(interruption), written_whole(tmp_path / "out.txt") as temporary:
        temporary.write_text("half")
        raise interruption("stop")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "older"


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r"out\.bin.*No space left on device"),
        written_whole(tmp_path / "out.bin") as file,
    ):
        file.unlink()
        file.symlink_to("/dev/full")  # the system's own always-full device
        file.write_bytes(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("older")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with written_whole(tmp_path / "link.txt") as temporary:
        temporary.write_text("newer")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "newer"


def test_a_file_that_replaces_a_private_one_is_private_from_its_first_byte(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("secret")
    file.chmod(0o600)
    with written_whole(file) as temporary:
        temporary.write_text("newer")
        assert temporary.stat().st_mode & 0o077 == 0
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text() == "newer"


def test_the_file_is_on_disk_before_the_rename_and_the_name_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def noting_replace(source: Path, target: Path) -> None:
        calls.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    with written_whole(tmp_path / "out.txt") as temporary:
        temporary.write_text("done")
    assert calls == ["file", "rename", "folder"]


def write_and_die(path: Path) -> None:
    with written_whole(path) as temporary:
        temporary.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_writer_left_goes_with_the_next_write_of_that_file(tmp_path: Path) -> None:
    for name in ("out.txt", "other.txt"):
        assert alone(write_and_die, tmp_path / name)[0] == -signal.SIGKILL
    (tmp_path / ".veclink-notes").write_text("mine")
    assert len(list(tmp_path.iterdir())) == 3
    with written_whole(tmp_path / "out.txt") as temporary:
        temporary.write_text("done")
        with written_whole(tmp_path / "out.txt") as second:  # a live writer keeps its own
            second.write_text("sooner")
        assert temporary.read_text() == "done"
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3 and names[1:] == [".veclink-notes", "out.txt"]  # what is left is of the other file
    with written_whole(tmp_path / "other.txt") as temporary:
        temporary.write_text("done")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".veclink-notes", "other.txt", "out.txt"]


def test_scratch_space_is_of_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECLINK_SCRATCH", str(tmp_path / "scratch"))
    assert stat.S_IMODE(scratch_home().stat().st_mode) == 0o700
