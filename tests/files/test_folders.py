"""A folder is replaced whole: killed at any step, the older or the new one is there, and nothing else is read."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from killed_steps import KILL_BEFORE
from store_kinds import ids_of, rows_of
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch

STEPS = 24
"""More than a replacement takes: the last one that is tried ends by itself."""

KILLED = f"""
{KILL_BEFORE}
import json
import numpy as np
import pyarrow.parquet  # this and the others here, not in each child
from veclink.stores import open_store, parquet
from veclink.stores.protocol import Batch

urls = json.loads(sys.argv[1])

def replace(url):
    with open_store(url, write=True) as store:
        vectors = np.full((7, 8), 2, np.float32)
        store.write([Batch(vectors, np.arange(7))], replace=True)

ended = []
for step, url in enumerate(urls, 1):
    child = os.fork()
    if not child:
        kill_before(step)
        replace(url)
        os._exit(0)
    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if not ended[-1]:
        break  # the whole replacement has fewer steps than this
print(json.dumps(ended))
"""


def write(url: str, vectors: np.ndarray, *, replace: bool = False) -> None:
    with open_store(url, write=True) as store:
        store.write([Batch(vectors, ids_of("int", len(vectors)))], replace=replace)


OLD, NEW = rows_of(5), np.full((7, 8), 2, np.float32)


def killed_at_each_step(urls: list[str]) -> list[int]:
    given = [sys.executable, "-c", KILLED, json.dumps(urls)]
    run = subprocess.run(given, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def is_old_or_new(vectors: np.ndarray) -> bool:
    return np.array_equal(vectors, OLD) or np.array_equal(vectors, NEW)


def test_a_replacement_killed_at_any_step_leaves_the_older_or_the_new_folder(tmp_path: Path) -> None:
    folders = [tmp_path / f"{step}/papers" for step in range(STEPS)]
    write(f"parquet://{folders[0]}", OLD)
    for folder in folders[1:]:
        shutil.copytree(folders[0], folder)
    ended = killed_at_each_step([f"parquet://{folder}" for folder in folders])
    assert ended.count(-signal.SIGKILL) >= 6 and ended[-1] == 0
    for folder in folders[: len(ended)]:
        url = f"parquet://{folder}"
        assert is_old_or_new(open_collection(url).vectors)
        beside = open_collection(f"parquet://{folder.parent}")  # what lies beside it is not read
        assert is_old_or_new(beside.vectors)
        write(url, OLD, replace=True)
        assert np.array_equal(open_collection(url).vectors, OLD)
        assert not [path for path in folder.parent.rglob(".*/*")]


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "photos/2019").mkdir(parents=True)
    (tmp_path / "photos/2019/us.jpg").write_bytes(b"smile")
    with pytest.raises(InputError, match=r"holds other files.*'us\.jpg'"):
        write(f"parquet://{tmp_path}/photos", OLD, replace=replace)
    assert (tmp_path / "photos/2019/us.jpg").read_bytes() == b"smile"
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_a_file_is_never_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(InputError, match="is one file"):
        write(f"parquet://{tmp_path}/notes", OLD, replace=True)
    assert (tmp_path / "notes").read_text() == "mine"
