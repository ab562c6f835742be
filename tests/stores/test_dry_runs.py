"""A dry run makes and changes nothing, whatever kind of store it looks at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.protocol import Batch
from veclink.uses.exporting import annotate, export_links

URLS = ["sqlite://{}/x.db#t", "duckdb://{}/x.duckdb#t", "lancedb://{}/db#t", "chroma://{}/c#links", "qdrant://{}/q#t",
        "milvus://{}/m.db#t"]  # fmt: skip


def links_of(n_a: int, n_b: int, count: int = 20) -> Links:
    rows = np.arange(count)
    return Links(np.column_stack([rows, rows]), np.full(count, 0.9), Summary("span", n_a, n_b, count))


@pytest.mark.parametrize("url", URLS)
def test_a_dry_export_makes_no_store(tmp_path: Path, url: str) -> None:
    changes = export_links(links_of(30, 40), url.format(tmp_path))
    assert changes.new == 20 and not list(tmp_path.iterdir())
    export_links(links_of(30, 40), url.format(tmp_path), write=True)
    assert export_links(links_of(30, 40), url.format(tmp_path)).same == 20


@pytest.mark.parametrize("url", [*URLS, "{}/x.parquet", "{}/x.npy", "parquet://{}/folder", "hdf5://{}/x.h5"])
def test_a_dry_merge_makes_no_store(tmp_path: Path, url: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for seed, side in enumerate("ab"):
        np.save(tmp_path / f"in/{side}.npy", np.random.default_rng(seed).normal(size=(30, 8)).astype(np.float32))
    links_of(30, 30).save(tmp_path / "in/links.csv")
    given = ["merge", "a.npy", "b.npy", "--links", "links.csv"]
    paths = [str(tmp_path / "in" / each) if "." in each else each for each in given]
    result = CliRunner().invoke(app, [*paths, "--map", "procrustes", "-o", url.format(tmp_path / "out")])
    assert result.exit_code == 0 and "this was a dry run" in result.stdout, result.output
    assert not list((tmp_path / "out").iterdir())


def test_notes_for_one_side_are_not_written_to_the_other(tmp_path: Path) -> None:
    """Row numbers are ids that both sides have: the number of objects tells the sides apart."""
    url = f"sqlite://{tmp_path}/x.db#b"
    with open_store(url, write=True) as store:
        store.write([Batch(np.ones((40, 4), np.float32), np.arange(40))])
    with pytest.raises(InputError, match=r"has 40 objects, as side b of the links, and side a has 30; annotate side b"):
        annotate(links_of(30, 40), url, "a", write=True)
    assert annotate(links_of(30, 40), url, "b", write=True).new == 20
