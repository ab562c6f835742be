"""A store is opened once by a command, however many parts of it need the collection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from span_papers import some_papers
from veclink.cli.app import app
from veclink.stores import open_store
from veclink.stores.protocol import Batch, Store


@pytest.fixture(params=["sqlite:///{}/papers.db#{}", "lancedb:///{}#{}"], ids=["sqlite", "lancedb"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The cut of the sample in a real store, and the address of a collection that is not there yet."""
    urls = {name: request.param.format(tmp_path, name) for name in ("a", "b", "merged")}
    papers = some_papers()
    for side, vectors in (("a", papers.a), ("b", papers.b)):
        ids = np.arange(len(vectors))
        titles = pa.table({"title": [f"paper {row} of {side}" for row in ids]})
        with open_store(urls[side], write=True) as store:
            store.write([Batch(vectors, ids, titles)])
    return urls


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in some_papers().truth.tolist()))
    return path


@pytest.fixture
def opened(stores: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each collection was opened, counted where every store begins; asked for after `stores` are written."""
    counted: Counter[str] = Counter()
    begin = Store.__init__

    def counting(self: Store, address: Any, **options: Any) -> None:
        counted[str(address.table)] += 1
        begin(self, address, **options)

    monkeypatch.setattr(Store, "__init__", counting)
    return counted


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_link_with_a_report_opens_each_store_once(
    stores: dict[str, str], pairs: Path, opened: Counter[str], tmp_path: Path
) -> None:
    report = tmp_path / "links.html"
    run("link", stores["a"], stores["b"], "--seeds", pairs, "-o", tmp_path / "links.csv", "--report", report, "-q")
    assert opened == {"a": 1, "b": 1}
    assert report.stat().st_size > 100_000, "the report has its map and its titles"


@pytest.mark.parametrize("more", [(), ("--yes",)], ids=["dry run", "written"])
def test_merge_opens_each_store_and_its_output_once(
    stores: dict[str, str], pairs: Path, opened: Counter[str], more: tuple[str, ...]
) -> None:
    run("merge", stores["a"], stores["b"], "--links", pairs, "-o", stores["merged"], "-q", *more)
    assert opened == {"a": 1, "b": 1, "merged": 1}
    with open_store(stores["merged"], write=True) as store:
        assert store.exists() == bool(more)
