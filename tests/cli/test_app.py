"""The command line as a person or a script meets it: what is printed where, what is written, and the exit code."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import veclink
from veclink import sample
from veclink.cli.app import app

ROWS = 120


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a.npy: real vectors; b.npy: the same ones turned and in another order; truth.csv and seeds.csv as row numbers."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    a = veclink.open_collection(sample.A).vectors[:ROWS].astype(np.float32)
    turn, _ = np.linalg.qr(rng.standard_normal((a.shape[1], a.shape[1])))
    order = rng.permutation(len(a))
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", (a @ turn.astype(np.float32))[order])
    pairs = [(int(row), place) for place, row in enumerate(order)]
    write_pairs(folder / "truth.csv", pairs)
    write_pairs(folder / "seeds.csv", pairs[:15])
    np.save(folder / "anchors-a.npy", a[:20])
    np.save(folder / "anchors-b.npy", a[:20] @ turn.astype(np.float32))
    return folder


def write_pairs(path: Path, pairs: list[tuple[int, int]]) -> None:
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in pairs))


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def link(files: Path, output: Path, *more: object) -> tuple[int, str, str]:
    return run("link", files / "a.npy", files / "b.npy", "--seeds", files / "seeds.csv", "-o", output, *more)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_link_writes_links_that_eval_finds_right(files: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"links.{ending}"
    code, out, _ = link(files, output)
    assert code == 0
    assert str(output) in out.replace("\n", "")
    code, out, _ = run("eval", output, "--truth", files / "truth.csv", "--json")
    scores = json.loads(out)
    assert code == 0
    assert scores["f1"] > 0.95
    assert scores["true"] == ROWS and scores["given"] == 15
    assert 0.9 < scores["new"]["f1"] < scores["f1"] or scores["f1"] == 1, "what was given is easy"


def test_link_json_is_one_object_and_nothing_else_on_stdout(files: Path, tmp_path: Path) -> None:
    code, out, _ = link(files, tmp_path / "links.parquet", "--json")
    told = json.loads(out)
    links = veclink.Links.load(tmp_path / "links.parquet")
    assert code == 0
    assert told["n_links"] == len(links)
    assert told["output"] == str(tmp_path / "links.parquet")


def test_quiet_prints_nothing(files: Path, tmp_path: Path) -> None:
    assert link(files, tmp_path / "links.csv", "--quiet") == (0, "", "")
    assert (tmp_path / "links.csv").exists()


def test_eval_counts_by_hand(tmp_path: Path) -> None:
    write_pairs(tmp_path / "links.csv", [(0, 0), (1, 1), (2, 3)])
    write_pairs(tmp_path / "truth.csv", [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)])
    code, out, _ = run("eval", tmp_path / "links.csv", "--truth", tmp_path / "truth.csv", "--json")
    assert code == 0
    assert json.loads(out) == {
        "precision": pytest.approx(2 / 3), "recall": pytest.approx(2 / 5), "f1": pytest.approx(1 / 2),
        "right": 2, "found": 3, "true": 5,
    }  # fmt: skip
    code, out, _ = run("eval", tmp_path / "links.csv", "--truth", tmp_path / "truth.csv")
    assert "66.7 %" in out and "40.0 %" in out and "50.0 %" in out
    assert "2 of 3 links" in out and "5 pairs" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "much"], "much"),
        (["--memory", "1B"], "at least 1MB"),
        (["--method", "magic"], "magic"),
        (["--device", "tpu"], "tpu"),
        (["--precision", "1.5"], "--precision"),
        (["--random-state", "x"], "--random-state"),
        (["--unknown"], "--unknown"),
        (["--anchors", "one.npy"], "--anchors"),
    ],
)
def test_wrong_usage_ends_with_2(files: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    code, out, err = link(files, tmp_path / "links.csv", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["links.txt", "missing/links.csv", "links", "folder.csv"])
def test_output_that_cannot_be_written_is_refused_before_the_input_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    code, out, err = run("link", "no-such-a.npy", "no-such-b.npy", "-o", tmp_path / name)
    assert (code, out) == (1, "")
    assert name.split("/")[0] in err.replace("\n", "") and "no-such" not in err


def test_output_never_replaces_an_input(files: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.csv"
    seeds.write_bytes((files / "seeds.csv").read_bytes())
    code, _, err = run("link", files / "a.npy", files / "b.npy", "--seeds", seeds, "-o", seeds)
    assert code == 1
    assert "one of the inputs" in err
    assert seeds.read_bytes() == (files / "seeds.csv").read_bytes()


def test_unreadable_input_is_one_sentence_and_nothing_is_written(files: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.npy").write_bytes(b"not a numpy file")
    for bad in (tmp_path / "broken.npy", tmp_path / "missing.npy", tmp_path / "vectors.xyz"):
        code, out, err = run("link", bad, files / "b.npy", "--seeds", files / "seeds.csv", "-o", tmp_path / "links.csv")
        assert (code, out) == (1, "")
        assert bad.name in err and err.count("\n") == 1 and "Traceback" not in err
    assert not (tmp_path / "links.csv").exists()


def test_zero_vectors_stop_the_work_unless_they_may_be_skipped(files: Path, tmp_path: Path) -> None:
    vectors = np.load(files / "a.npy")
    seeded = {int(row["a"]) for row in csv.DictReader((files / "seeds.csv").open())}
    zero = next(row for row in range(ROWS) if row not in seeded)
    vectors[zero] = 0
    np.save(tmp_path / "a.npy", vectors)
    arguments = ("link", tmp_path / "a.npy", files / "b.npy", "--seeds", files / "seeds.csv", "-o", tmp_path / "l.csv")
    code, _, err = run(*arguments)
    assert code == 1 and str(zero) in err
    code, out, _ = run(*arguments, "--skip-zero")
    assert code == 0 and "1 zero row of A was left out." in out
    merging = shlex.split(out.splitlines()[-1].partition("store:")[2])
    assert run(*merging[1:-1], tmp_path / "merged.parquet", "--yes")[0] == 0, "what is proposed next works"
    assert any("veclink review" in line and "--skip-zero" in line for line in out.splitlines())
    linked = {int(row["a"]) for row in csv.DictReader((tmp_path / "l.csv").open())}
    assert zero not in linked and len(linked) > 0.8 * ROWS


def test_collections_that_do_not_link_end_with_3_and_a_file_without_links(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.standard_normal((100, 32)))
    np.save(tmp_path / "b.npy", rng.standard_normal((100, 48)))
    code, out, _ = run("link", tmp_path / "a.npy", tmp_path / "b.npy", "-o", tmp_path / "links.csv", "--json")
    told = json.loads(out)
    assert (code, told["verdict"], told["n_links"], told["precision"]) == (3, "not linkable", 0, None)
    assert [each["code"] for each in told["why"]][::3] == ["no_links_without_seeds", "next"]
    assert "--seeds-by" in told["reasons"][-1] and len(veclink.Links.load(tmp_path / "links.csv")) == 0


def test_link_needs_no_seeds(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "links.csv"
    code, out, _ = run("link", files / "a.npy", files / "b.npy", "-o", output)
    assert code == 0 and "Estimated precision: 9" in out
    scores = json.loads(run("eval", output, "--truth", files / "truth.csv", "--json")[1])
    assert scores["f1"] > 0.95


def test_python_m_veclink_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "veclink", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"veclink {veclink.__version__}\n")


def test_help_comes_without_loading_what_computes_or_draws() -> None:
    script = "import sys, veclink.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "pyarrow", "torch", "rich.console"} & set(done.stdout.split())


def test_python_needs_nothing_of_the_command_line(tmp_path: Path) -> None:
    script = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"threadpoolctl", "typer", "rich"}:
            raise ImportError(f"{name} is blocked here")
sys.meta_path.insert(0, Blocked())
import numpy as np, veclink
a = np.random.default_rng(0).standard_normal((120, 24)).astype(np.float32)
links = veclink.link(a, np.ascontiguousarray(a[::-1, ::-1]), seeds=[(i, 119 - i) for i in range(10)], device="cpu")
print(np.mean(links.pairs.sum(axis=1) == 119), len(links))
assert not {"typer", "rich"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    right, count = map(float, done.stdout.split())
    assert right > 0.95 and count > 100
