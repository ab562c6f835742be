"""Running cells: a run that stopped goes on, one that fails does not stop the others, and processes change nothing."""

from __future__ import annotations

import json
from pathlib import Path
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
    reasons: list[str] = []
    ended = list(
        run_jobs([Job("jaccard", setup, each) for each in (bad, good)], failed=lambda job, why: reasons.append(why))
    )
    assert [job.settings for job, _ in ended] == [good] and len(reasons) == 1 and "absent" in reasons[0]
