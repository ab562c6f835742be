"""Two processes that write to one place at once, and what of their writing is lost; `Racers` starts both.

What is made to race: an append that both have prepared from the same collection, and whole commands of veclink.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from typer.testing import CliRunner

from own_process import PRELOADED, SERVERS
from span_papers import all_papers
from veclink import Linker, Links, merge, open_collection
from veclink.cli.app import app
from veclink.errors import VeclinkError
from veclink.stores import open_store
from veclink.stores.opening import open_target
from veclink.stores.protocol import Batch
from veclink.uses.appending import append

NEW = 20
"""New rows of either side."""
COUNTS = {"a": 100, "b": 150}
"""Links of either racer."""
DONE = "done"
ENGINES = [
    "lancedb",
    "qdrant_client",
    "chromadb",
    "pymilvus",
    "psycopg",
    "apsw",
    "sqlite_vec",
    "duckdb",
    "faiss",
    "h5py",
]
SERVERS.set_forkserver_preload([*PRELOADED, *ENGINES, "veclink.uses.appending", "veclink.uses.merging", "span_papers"])


class Racers:
    """Two processes that have read the same folder: one has the new rows of A, the other those of B."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self._running: list[Any] = []
        self._start()
        self.anew = self._start if fresh else lambda: None
        """Other processes: Milvus Lite lets nobody in where another one has written, as long as that runs."""

    def _start(self) -> None:
        self.end()
        for side in "ab":
            here, there = SERVERS.Pipe()
            racer = SERVERS.Process(target=race, args=(self.folder, side, there, dict(os.environ)))
            racer.start()
            there.close()
            self._running.append((racer, here))

    def one(self, which: int, *words: str | Path) -> str:
        """What one of them answers to a command."""
        self._running[which][1].send([*map(str, words)])
        return str(self._running[which][1].recv())

    def at_once(self, *words: str | Path) -> list[str]:
        """What both answer to the same command at the same time."""
        for _, connection in self._running:
            connection.send([*map(str, words)])
        said = [str(connection.recv()) for _, connection in self._running]
        self.anew()
        return said

    def end(self) -> None:
        for racer, connection in self._running:
            connection.close()
            racer.join()
        self._running = []


def prepare(place: Path) -> None:
    """Two collections of papers, their linker, links for either racer, and new rows of both sides."""
    papers = all_papers()
    shared = papers.truth
    parts = {"old_a": (0, 300), "new_a": (300, 320), "grown_a": (0, 320)}
    parts |= {"old_b": (20, 320), "new_b": (0, 20), "grown_b": (0, 320)}
    for name, (start, stop) in parts.items():
        side = name[-1]
        rows = shared[start:stop, "ab".index(side)]
        if name == "grown_b":
            rows = np.roll(rows, -NEW)  # the new ones are the last
        ids = np.array([f"{side} {row}" for row in rows.tolist()], object)
        with open_store(place / f"{name}.parquet", write=True) as store:
            titles = pa.table({"title": [f"title {each}" for each in ids]})
            store.write([Batch((papers.a if side == "a" else papers.b)[rows][:, :96], ids, titles)])
    seeds = [(f"a {x}", f"b {y}") for x, y in shared[NEW:300:10].tolist()]
    linker = Linker.fit(place / "old_a.parquet", place / "old_b.parquet", seeds=seeds, device="cpu")
    linker.save(place / "linker")
    for side, count in COUNTS.items():
        linker.links.at(links=count).save(place / f"links_{side}.parquet")


def appends(racers: Racers, place: str) -> list[str]:
    """Two appends that were prepared from the same rows: one is there, the other refused, and there once redone."""
    assert racers.one(0, "old", place) == DONE
    racers.anew()
    assert [racers.one(which, "read", place) for which in (0, 1)] == [DONE, DONE]
    said = racers.at_once("append")
    assert said.count(DONE) == 1, said  # the second has not seen what the first has written
    assert [_appended(racers, place, side) for side in "ab"] == [NEW * (each == DONE) for each in said], said
    refused = 1 - said.index(DONE)
    assert [racers.one(refused, *words) for words in (["read", place], ["append"])] == [DONE, DONE]
    racers.anew()
    assert [_appended(racers, place, side) for side in "ab"] == [NEW, NEW]
    return said


def _appended(racers: Racers, place: str, side: str) -> int:
    """How many of the new rows of a side the collection has."""
    payload = open_collection(place).payload
    assert payload is not None
    return len(_new(racers.folder, side).intersection(payload.column(f"id_{side}").to_pylist()))


def _new(folder: Path, side: str) -> set[Any]:
    ids = open_collection(folder / f"new_{side}.parquet").ids
    assert ids is not None
    return set(ids.tolist())


def merges(racers: Racers, place: str) -> list[str]:
    """Two merges to a free place: one of them is there, and the other was refused."""
    a, b = (racers.folder / f"old_{side}.parquet" for side in "ab")
    words: list[str | Path] = [
        "merge", a, b, "--links", racers.folder / "links_{side}.parquet", "--map", "procrustes", "--yes"
    ]  # fmt: skip
    said = racers.at_once(*words, "-o", place)
    assert said.count(DONE) == 1, said
    expected = merge(a, b, Links.load(racers.folder / f"links_{'ab'[said.index(DONE)]}.parquet"), map="procrustes")
    assert len(open_collection(place)) == len(expected), said
    return said


