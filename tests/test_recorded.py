"""Runs of every kind find what is recorded of them: the same pairs, verdicts, columns, and probabilities within 1e-6.

A change that means to alter links records them again: `python tests/recorded_runs.py --write`.
"""

from __future__ import annotations

import json

import pytest

from recorded_runs import QUICK, RECORD, RUNS, difference, record

MARKS = {name: pytest.mark.extras for name in RUNS if "torch" in name}
MARKS |= {name: pytest.mark.whole for name in RUNS if name not in QUICK and name not in MARKS}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in RUNS])
def test_a_run_finds_what_is_recorded(name: str) -> None:
    kept = json.loads(RECORD.read_text(encoding="utf-8"))[name]
    assert not difference(kept, record(RUNS[name]))
