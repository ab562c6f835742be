"""Two processes that write to one place at once: what one of them says it has written is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from racing import Racers
from s3_server import BUCKET, KEYS, s3_server
from span_papers import all_papers
from store_kinds import KINDS, Kind
from veclink import Linker, Links, merge, open_collection
from veclink.stores import open_store
from veclink.stores.protocol import Batch
from veclink.uses.merging import Merged

TIMES = int(os.environ.get("RACES", "2"))
REPLACED = [kind for kind in KINDS if kind.replaces and kind.name != "milvus"]
"""Milvus Lite lets nobody in where another process has written, as long as that runs."""
APPENDABLE = [*(kind for kind in REPLACED if kind.payload), "s3://papers/grown", "s3://papers/one.parquet"]
NEW = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections of papers, their linker, links of them, and new rows of both sides."""
    place = tmp_path_factory.mktemp("racing")
    papers = all_papers()
    shared = papers.truth
    parts = {"old_a": (0, 300), "old_b": (0, 300), "new_a": (300, 320), "new_b": (330, 350)}
    for name, (start, stop) in parts.items():
        rows = shared[start:stop, int(name.endswith("b"))]
        vectors = (papers.a if "_a" in name else papers.b)[rows][:, :96]
        ids = np.array([f"{name} {row}" for row in rows.tolist()], object)
        with open_store(place / f"{name}.parquet", write=True) as store:
            store.write([Batch(vectors, ids, pa.table({"title": [f"title {each}" for each in ids]}))])
    seeds = [(f"old_a {x}", f"old_b {y}") for x, y in shared[:300:10].tolist()]
    linker = Linker.fit(place / "old_a.parquet", place / "old_b.parquet", seeds=seeds, device="cpu")
    linker.save(place / "linker")
    linker.links.at(links=100).save(place / "links.parquet")
    return place


@pytest.fixture(scope="module")
def merged(folder: Path) -> Merged:
    return merge(folder / "old_a.parquet", folder / "old_b.parquet", Links.load(folder / "links.parquet"))


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3") / "log") as url:
        yield url


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of something that can be appended to."""
    if isinstance(request.param, Kind):
        if request.param.name == "postgres":
            request.getfixturevalue("postgres_server")
        return request.param.url(tmp_path, "grown")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("bucket")}.items():
        monkeypatch.setenv(name, value)
    assert BUCKET in request.param
    return request.param


@pytest.fixture
def racers(folder: Path, place: str) -> Iterator[Racers]:
    both = Racers(folder)
    yield both
    both.end()


def name_of(kind: Kind | str) -> str:
    return kind.name if isinstance(kind, Kind) else kind


def there(place: str, side: str) -> int:
    """How many of the new rows of a side the collection has."""
    names = open_collection(place).payload.column(f"id_{side}").to_pylist()
    return len({name for name in names if name is not None and name.startswith(f"new_{side}")})


@pytest.mark.parametrize("place", APPENDABLE, indirect=True, ids=name_of)
def test_of_two_appends_at_once_none_is_lost(place: str, racers: Racers, merged: Merged) -> None:
    for _ in range(TIMES):
        merged.write(place, replace=True)
        assert racers.one_by_one("read", place) == ["done", "done"]
        said = racers.at_once("append", place)
        assert "done" in said
        assert [there(place, side) for side in "ab"] == [NEW * (each == "done") for each in said]
        racers.one_by_one("read", place)
        racers.one_by_one("append", place)
        assert sum(each != "done" for each in said) == 1


@pytest.mark.parametrize("place", [kind for kind in REPLACED if "str" in kind.ids], indirect=True, ids=name_of)
def test_of_two_merges_at_once_one_is_refused(place: str, racers: Racers) -> None:
    said = racers.at_once("merge", place)
    assert said.count("done") == 1, said
    assert len(open_collection(place)) > 300


@pytest.mark.parametrize("place", [KINDS[0]], indirect=True, ids=name_of)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_links_that_two_write_at_once_are_those_of_one(
    ending: str, racers: Racers, folder: Path, tmp_path: Path
) -> None:
    whole = {len(Links.load(folder / "links.parquet")), len(Linker.load(folder / "linker").links)}
    for _ in range(TIMES):
        assert racers.at_once("save", str(tmp_path / f"links{ending}")) == ["done", "done"]
        assert len(Links.load(tmp_path / f"links{ending}")) in whole
