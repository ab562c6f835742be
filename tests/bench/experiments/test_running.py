"""Running cells: a run that stopped goes on, one that fails does not stop the others, and processes change nothing."""

from __future__ import annotations

import json
import os
import signal
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from veclink.cli.app import app
from veclink_bench.experiments import load
from veclink_bench.experiments.running import Job, Store, key_of, run_jobs
from veclink_bench.experiments.setup import Setup


def bench(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def options(data: Path, out: Path) -> list[object]:
    return ["jaccard", "--data", data, "--out", out, "--corpora", "papers,others", "--models", "minilm,mpnet"]


def test_bench_prints_a_table_and_writes_json_markdown_and_a_figure(data: Path, tmp_path: Path) -> None:
    code, said, told = bench(*options(data, tmp_path), "--trials", 2)
    assert code == 0 and "papers minilm–mpnet" in said and "4/4" in told
    written = json.loads((tmp_path / "jaccard-quick.json").read_text())
    assert len(written["cells"]) == 4 and all(len(cell["jaccard"]) == 50 for cell in written["cells"].values())
    assert "| papers minilm–mpnet |" in (tmp_path / "jaccard-quick.md").read_text()
    assert (tmp_path / "jaccard-quick.svg").read_text().lstrip().startswith("<?xml")


def test_a_second_run_measures_only_what_is_missing(data: Path, tmp_path: Path) -> None:
    assert "2/2" in bench(*options(data, tmp_path), "--trials", 1)[2]
    file = tmp_path / "jaccard-quick.json"
    before = json.loads(file.read_text())["cells"]
    code, _, told = bench(*options(data, tmp_path), "--trials", 2)
    after = json.loads(file.read_text())["cells"]
    assert code == 0 and "2/2" in told and len(after) == 4
    assert {key: after[key] for key in before} == before
    assert bench(*options(data, tmp_path), "--trials", 2)[2] == "", "nothing is left to measure"
    assert "4/4" in bench(*options(data, tmp_path), "--trials", 2, "--again")[2]


def test_json_holds_the_tables_and_nothing_else_is_on_stdout(data: Path, tmp_path: Path) -> None:
    code, said, _ = bench(*options(data, tmp_path), "--json", "--quiet")
    answer = json.loads(said)
    assert code == 0 and answer["cells"] == answer["of"] == 2 and len(answer["tables"][0]["rows"]) == 2
    drawn = bench(*options(data, tmp_path), "--draw-only", "--json", "--trials", 3)
    assert json.loads(drawn[1])["cells"] == 2, "--draw-only measures nothing"


def test_several_processes_measure_the_same(data: Path, tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("two", 2)):
        assert bench(*options(data, tmp_path / name), "--trials", 2, "--jobs", jobs, "--quiet")[0] == 0
    one, two = (json.loads((tmp_path / name / "jaccard-quick.json").read_text())["cells"] for name in ("one", "two"))
    assert list(one) == list(two)
    assert all(np.allclose(one[key]["jaccard"], two[key]["jaccard"], atol=1e-6) for key in one)


def test_one_failing_cell_does_not_stop_the_others(data: Path) -> None:
    setup = Setup(data, corpora=("papers",), models=("minilm", "mpnet"))
    good = load("jaccard").cells(setup)[0]
    bad: dict[str, Any] = {"pair": ["papers", "minilm", "absent"], "state": 0}
    reasons: list[str] = []
    ended = list(
        run_jobs([Job("jaccard", setup, each) for each in (bad, good)], failed=lambda job, why: reasons.append(why))
    )
    assert [job.settings for job, _ in ended] == [good] and len(reasons) == 1 and "absent" in reasons[0]


def test_a_killed_process_costs_no_cell(data: Path) -> None:
    setup = Setup(data, corpora=("papers",), models=("minilm", "mpnet"), trials=5)
    jobs = [Job("jaccard", setup, each) for each in load("jaccard").cells(setup)]
    ended, reasons = [], list[str]()
    for job, _ in run_jobs(jobs, processes=2, failed=lambda job, why: reasons.append(why)):
        ended.append(job.settings["state"])
        if len(ended) == 1:
            os.kill(active_children()[0].pid or 0, signal.SIGKILL)
    assert sorted(ended) == list(range(5)) and not reasons


def test_a_run_out_of_time_keeps_what_it_has(data: Path, tmp_path: Path) -> None:
    setup = Setup(data, corpora=("papers",), models=("minilm", "mpnet"), trials=3)
    store = Store(tmp_path / "x.json", "jaccard", setup)
    jobs = [Job("jaccard", setup, each) for each in store.missing()]
    assert list(run_jobs(jobs, seconds=-1.0, failed=lambda *_: None)) == []
    job, measured = next(iter(run_jobs(jobs, failed=lambda *_: None)))
    store.add(job.settings, measured)
    store.save()
    again = Store(tmp_path / "x.json", "jaccard", setup)
    assert len(again.missing()) == 2 and key_of(job.settings) not in map(key_of, again.missing())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["main", "--data", "nowhere"], "does not exist"),
        (["seeding", "--models", "minilm"], "between two"),
        (["main", "--corpora", "empty"], "no two models"),
        (["jaccard", "--corpora", "papers", "--models", "minilm,absent"], "no absent.npy"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(data: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    given = [] if "--data" in arguments else ["--data", data]
    code, _, told = bench(*arguments, *given, "--out", tmp_path, "--quiet")
    assert code == 1 and said in told.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_an_unknown_benchmark_is_wrong_usage() -> None:
    assert bench("nothing")[0] == 2
