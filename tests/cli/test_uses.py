"""merge, translate and cluster as a person meets them: what is printed, what is written, and the exit code."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from span_papers import some_papers
from veclink import Translator, open_collection
from veclink.cli.app import app


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cut of the sample as a.npy and b.npy with ids beside them, and its true pairs as links.csv."""
    folder = tmp_path_factory.mktemp("uses")
    papers = some_papers()
    for side, vectors in (("a", papers.a), ("b", papers.b)):
        np.save(folder / f"{side}.npy", vectors)
        (folder / f"{side}.ids.txt").write_text("".join(f"{side}{row}\n" for row in range(len(vectors))))
    (folder / "links.csv").write_text("a,b\n" + "".join(f"a{x},b{y}\n" for x, y in papers.truth.tolist()))
    return folder


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def merge(files: Path, output: object, *more: object) -> tuple[int, str, str]:
    given = ("merge", files / "a.npy", files / "b.npy", "--links", files / "links.csv", "-o", output)
    return run(*given, "--map", "procrustes", *more)


def test_merge_says_what_it_would_do_and_does_it_only_when_told(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "merged.parquet"
    assert "#papers" in merge(files, f"sqlite://{tmp_path}/x.db", "--yes")[2], "a table has a name"
    code, out, _ = merge(files, output)
    assert code == 0 and list(tmp_path.iterdir()) == [], "nothing is made"
    assert "420 rows" in out and "120 of A translated" in out and "--yes" in out and "held-out links" in out
    code, out, _ = merge(files, output, "--yes")
    assert code == 0 and "Written to" in out
    assert len(open_collection(output)) == 420


def test_merge_tells_json_alone_on_stdout(files: Path, tmp_path: Path) -> None:
    code, out, _ = merge(files, tmp_path / "m.npy", "--yes", "--json")
    told = json.loads(out)
    assert code == 0 and told["rows"] == 420 and told["linked"] == 180 and told["written"] is True
    assert told["translator"]["quality"]["kind"] == "procrustes"


def test_dedupe_lists_every_row_of_a_with_its_partner(files: Path, tmp_path: Path) -> None:
    code, out, _ = merge(files, tmp_path / "known.csv", "--dedupe")
    assert code == 0 and "180 of the 300 rows" in out and "dry run" in out and not list(tmp_path.iterdir())
    code, out, _ = merge(files, tmp_path / "known.csv", "--dedupe", "--yes")
    assert code == 0 and "180 of the 300 rows of A are in B already, 120 are new" in out
    rows = list(csv.DictReader((tmp_path / "known.csv").open()))
    links = {row["a"]: row["b"] for row in csv.DictReader((files / "links.csv").open())}
    assert {row["a"]: row["b"] for row in rows if row["b"]} == links
    assert len(rows) == 300 and all(row["probability"] == "" for row in rows if not row["b"])
    code, _, err = merge(files, tmp_path / "known.csv", "--dedupe", "--yes")
    assert code == 1 and "there already" in err
    assert merge(files, tmp_path / "known.csv", "--dedupe", "--yes", "--replace")[0] == 0


@pytest.mark.parametrize("name", ["{}/m.npy", "{}/m.parquet", "sqlite://{}/m.db#papers"])
def test_a_merge_never_writes_over_what_is_there_unless_told(files: Path, tmp_path: Path, name: str) -> None:
    output = name.format(tmp_path)
    assert merge(files, output, "--yes")[0] == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = merge(files, output, "--yes", "--map", "ridge")
    assert (code, out) == (1, "") and "there already" in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert merge(files, output, "--yes", "--replace")[0] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--links none.csv -o m.npy", "none.csv"),
        ("--links other.csv -o m.npy", "other.csv"),
        ("--links links.csv -o none/m.npy --yes", "folder none for the output"),
        ("--links links.csv -o none/m.parquet", "folder none for the output"),
        ("--links links.csv -o sqlite://none/m.db#x", "folder none for the output"),
        ("--links links.csv -o m.npy --payload-b none.csv", "none.csv"),
        ("--links links.csv -o v.npy --yes --replace", "v.rows.parquet is there already"),
        ("--links links.csv -o other.csv --dedupe --yes", "other.csv is there already"),
        ("--links links.csv -o m.npy --side b", "--side and --against are about --append"),
        ("--append --linker none -o m.parquet --map ridge", "leave --map, --union-only"),
    ],
)
def test_merge_refuses_a_wrong_option_before_it_reads_collections(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.csv").write_bytes((files / "links.csv").read_bytes())
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "v.rows.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    sides = ["missing_a.npy"] if "--append" in given else ["missing_a.npy", "missing_b.npy"]
    code, out, err = run("merge", *sides, *given.split())
    assert code in (1, 2) and out == "" and said in " ".join(err.replace("│", " ").split()) and "missing_" not in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_merge_never_writes_over_an_input(files: Path) -> None:
    before = (files / "b.npy").read_bytes()
    code, _, err = merge(files, files / "b.npy", "--yes", "--replace")
    assert code == 2 and "inputs" in err
    assert (files / "b.npy").read_bytes() == before


def test_translate_fits_saves_and_is_used_again(files: Path, tmp_path: Path) -> None:
    given = ("--links", files / "links.csv", "--a", files / "a.npy", "--b", files / "b.npy", "--map", "procrustes")
    saved = tmp_path / "ab.safetensors"
    code, out, _ = run("translate", files / "a.npy", "-o", tmp_path / "one.npy", *given, "--save", saved)
    assert code == 0 and "300 vectors of 96 numbers" in out and "held-out links" in out
    code, out, _ = run("translate", files / "a.npy", "-o", tmp_path / "two.npy", "--with", saved, "--json")
    assert code == 0 and json.loads(out)["rows"] == 300
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"))
    expected = Translator.load(saved).transform(np.load(files / "a.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), expected)
    assert open_collection(tmp_path / "one.npy").ids[0] == "a0"


@pytest.mark.extras
def test_cluster_writes_a_label_for_every_vector(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "clusters.csv"
    given = ("cluster", files / "a.npy", files / "b.npy", "--links", files / "links.csv", "-o", output)
    code, out, _ = run(*given, "--clusters", 6, "--device", "cpu")
    assert code == 0 and "6 clusters of 420 objects" in out and str(output) in out.replace("\n", "")
    rows = list(csv.DictReader(output.open()))
    label = {row["id"]: row["cluster"] for row in rows}
    assert len(rows) == 600 and len(set(label.values())) == 6
    assert all(label[link["a"]] == label[link["b"]] for link in csv.DictReader((files / "links.csv").open()))
    code, out, _ = run(*given, "--resolution", 2, "--device", "cpu", "--json", "--examples", 1)
    told = json.loads(out)
    assert code == 0 and told["resolution"] == 2 and len(told["largest"][0]["examples"]["a"]) == 1
