"""New rows for a merged collection: every object once, killed at any moment, and the same again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from span_papers import all_papers
from veclink import Linker, merge, open_collection
from veclink.cli.app import app
from veclink.stores import open_store
from veclink.stores.protocol import Batch
from veclink.uses.appending import append

NEW = 100


def ids(side: str, rows: np.ndarray) -> np.ndarray:
    return np.array([f"{side}{row}" for row in rows.tolist()], object)


def cut(vectors: np.ndarray) -> np.ndarray:
    """The first numbers of each vector: real ones, and maps between them are fitted in a second."""
    return vectors[:, :192]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections of papers, their linker, what they were merged to, and new rows of both sides.

    Of each side's new rows, 60 are papers that the other side has, and 40 are new to both.
    """
    place = tmp_path_factory.mktemp("growing")
    papers = all_papers()
    shared, alone_a = papers.truth, np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])
    alone_b = np.setdiff1d(np.arange(len(papers.b)), papers.truth[:, 1])
    old = {
        "a": np.concatenate([shared[:700, 0], shared[760:820, 0], alone_a[:200]]),
        "b": np.concatenate([shared[:760, 1], alone_b[:200]]),
    }
    new = {
        "a": np.concatenate([shared[700:760, 0], alone_a[200:240]]),
        "b": np.concatenate([shared[760:820, 1], alone_b[200:240]]),
    }
    for name, parts in (("old", old), ("new", new)):
        for side, some in parts.items():
            vectors = cut((papers.a if side == "a" else papers.b)[some])
            payload = pa.table({"title": [f"{side} {row}" for row in some.tolist()]})
            with open_store(place / f"{name}_{side}.parquet", write=True) as store:
                store.write([Batch(vectors, ids(side, some), payload)])
    a, b = place / "old_a.parquet", place / "old_b.parquet"
    seeds = [(f"a{x}", f"b{y}") for x, y in shared[:700:20].tolist()]
    linker = Linker.fit(a, b, seeds=seeds, device="cpu")
    linker.save(place / "linker")
    merge(a, b, linker.links, to=place / "merged.parquet")
    (place / "truth.json").write_text(json.dumps(shared.tolist()))
    return place


def copy(folder: Path, to: Path) -> Path:
    to.write_bytes((folder / "merged.parquet").read_bytes())
    return to


def table(path: Path) -> list[dict[str, Any]]:
    found = open_collection(path)
    rows = found.payload.to_pylist()
    return [{"id": name, **row} for name, row in zip(found.ids.tolist(), rows, strict=True)]


def test_new_rows_of_a_join_the_rows_of_b_that_they_are_and_the_others_are_translated(
    folder: Path, tmp_path: Path
) -> None:
    to, linker = copy(folder, tmp_path / "m.parquet"), Linker.load(folder / "linker")
    before = open_collection(to)
    appended = append(folder / "new_a.parquet", to, linker)
    told = appended.summary
    assert appended.write(to) == told.rows == len(before) + told.new
    assert told.new + told.joined == NEW and told.there == 0 and 25 <= told.joined <= 62
    after = open_collection(to)
    np.testing.assert_array_equal(after.vectors[: len(before)], before.vectors)
    with open_store(to) as store:
        told = store.metadata()["merged"]
    origin = [row["origin"] for row in table(to)]
    assert (told["rows"], told["linked"], told["translated"]) == (len(after), origin.count("both"), origin.count("a"))
    papers, partner = all_papers(), dict(json.loads((folder / "truth.json").read_text()))
    right, new = 0, set(open_collection(folder / "new_a.parquet").ids.tolist())
    for place, row in enumerate(table(to)):
        if row["id_a"] not in new:
            continue
        number = int(str(row["id_a"])[1:])
        assert row["a_title"] == f"a {number}"
        if row["origin"] == "both":
            assert row["title"] == row["b_title"] and row["link_probability"] >= 0.95
            right += row["id_b"] == f"b{partner.get(number)}"
        else:
            assert row["origin"] == "a" and row["title"] == row["a_title"] and row["id_b"] is None
            np.testing.assert_allclose(after.vectors[place], linker.translate(cut(papers.a[[number]]))[0], atol=2e-3)
    assert right >= appended.summary.joined - 3


