"""What the documentation says of `at(precision=p)`: what was measured, and nothing where nothing was."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from veclink.errors import InputError
from veclink_bench.page_parts import gpu_linking, new_rows, printed_by, promise, starts, versions_of_tables
from veclink_bench.pages import filled
from veclink_bench.places import ROOT
from veclink_bench.span_figures import LINES, span_trials


def trial(*true: float | None) -> dict[str, Any]:
    """True precisions of what was kept for 0.9, 0.95 and 0.99; None where nothing was."""
    kept = zip(("0.9", "0.95", "0.99"), true, strict=True)
    return {"at": {wanted: {"links": 0 if p is None else 9, "precision": p or 0.0} for wanted, p in kept}}


TRIALS = {"one": trial(0.9, 0.96, None), "two": trial(0.89, 0.97, None), "three": trial(0.95, 0.94, None)}


def test_without_measurements_nothing_is_promised(tmp_path: Path) -> None:
    made = promise(tmp_path)
    assert made.count("| not measured | 0 |") == 3 and "of 100 |" not in made


def test_the_promise_is_the_share_of_measured_cases_that_kept_it(tmp_path: Path) -> None:
    lines = [json.dumps({"case": case} | trial) for case, trial in TRIALS.items()]
    (tmp_path / "real-report.1-of-1.jsonl").write_text("\n".join(lines))
    table = promise(tmp_path).splitlines()
    assert table[2:] == ["| 0.9 | in 66 of 100 | 3 |", "| 0.95 | in 66 of 100 | 3 |", "| 0.99 | not measured | 0 |"]


def test_of_a_case_that_was_measured_twice_the_last_counts_and_the_half_for_choosing_does_not(tmp_path: Path) -> None:
    good, bad = trial(0.95, 0.96, 0.995), trial(0.5, 0.5, 0.5)
    lines = [{"case": "one"} | bad, {"case": "one"} | good, {"case": "two"} | good]
    (tmp_path / "real-report.1-of-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "real-choose.1-of-1.jsonl").write_text(json.dumps({"case": "three"} | bad) + "\n")
    assert promise(tmp_path).splitlines()[2:] == [
        "| 0.9 | in 100 of 100 | 2 |",
        "| 0.95 | in 100 of 100 | 2 |",
        "| 0.99 | in 100 of 100 | 2 |",
    ]


@pytest.mark.parametrize(
    ("page", "part"),
    [("how-to/threshold.md", promise), ("how-to/no-seeds.md", starts), ("limits.md", starts),
     ("how-to/new-rows.md", new_rows), ("limits.md", span_trials), ("how-well.md", span_trials),
     ("scale.md", gpu_linking), ("start.md", partial(printed_by, "demo")), ("start.md", partial(printed_by, "link"))],
)  # fmt: skip
def test_the_pages_say_it_also_where_they_are_read_as_files(page: str, part: Callable[[], str]) -> None:
    assert part() in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_a_mark_of_a_part_that_is_not_made_is_refused() -> None:
    with pytest.raises(InputError, match="'weather'; there are promise"):
        filled("<!-- made weather -->\n<!-- end -->")


def start_trial(data: str, case: str, **f1: float) -> dict[str, Any]:
    """A trial from nothing (`f0`), from 4 seeds (`f4`) and so on."""
    runs = {count[1:]: {"f1": value, "verdict": "linkable" if value else "not linkable"} for count, value in f1.items()}
    return {"data": data, "case": case, "trial": 0, "from": runs}


def test_how_often_starts_work_is_counted_by_kind_of_data(tmp_path: Path) -> None:
    half = "50% of the objects shared"
    rows = [
        start_trial("reddit minilm-e5", half, f0=0.0, f4=0.9, f15=0.92),
        start_trial("stackexchange minilm-e5", half, f0=0.9, f4=0.8, f15=0.93),
        start_trial("reddit minilm-mpnet", half, f0=0.95, f15=0.94),
        start_trial("papers minilm-e5", half, f0=0.96, f15=0.95),
        start_trial("movies minilm-e5", half, f8=0.5, f15=0.6),
        start_trial("papers minilm-e5", "nothing shared, few", f0=0.0),
        start_trial("reddit minilm-e5", "nothing shared, few", f0=0.1),
    ]
    (tmp_path / "no_seeds.json").write_text(json.dumps({"rows": rows}))
    assert starts(tmp_path).splitlines()[2:] == [
        f"| abstracts | {half} | nothing | 1 of 1 | 96.0 | 95.0 |",
        f"| films | {half} | 8 seeds | 0 of 1 | 50.0 | 60.0 |",
        "| nothing shared | nothing | nothing | called linkable 1 of 2 times | – | – |",
        f"| short titles, e5 on one side | {half} | nothing | 1 of 2 | 45.0 | 92.5 |",
        f"| short titles, e5 on one side | {half} | 4 seeds | 1 of 2 | 85.0 | 92.5 |",
        f"| short titles, other models | {half} | nothing | 1 of 1 | 95.0 | 94.0 |",
    ]


def test_the_page_on_new_rows_says_what_was_measured_and_nothing_else(tmp_path: Path) -> None:
    assert "points" not in new_rows(tmp_path)
    measured = {"days": {"worst_behind": 0.44}, "cost": {"products": 1.187}}
    (tmp_path / "living.json").write_text(json.dumps({"summary": measured}))
    told = new_rows(tmp_path)
    assert "missed by 0.4 points" in told and "1.19 products" in told and "one at a time" not in told


def test_the_table_of_even_splits_has_means_worst_cases_and_errors_where_there_are_links(tmp_path: Path) -> None:
    found = {"f1": 0.9, "links": 9, "estimated_precision": 0.97, "precision": 0.95, "precision_at_95": 0.96}
    nothing = {"f1": 0.0, "links": 0, "estimated_precision": None, "precision": 0.0, "precision_at_95": None}
    trials = {}
    for name, overlap, _ in LINES:
        for state, trial in enumerate((found, nothing)):
            trials[f"{name} pair=x-y-z overlap={overlap} seeds=15 state={state}"] = trial
    (tmp_path / "span.json").write_text(json.dumps(trials))
    assert span_trials(tmp_path).count("| 2 | 45.0 (0.0) | 2.0 points | 96.0 |") == len(LINES)


def test_of_the_demo_its_estimates_are_shown_and_of_linking_all_but_the_next_steps(tmp_path: Path) -> None:
    demo = ["Verdict: linkable.", "Estimated without labels: precision  ", "By the truth: 98.2 %", "", "Next, with"]
    link = ["905 links", "Written to /tmp/links.parquet.", "Next:", "  veclink cut"]
    (tmp_path / "sample.json").write_text(json.dumps({"printed": {"demo": demo, "link": link}}))
    assert printed_by("demo", tmp_path) == "```text\nEstimated without labels: precision\nBy the truth: 98.2 %\n```"
    assert printed_by("link", tmp_path) == "```text\n905 links\nWritten to /tmp/links.parquet.\n```"


def test_a_table_that_mixes_versions_or_trials_says_so(tmp_path: Path) -> None:
    def cell(overlap: float, state: int, **version: str) -> dict[str, Any]:
        return {"overlap": overlap, "method": "span", "state": state, **version}

    new = {"version": "0.2.3 302097e1"}
    tables = {
        "votes": [cell(0.3, 0, **new)],
        "many": [cell(0.3, 0, **new), cell(0.3, 1, **new), cell(0.15, 0)],
    }
    for name, cells in tables.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"cells": dict(enumerate(cells))}))
    assert versions_of_tables(tmp_path).splitlines()[2:] == [
        "| votes | 0.2.3 | 1 | 1 |",
        "| many | 0.1 and 0.2.3 | 3 | 1 to 2 |",
    ]
