"""Results that are kept run by run: the committed files are what their commands write of the runs in them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from veclink_bench.studies import anchored, few_candidates
from veclink_bench.studies.kept_runs import read_runs, write_runs


@pytest.mark.parametrize("study", [anchored, few_candidates], ids=lambda study: study.OUTPUT.stem)
def test_a_committed_file_is_what_its_command_writes(study: ModuleType, tmp_path: Path) -> None:
    committed = json.loads(study.OUTPUT.read_text())
    runs = read_runs(study.OUTPUT)
    heading = {name: value for name, value in committed.items() if name != "runs"}
    assert study.heading(runs) == heading
    write_runs(tmp_path / "again.json", heading, runs)
    assert (tmp_path / "again.json").read_bytes() == study.OUTPUT.read_bytes()


def test_every_committed_run_is_of_a_case_of_its_study() -> None:
    few = {case.name.removeprefix("extra/") for _, _, case in few_candidates.all_cases(2)}
    assert {run["case"] for run in read_runs(few_candidates.OUTPUT)} <= few
    anchors = [case.name.items() for case in anchored.cases(2)]
    assert all(any(name <= run.items() for name in anchors) for run in read_runs(anchored.OUTPUT))
