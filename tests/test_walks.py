"""The walks of two how-to pages, command by command as they stand there, in real stores."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from typer.testing import CliRunner

from span_papers import all_papers
from veclink import open_collection, sample
from veclink.cli.app import app
from veclink.geometry.signatures import unit_rows
from veclink.stores import open_store
from veclink.stores.protocol import Batch

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def put(url: str, side: str, rows: np.ndarray) -> None:
    """Papers of the sample in a store, under the ids that they have there."""
    source = open_collection(sample.A if side == "a" else sample.B)
    ids = np.array([str(each) for each in source.ids[rows].tolist()], object)
    payload = pa.table({"title": source.payload.column("title").take(rows)})
    with open_store(url, write=True) as store:
        store.write([Batch(cut(source.vectors[rows]), ids, payload)])


def cut(vectors: np.ndarray) -> np.ndarray:
    """The first numbers of each vector: real ones, and maps between them are fitted in a second."""
    return np.array(vectors[:, :192], np.float32)


def seeds(pairs: np.ndarray) -> None:
    a, b = open_collection(sample.A).ids, open_collection(sample.B).ids
    lines = [f"{a[x]},{b[y]}" for x, y in pairs.tolist()]
    Path("seeds.csv").write_text("a,b\n" + "\n".join(lines) + "\n")


def titles(side: str, rows: np.ndarray) -> list[str]:
    return open_collection(sample.A if side == "a" else sample.B).payload.column("title").take(rows).to_pylist()


def listed(name: str, side: str, rows: np.ndarray) -> None:
    """Papers of the sample as vectors, and a table of their ids and titles."""
    source = open_collection(sample.A if side == "a" else sample.B)
    np.save(f"{name}.npy", cut(source.vectors[rows]))
    table = pa.table({"id": [str(each) for each in source.ids[rows].tolist()], "title": titles(side, rows)})
    write_csv(table, f"{name}.csv")


def walked(text: str) -> dict[str, object]:
    """Run all that a page says, in the current folder; gives the names that its Python made."""
    made: dict[str, object] = {}
    for language, block in BLOCK.findall(text):
        if language == "python":
            exec(compile(block, "page", "exec"), made)
        for line in block.splitlines() if not language else ():
            program, *given = shlex.split(line)
            if program == "cp":
                shutil.copy(*given)
                continue
            told = CliRunner().invoke(app, given)
            assert program == "veclink" and told.exit_code == 0, f"{line}: {told.stderr} {told.exception!r}"
    return made


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_model_is_changed_step_by_step() -> None:
    shared = all_papers().truth
    put("lancedb://old#papers", "a", shared[:450, 0])
    put("duckdb://new.duckdb#papers", "b", shared[:200, 1])
    put("embedded-today.parquet", "b", shared[200:260, 1])
    seeds(shared[:200:8])
    b = open_collection(sample.B)
    np.save("queries.npy", cut(b.vectors[shared[300:400, 1]]))
    made = walked((PAGES / "change-the-model.md").read_text())
    old = open_collection("lancedb://old#papers")
    near = np.asarray(made["in_old_space"]) @ unit_rows(np.array(old.vectors, np.float32)).T
    assert np.mean(near.argmax(axis=1) == np.arange(300, 400)) > 0.5  # 450 to choose from
    both = open_collection("lancedb://both#papers")
    table = both.payload.to_pylist()
    hidden = set(titles("a", shared[:450, 0])) - {row["title"] for row in table}
    assert len(hidden) <= 3 and 447 <= len(both) <= 570
    native = {row["id_b"]: both.vectors[place] for place, row in enumerate(table) if row["id_b"] is not None}
    for row in shared[:260, 1].tolist():
        np.testing.assert_allclose(native[str(b.ids[row])], cut(b.vectors[[row]])[0], atol=2e-3)
    origins = [row["origin"] for row in table]
    assert origins.count("both") >= 145 and origins.count("a") >= 190


def test_two_catalogues_are_merged_and_kept_in_step() -> None:
    shared = all_papers().truth
    alone_a = np.setdiff1d(np.arange(1950), shared[:, 0])
    alone_b = np.setdiff1d(np.arange(1950), shared[:, 1])
    ours = np.concatenate([shared[:300, 0], shared[320:340, 0], alone_a[:130]])
    today = np.concatenate([shared[300:320, 0], shared[340:350, 0], alone_a[130:140]])
    listed("ours", "a", ours)
    listed("theirs", "b", np.concatenate([shared[:320, 1], alone_b[:130]]))
    listed("ours-today", "a", today)
    listed("theirs-today", "b", np.concatenate([shared[320:350, 1], alone_b[130:140]]))
    seeds(shared[:300:12])
    walked((PAGES / "../two-catalogues.md").read_text())
    merged = open_collection("sqlite://catalogue.db#papers").payload.to_pylist()
    objects = set(titles("a", np.concatenate([shared[:350, 0], alone_a[:140]]))) | set(titles("b", alone_b[:140]))
    found = {title for row in merged for title in (row["a_title"], row["b_title"]) if title is not None}
    assert found == objects  # no row of either catalogue is lost, whatever it was joined to
    hidden = objects - {row["title"] for row in merged}
    assert len(hidden) <= 3
    assert 627 <= len(merged) <= 760  # 630 objects, and some of them twice where a link is not sure
    both = [row for row in merged if row["origin"] == "both"]
    assert sum(row["a_title"] == row["b_title"] for row in both) >= 0.95 * len(both)  # joined from that on
    theirs = set(titles("b", shared[320:350, 1]))
    assert sum(row["title"] in theirs for row in both) >= 12
