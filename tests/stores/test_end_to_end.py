"""From two databases to links and back: the same links, byte for byte, as from files of the same vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import veclink
from store_kinds import POSTGRES
from veclink import sample
from veclink.cli.app import app
from veclink.data.pairs import read_pairs
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.protocol import Batch

ROWS = 450


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the papers that both sides of the sample share and some more, B in the order of its ids; and seeds."""
    folder = tmp_path_factory.mktemp("papers")
    left, right = (list(map(str, side)) for side in read_pairs(sample.TRUTH))
    for name, file, shared in (("a", sample.A, left), ("b", sample.B, right)):
        collection = veclink.open_collection(file)
        wanted = set(shared[: ROWS // 2])
        rows = [row for row, each in enumerate(collection.ids) if each in wanted]
        rows += [row for row, each in enumerate(collection.ids) if each not in set(shared)][: ROWS - len(rows)]
        rows.sort(key=lambda row: str(collection.ids[row]).encode())
        np.save(folder / f"{name}.npy", collection.vectors[rows].astype(np.float32))
        (folder / f"{name}.ids.txt").write_text("".join(f"{collection.ids[row]}\n" for row in rows))
    (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(left[:20], right, strict=False)))
    return folder


def test_links_between_two_databases_are_those_of_files_and_go_back_to_both(papers: Path, tmp_path: Path) -> None:
    urls = {
        "a": f"lancedb://{tmp_path}/lance#papers",
        "b": f"{POSTGRES['url']}&table={tmp_path.name}",
    }
    order = np.random.default_rng(0).permutation(ROWS)
    for side, url in urls.items():
        files = veclink.open_collection(papers / f"{side}.npy")
        rows = order if side == "b" else np.arange(ROWS)  # a table has no order but that of its key
        with open_store(url, write=True) as store:
            store.write([Batch(files.vectors[rows], files.ids[rows])])
    seeds = ("--seeds", papers / "seeds.csv")
    assert run("link", papers / "a.npy", papers / "b.npy", *seeds, "-o", tmp_path / "files.parquet", "-q")[0] == 0
    code, _, told = run("link", urls["a"], urls["b"], *seeds, "-o", tmp_path / "stores.parquet")
    assert code == 0 and "Traceback" not in told
    assert (tmp_path / "files.parquet").read_bytes() == (tmp_path / "stores.parquet").read_bytes()
    links = veclink.Links.load(tmp_path / "stores.parquet")
    assert len(links) > ROWS // 4

    tables = {"a": f"lancedb://{tmp_path}/lance#links", "b": f"{POSTGRES['url']}&table={tmp_path.name}-links"}
    for side in ("a", "b"):
        for target in (("-o", tables[side]), ("-o", urls[side], "--annotate", side)):
            _, out, _ = run("cut", tmp_path / "stores.parquet", *target, "--yes", "--json")
            assert json.loads(out)["new"] == len(links) and json.loads(out)["written"]
            _, out, _ = run("cut", tmp_path / "stores.parquet", *target, "--yes", "--json")
            assert json.loads(out)["same"] == len(links) and not json.loads(out)["written"]
    # notes are payload: the annotated collections have the same links
    assert run("link", urls["a"], urls["b"], *seeds, "-o", tmp_path / "again.parquet", "-q")[0] == 0
    annotated = veclink.Links.load(tmp_path / "again.parquet")
    assert set(zip(annotated.ids_a, annotated.ids_b, strict=True)) == set(zip(links.ids_a, links.ids_b, strict=True))


@pytest.mark.parametrize("url", ["{}/m.npy", "sqlite:///{}/m.db#all", "qdrant:///{}/m#all", "chroma:///{}/m#all"])
def test_a_merge_of_what_is_not_there_leaves_nothing_where_it_would_have_gone(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing_a"):
        veclink.merge("missing_a.npy", "missing_b.npy", np.zeros((1, 2), np.int64), to=url.format(tmp_path))
    assert list(tmp_path.iterdir()) == []
