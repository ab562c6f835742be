"""A cut of the bundled sample to review: files with titles, one of them hostile, their real links, and the truth."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from span_papers import all_papers
from veclink import sample
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.linkers.linking import link
from veclink.review.estimate import banded
from veclink.stores.opening import open_collection

N_SHARED, N_ALONE, N_SEEDS = 180, 90, 12
HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>&amp; "quoted" \'too\''
SHELL = [sys.executable, "-c", "from veclink.cli.app import main; main()"]


@dataclass(frozen=True, eq=False)
class Reviewed:
    """Two files, their links, and the pairs of rows that are true."""

    folder: Path
    a: Collection
    b: Collection
    links: Links
    truth: set[tuple[int, int]]

    def right(self) -> np.ndarray:
        """Which of the links are true."""
        return np.array([tuple(pair) in self.truth for pair in self.links.pairs.tolist()])


def make_reviewed(folder: Path) -> Reviewed:
    """270 × 270 papers with ids and titles in `folder`, 180 of them on both sides, linked from 12 seeds."""
    whole, rng = all_papers(), np.random.default_rng(3)
    shared = whole.truth[rng.permutation(len(whole.truth))[:N_SHARED]]
    rows = []
    for side, vectors in enumerate((whole.a, whole.b)):
        alone = rng.permutation(np.setdiff1d(np.arange(len(vectors)), whole.truth[:, side]))[:N_ALONE]
        rows.append(rng.permutation(np.concatenate([shared[:, side], alone])))
    places = [{int(row): place for place, row in enumerate(side)} for side in rows]
    truth = [(places[0][x], places[1][y]) for x, y in shared.tolist()]
    for name, source, chosen in (("a", sample.A, rows[0]), ("b", sample.B, rows[1])):
        _write(folder / f"{name}.parquet", source, chosen)
    a, b = open_collection(folder / "a.parquet"), open_collection(folder / "b.parquet")
    links = link(a, b, seeds=_named(a, b, truth[:N_SEEDS]), device="cpu")
    _spoil(folder / "a.parquet", int(links.pairs[banded(links)[1]["doubtful"][0], 0]))  # what comes up first
    links.save(folder / "links.parquet")
    return Reviewed(folder, open_collection(folder / "a.parquet"), b, links, set(truth))


@contextmanager
def served(papers: Reviewed, folder: Path, *more: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """`veclink review` in a process of its own, and what it printed; its journal and its output are in `folder`."""
    data = papers.folder
    arguments = ["review", data / "links.parquet", data / "a.parquet", data / "b.parquet", "--json", "--device", "cpu",
                 "--journal", folder / "journal.sqlite", "-o", folder / "again.parquet", *more]  # fmt: skip
    process = subprocess.Popen([*SHELL, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        told = ""
        while not told.endswith("}\n"):
            line = process.stdout.readline()
            assert line, f"the server ended with {process.wait()} before it told its address"
            told += line
        yield process, json.loads(told)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _write(path: Path, source: Path, rows: np.ndarray) -> None:
    pq.write_table(pq.read_table(source).take(pa.array(rows)), path)


def _spoil(path: Path, row: int) -> None:
    table = pq.read_table(path)
    titles = table.column("title").to_pylist()
    titles[row] = HOSTILE
    pq.write_table(table.set_column(table.column_names.index("title"), "title", pa.array(titles)), path)


def _named(a: Collection, b: Collection, pairs: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
    assert a.ids is not None and b.ids is not None
    return [(a.ids[x], b.ids[y]) for x, y in pairs]