def cuts(racers: Racers, place: str) -> list[str]:
    """Two runs that write other links to one table of a store, or to one file: it holds those of one of them."""
    more = ["--yes"] if "://" in place else []
    said = racers.at_once("cut", racers.folder / "links_{side}.parquet", "--links", "{count}", "-o", place, *more)
    assert DONE in said, said
    if "://" in place:
        with open_target(place, write=False) as store:
            there = set(store.links() or {})
    else:
        there = _pairs(Path(place))
    assert there in [_pairs(racers.folder / f"links_{side}.parquet") for side in "ab"], said
    return said


def notes(racers: Racers, place: str) -> list[str]:
    """Two runs that note other links on the objects of one collection: all notes are those of one of them."""
    assert racers.one(0, "rows", place) == DONE
    racers.anew()
    words: list[str | Path] = ["cut", racers.folder / "links_{side}.parquet", "-o", place, "--annotate", "a", "--yes"]
    said = racers.at_once(*words)
    assert DONE in said, said
    with open_target(place, write=False) as store:
        there = {(each, linked) for each, (linked, _) in store.annotations().items() if linked is not None}
    assert there in [_pairs(racers.folder / f"links_{side}.parquet") for side in "ab"], said
    return said


def matches(racers: Racers, place: str) -> list[str]:
    """Two runs that link other new rows and write to one file: it holds the links of one of them."""
    folder = racers.folder
    words: list[str | Path] = [
        "match", folder / "new_{side}.parquet", "--linker", folder / "linker", "--side", "{side}"
    ]  # fmt: skip
    said = racers.at_once(*words, "-o", place)
    assert said == [DONE, DONE]
    assert _sides(folder, Path(place)) in ({"a"}, {"b"})
    return said


def _sides(folder: Path, links: Path) -> set[str]:
    """The sides whose new rows are linked."""
    pairs = _pairs(links)
    return {side for side in "ab" for pair in pairs if pair["ab".index(side)] in _new(folder, side)}


def updates(racers: Racers, place: str) -> list[str]:
    """Two runs that add other new rows to one linker, and write to one file: the second to save wrote nothing."""
    folder, linker = racers.folder, Path(place).with_suffix(".linker")
    shutil.rmtree(linker, ignore_errors=True)
    shutil.copytree(folder / "linker", linker)
    words: list[str | Path] = [
        "match", folder / "new_{side}.parquet", "--linker", linker, "--side", "{side}", "--update", "-o", place
    ]  # fmt: skip
    said = racers.at_once(*words, "--against", folder / "old_{other}.parquet")
    assert said.count(DONE) == 1, said
    assert _grown(folder, linker) == [NEW * (each == DONE) for each in said], said
    first, second = ("a", "b") if said[0] == DONE else ("b", "a")
    assert _sides(folder, Path(place)) == {first}
    again = [word.replace("{side}", second) for word in map(str, words)]
    assert _command([*again, "--against", str(folder / f"grown_{first}.parquet")]) == DONE
    assert _grown(folder, linker) == [NEW, NEW]
    return said


def _grown(folder: Path, linker: Path) -> list[int]:
    """How many rows of either side a linker knows more than the first one."""
    before = Linker.load(folder / "linker").sizes
    return [now - was for now, was in zip(Linker.load(linker).sizes, before, strict=True)]


def _pairs(links: Path) -> set[tuple[Any, Any]]:
    columns = Links.load(links).columns()
    return set(zip(columns["a"].tolist(), columns["b"].tolist(), strict=True))


def _command(words: list[str]) -> str:
    told = CliRunner().invoke(app, words)
    return DONE if told.exit_code == 0 else f"{told.exit_code}: {' '.join(told.stderr.split())}"


def race(folder: Path, side: str, orders: Any, variables: dict[str, str]) -> None:
    """Do what is told, one order at a time, and say how it went."""
    os.environ.update(variables)
    a, b = (folder / f"old_{each}.parquet" for each in "ab")
    appended: Any = None
    while True:
        try:
            words = orders.recv()
        except EOFError:
            os._exit(0)  # some engines take a second to end
        said = DONE
        try:
            if words[0] == "old":
                merge(a, b, Links.load(folder / "links_a.parquet"), to=words[1], replace=True)
            elif words[0] == "rows":
                rows = open_collection(a)
                with open_store(words[1], write=True) as store:
                    store.write([Batch(rows.vectors, rows.ids, rows.payload)])
            elif words[0] == "read":
                linker = Linker.load(folder / "linker")
                appended = append(folder / f"new_{side}.parquet", words[1], linker, side=side)
            elif words[0] == "append":
                appended.write()
            else:
                own = {"side": side, "other": "ba"["ab".index(side)], "count": COUNTS[side]}
                said = _command([word.format_map(own) for word in words])
        except VeclinkError as error:
            said = str(error)
        orders.send(said)
