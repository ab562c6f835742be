"""Running cells: a run that stopped goes on, one that fails does not stop the others, and processes change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

from typer.testing import CliRunner

from veclink.cli.app import app
from veclink_bench.experiments import load
from veclink_bench.experiments.running import Job, run_jobs
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


def test_one_failing_cell_does_not_stop_the_others(data: Path) -> None:
    setup = Setup(data, corpora=("papers",), models=("minilm", "mpnet"))
    good = load("jaccard").cells(setup)[0]
    bad: dict[str, Any] = {"pair": ["papers", "minilm", "absent"], "state": 0}
    errors: list[Exception] = []
    jobs = [Job("jaccard", setup, bad), Job("jaccard", setup, good), Job("jaccard", setup, good, wall=1000)]
    ended = list(run_jobs(jobs, seconds=60, failed=lambda job, error: errors.append(error)))
    assert [job for job, _ in ended] == [jobs[1]], "the last would not end in time"
    assert len(errors) == 1 and "absent" in str(errors[0])


def test_several_tables_are_measured_in_one_pool_and_none_is_made_before_it_is_whole(
    data: Path, tmp_path: Path
) -> None:
    copytree(data / "papers", tmp_path / "data" / "papers")
    given = ["reproduce", "main", "jaccard", "--data", tmp_path / "data", "--out", tmp_path, "--jobs", 2]
    code, _, told = bench(*given, "--methods", "procrustes tuned")
    assert code == 0 and "10/10" in told and "main: " in told and "jaccard: " not in told
    measured = {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
    assert set(measured) == {"main.json", "jaccard.json", "jaccard.md", "jaccard.svg"}
    code, _, told = bench(*given, "--methods", "procrustes tuned")
    assert code == 0 and "/10" not in told
    assert measured == {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
