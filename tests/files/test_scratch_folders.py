"""The scratch folder removes what is veclink's own and nothing else, whoever put it there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from scratch_left import left_in, make_old
from store_kinds import ids_of, rows_of
from veclink.errors import OutputError
from veclink.files.scratch_folders import MARK, hold, home_path, left_behind
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch

NOBODY = 65534
"""The number of a user that no test runs as."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite://{tmp_path}/x.db#papers"
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(10), ids_of("int", 10))])
    return url


def precious(folder: Path) -> Path:
    """Somebody's old work."""
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis/chapter.txt").write_text("years of work")
    make_old(folder / "thesis")
    return folder / "thesis/chapter.txt"


def left_by_a_run(name: str) -> Path:
    """A scratch folder with something in it that was released and not removed."""
    folder = hold(name)
    (folder.path / "vectors").write_bytes(b"rows")
    folder.release()
    return folder.path


def test_old_folders_of_others_in_the_named_folder_stay(url: str, scratch: Path) -> None:
    kept = precious(scratch)
    open_collection(url)
    assert kept.read_text() == "years of work"


def test_old_folders_without_the_mark_stay_even_in_our_own_folder(url: str) -> None:
    open_collection(url)
    kept = precious(home_path())
    open_collection(url)
    assert kept.read_text() == "years of work"


def test_links_are_never_followed_by_the_sweep(url: str, tmp_path: Path) -> None:
    left = left_by_a_run("merge-1")
    kept = precious(tmp_path / "elsewhere")
    (kept.parent / MARK).touch()  # looks like ours from behind the link
    make_old(kept.parent)
    (home_path() / "link").symlink_to(kept.parent)
    (left / "inside").symlink_to(kept.parent)
    make_old(left)
    open_collection(url)
    assert not left.exists() and kept.read_text() == "years of work"


def test_a_link_at_the_default_place_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = precious(tmp_path / "elsewhere")
    (tmp_path / "tmp").mkdir()
    monkeypatch.delenv("VECLINK_SCRATCH")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for name in (home_path().name, f"veclink-{os.geteuid()}"):  # now, and in the first release
        (tmp_path / "tmp" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"is a link.*VECLINK_SCRATCH"):
        open_collection(url)
    assert kept.read_text() == "years of work"


def test_a_folder_that_somebody_else_made_first_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)  # whom the folder that this user makes does not belong to
    home_path().mkdir(mode=0o700)
    with pytest.raises(OutputError, match=r"belongs to somebody else.*VECLINK_SCRATCH"):
        open_collection(url)
    assert list(home_path().iterdir()) == []


def test_a_folder_that_others_can_enter_is_refused(url: str) -> None:
    home_path().mkdir()
    home_path().chmod(0o777)
    with pytest.raises(OutputError, match=r"open to others.*VECLINK_SCRATCH"):
        open_collection(url)


def test_a_folder_of_our_name_with_other_files_is_refused(url: str) -> None:
    home_path().mkdir(mode=0o700)
    (home_path() / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match=r"not marked as veclink's.*VECLINK_SCRATCH"):
        open_collection(url)


def test_old_marked_folders_go_and_young_or_used_ones_stay(url: str, scratch: Path) -> None:
    old, young = left_by_a_run("merge-old"), left_by_a_run("merge-young")
    used = hold("merge-used")
    make_old(old)
    make_old(used.path)
    open_collection(url)
    assert left_in(scratch) == [used.path, young]
    used.release()
    open_collection(url)
    assert left_in(scratch) == [young]


def test_a_folder_in_use_is_not_given_twice() -> None:
    first, second = hold("merge-1"), hold("merge-1")
    assert first.path != second.path and first.resumable and not second.resumable
    for each in (first, second):
        each.release()
    assert left_behind("merge-1") == first.path
    again = hold("merge-1")
    assert again.path == first.path
    again.release()


def test_a_file_in_place_of_a_named_folder_is_left_alone() -> None:
    hold("merge-1").release()
    (home_path() / "merge-2").write_text("x")
    given = hold("merge-2")
    assert given.path.is_dir() and not given.resumable and (home_path() / "merge-2").read_text() == "x"
    given.release()


KILLED = """
import os, signal, sys
from veclink.files.scratch_folders import hold

folder = hold("merge-killed")
for name in ("vectors", "state.json", "translator.safetensors"):
    (folder.path / name).write_text("x")
left = int(sys.argv[1])

def kill(event, arguments):
    global left
    if event in ("os.remove", "os.rmdir"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
folder.remove()
"""


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_folder_whose_removal_was_killed_is_still_swept(url: str, scratch: Path, call: int) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(call)], capture_output=True, text=True, check=False)
    assert ended.returncode == -9, ended.stderr
    (left,) = left_in(scratch)
    make_old(left)
    assert len(open_collection(url)) == 10
    assert left_in(scratch) == []


def test_what_is_read_is_the_same_through_a_private_folder(url: str) -> None:
    assert np.array_equal(open_collection(url).vectors, rows_of(10))
    assert home_path().stat().st_mode & 0o777 == 0o700