def test_new_rows_of_b_bring_their_own_vectors_to_rows_that_were_translated(folder: Path, tmp_path: Path) -> None:
    to, linker = copy(folder, tmp_path / "m.parquet"), Linker.load(folder / "linker")
    (tmp_path / "new_b").mkdir()  # a folder is read row by row, and tells how far it is
    (tmp_path / "new_b" / "part.parquet").write_bytes((folder / "new_b.parquet").read_bytes())
    appended = append(tmp_path / "new_b", to, linker, side="b", progress=True)
    appended.write(to)
    assert 25 <= appended.summary.joined <= 62 and appended.summary.new == NEW - appended.summary.joined
    after, papers = open_collection(to), all_papers()
    new = set(open_collection(folder / "new_b.parquet").ids.tolist())
    seen = 0
    for place, row in enumerate(table(to)):
        if row["id_b"] in new:
            seen += 1
            number = int(str(row["id_b"])[1:])
            np.testing.assert_allclose(after.vectors[place], cut(papers.b[[number]])[0], atol=1e-3)
            assert row["title"] == f"b {number}" and (row["origin"] == "both") == (row["id_a"] is not None)
    assert seen == NEW


def test_what_is_there_already_is_left_out(folder: Path, tmp_path: Path) -> None:
    to, linker = copy(folder, tmp_path / "m.parquet"), Linker.load(folder / "linker")
    append(folder / "new_a.parquet", to, linker).write(to)
    content = to.read_bytes()
    again = append(folder / "new_a.parquet", to, linker)
    assert (again.summary.new, again.summary.joined, again.summary.there) == (0, 0, NEW)
    again.write(to)
    given = ["merge", str(folder / "new_a.parquet"), "--append", "--linker", str(folder / "linker"), "-o", str(to)]
    said = CliRunner().invoke(app, [*given, "--yes"]).stdout
    assert "Nothing was written" in said and "all of these rows already" in said and "Written to" not in said
    assert to.read_bytes() == content


KILLED = """
import os, signal, sys
from veclink.cli.app import main
from veclink.stores import arrow
from veclink.stores.protocol import Store
from veclink.uses import appending
from veclink.files import atomic

moment = sys.argv.pop(1)

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "writing":
    whole = appending.Appended.batches
    def batches(self):
        for place, batch in enumerate(whole(self)):
            if place == 1:
                die()
            yield batch
    appending.BATCH, appending.Appended.batches = 300, batches
else:
    flush = atomic.flush
    atomic.flush = lambda path: die() if path.is_dir() else flush(path)
main()
"""


@pytest.mark.parametrize("moment", ["writing", "done"])
def test_a_run_that_was_killed_and_run_again_ends_with_the_same_file(folder: Path, tmp_path: Path, moment: str) -> None:
    straight, killed = (copy(folder, tmp_path / f"{name}.parquet") for name in ("straight", "killed"))
    before = killed.read_bytes()
    append(folder / "new_a.parquet", straight, Linker.load(folder / "linker")).write(straight)
    given = ["merge", str(folder / "new_a.parquet"), "--append", "--linker", str(folder / "linker"), "-o", str(killed)]
    code = [sys.executable, "-c", KILLED, moment, *given, "--yes", "--quiet"]
    run = subprocess.run(code, env=dict(os.environ), capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert (killed.read_bytes() == before) == (moment != "done")
    again = CliRunner().invoke(app, [*given, "--yes", "--json"])
    assert again.exit_code == 0 and json.loads(again.stdout)["written"] is (moment != "done")
    assert killed.read_bytes() == straight.read_bytes()
    left = [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert all(path.suffix == ".lock" and not path.stat().st_size for path in left)  # for the next writer to remove
