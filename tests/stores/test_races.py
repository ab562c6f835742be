"""Two processes that write to one place at once: what one of them says it has written is there.

`make races` does each of these twenty times, and keeps the counts in bench/results/faults/races.json.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import racing
from racing import Racers
from s3_server import BUCKET, KEYS, s3_server
from store_kinds import KINDS, Kind, postgres_url
from veclink.errors import StoreError
from veclink.stores import open_store
from veclink.stores.protocol import Batch

TIMES = int(os.environ.get("RACES", "1"))
MERGED = [kind for kind in KINDS if "str" in kind.ids]
APPENDABLE = [
    *(kind for kind in MERGED if kind.replaces and kind.payload),
    "s3://papers/grown",
    "s3://papers/one.parquet",
]
WITH_LINKS = [kind for kind in KINDS if kind.links]
WITH_NOTES = [kind for kind in KINDS if kind.annotates]
FILES = [".csv", ".parquet"]
Race = Callable[[Callable[[Racers, str], list[str]]], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections of papers, their linker, links of them, and new rows of both sides."""
    place = tmp_path_factory.mktemp("racing")
    racing.prepare(place)
    return place


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3") / "log") as url:
        yield url


@pytest.fixture(scope="module")
def counts() -> dict[str, Any]:
    """How all races went so far."""
    return {}


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """The address of each of many places of one kind."""
    kind = request.param
    if isinstance(kind, Kind):
        if kind.name == "postgres":
            request.getfixturevalue("postgres_server")
        return lambda turn: kind.url(tmp_path, f"grown{turn}")
    if kind in FILES:
        return lambda turn: str(tmp_path / f"links{turn}{kind}")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("bucket")}.items():
        monkeypatch.setenv(name, value)
    assert BUCKET in kind
    return lambda turn: kind.replace("papers/", f"papers/{turn}-")


@pytest.fixture
def race(
    request: pytest.FixtureRequest, folder: Path, place: Callable[[int], str], counts: dict[str, Any]
) -> Iterator[Race]:
    """Runs a race many times, each at another place, and counts how it went."""
    began, said, lost = time.monotonic(), Counter[str](), 0
    racers = Racers(folder, fresh="[milvus]" in request.node.name)

    def run(once: Callable[[Racers, str], list[str]]) -> None:
        nonlocal lost
        for turn in range(TIMES):
            try:
                answers = once(racers, place(turn))
            except BaseException:
                lost += 1
                raise
            said["both written" if answers == [racing.DONE] * 2 else "one written, one refused"] += 1

    try:
        yield run
    finally:
        racers.end()
        seconds = round(time.monotonic() - began, 1)
        counts[request.node.name.removeprefix("test_")] = {**said, "lost": lost, "seconds": seconds}
        if "RACES_OUT" in os.environ:
            told = {"times": TIMES, "lost": sum(each["lost"] for each in counts.values()), "by_race": counts}
            Path(os.environ["RACES_OUT"]).write_text(json.dumps(told, indent=1) + "\n")


def name_of(kind: Kind | str) -> str:
    return kind.name if isinstance(kind, Kind) else kind


def each_of(kinds: list[Any]) -> Any:
    return pytest.mark.parametrize("place", kinds, indirect=True, ids=name_of)


@each_of(APPENDABLE)
def test_of_two_appends_at_once_none_is_lost(race: Race) -> None:
    race(racing.appends)


@each_of(MERGED)
def test_of_two_merges_at_once_one_is_refused(race: Race) -> None:
    race(racing.merges)


def test_a_table_is_kept_from_other_writers_whether_its_schema_is_named_or_not(
    postgres_server: str, tmp_path: Path
) -> None:
    url = postgres_url(tmp_path, "grown")
    other = url.replace("table=", "options=-c%20lock_timeout%3D200&table=public.")
    rows = [Batch(np.eye(3, dtype=np.float32))]
    with open_store(url, write=True) as store, store.alone():
        with open_store(other, write=True) as second, pytest.raises(StoreError, match="lock timeout"):
            second.write(rows)
        store.write(rows)
    with open_store(other, write=True) as second:
        assert second.write(rows, replace=True) == 3


@each_of([*WITH_LINKS, *FILES])
def test_links_that_two_write_at_once_are_those_of_one(race: Race) -> None:
    race(racing.cuts)


@each_of(WITH_NOTES)
def test_notes_that_two_write_at_once_are_those_of_one(race: Race) -> None:
    race(racing.notes)


@each_of(FILES)
def test_of_two_matches_at_once_the_links_are_those_of_one(race: Race) -> None:
    race(racing.matches)


@each_of(FILES)
def test_of_two_updates_at_once_none_is_lost(race: Race) -> None:
    race(racing.updates)
