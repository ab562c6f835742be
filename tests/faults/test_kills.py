"""A short run of the kills that `make faults` makes: some commands and targets of every way of writing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from faults.cases import SHORT, all_cases

LONG_RUN = Path(__file__).with_name("long_run.py")


def test_commands_that_are_killed_lose_nothing_and_can_be_run_again(tmp_path: Path) -> None:
    words = [sys.executable, LONG_RUN, "--short", "--kills", "10", "--out", tmp_path / "kills.json"]
    run = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-5000:]
    result = json.loads((tmp_path / "kills.json").read_text())
    assert result["kills"] == 10 and result["wrong"] == []
    assert result["reruns_equal"] == result["reruns"] and set(result["cases"]) == set(SHORT)


def test_the_short_run_names_cases_that_there_are() -> None:
    assert set(SHORT) <= set(all_cases())
