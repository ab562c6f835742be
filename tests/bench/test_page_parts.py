"""What the documentation says of `at(precision=p)`: what was measured, and nothing where nothing was."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from veclink_bench.page_parts import gpu_linking, new_rows, printed_by, promise, starts
from veclink_bench.places import ROOT
from veclink_bench.span_figures import span_trials


def trial(*true: float | None) -> dict[str, Any]:
    """True precisions of what was kept for 0.9, 0.95 and 0.99; None where nothing was."""
    kept = zip(("0.9", "0.95", "0.99"), true, strict=True)
    return {"at": {wanted: {"links": 0 if p is None else 9, "precision": p or 0.0} for wanted, p in kept}}


TRIALS = {"one": trial(0.9, 0.96, None), "two": trial(0.89, 0.97, None), "three": trial(0.95, 0.94, None)}


def test_the_promise_is_the_share_of_measured_cases_that_kept_it(tmp_path: Path) -> None:
    lines = [json.dumps({"case": case} | trial) for case, trial in TRIALS.items()]
    (tmp_path / "real-report.1-of-1.jsonl").write_text("\n".join(lines))
    table = promise(tmp_path).splitlines()
    assert table[2:] == ["| 0.9 | in 66 of 100 | 3 |", "| 0.95 | in 66 of 100 | 3 |", "| 0.99 | not measured | 0 |"]


@pytest.mark.parametrize(
    ("page", "part"),
    [("how-to/threshold.md", promise), ("how-to/no-seeds.md", starts), ("limits.md", starts),
     ("how-to/new-rows.md", new_rows), ("limits.md", span_trials), ("how-well.md", span_trials),
     ("scale.md", gpu_linking), ("start.md", partial(printed_by, "demo")), ("start.md", partial(printed_by, "link"))],
)  # fmt: skip
def test_the_pages_say_it_also_where_they_are_read_as_files(page: str, part: Callable[[], str]) -> None:
    assert part() in (ROOT / "docs" / page).read_text(encoding="utf-8")
