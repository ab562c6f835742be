"""The tables of `veclink bench real`: what is required, beside what was measured."""

from __future__ import annotations

from typing import Any

from veclink_bench.real_table import kinds_table, required


def trial(kind: str, label: str, *, true: float = 0.9, estimated: float = 0.92, kept: float = 0.96) -> dict[str, Any]:
    """A hand-made trial: its true precision and recall, its estimated precision, and the true one at 0.95."""
    at = {"links": 80, "precision": kept, "recall": 0.7, "f1": 0.8}
    return {
        "kind": kind,
        "label": label,
        "n_a": 200,
        "n_b": 300,
        "shared": 100,
        "links": 90,
        "verdict": "linkable",
        "estimated": {"precision": estimated, "recall": 0.9, "overlap": 100.0},
        "ranges": {"precision": (0.85, 0.95), "recall": (0.85, 0.95), "overlap": (110.0, 120.0)},
        "true": {"precision": true, "recall": true, "f1": true},
        "at": {"0.95": at},
    }


def test_a_requirement_is_met_from_what_is_required_on() -> None:
    met = {
        row.what: row.met for row in required([trial("even 0.3", "x", true=0.9), trial("half of 600", "x", true=0.76)])
    }
    assert met["mean F1, even split, α 0.3"] and not met["F1, half of 600"]
    assert met["recall at 0.95, α 0.3"]
    assert not any("tenth" in what for what in met), "what was not measured is not in the table"


def test_the_worst_estimate_and_the_worst_cell_are_named() -> None:
    trials = [trial("even 0.3", "x"), trial("few", "y", true=0.7, estimated=0.81, kept=0.89)]
    rows = {row.what: row for row in required(trials)}
    estimates = rows["estimated − true precision, every kind"]
    assert (
        "worst +11.0 (few, y)" in estimates.measured and "1 of 2 within 8" in estimates.measured and not estimates.met
    )
    sure = rows["true precision at 0.95, cells with ≥ 10 % shared"]
    assert sure.measured == "50 % of 2 cells ≥ 94; least 89.0" and not sure.met


def test_other_domains_are_measured_against_the_even_split_of_the_same_corpus() -> None:
    trials = [trial("domains", "one 0.3"), trial("even 0.3", "papers mpnet-e5")]
    row = next(row for row in required(trials) if "other domains on one, α 0.3" in row.what)
    assert row.required == "≥ 60.0 (even split − 10)" and row.met and row.measured == "70.0"


def test_sixty_runs_that_share_nothing_have_to_be_refused() -> None:
    refused = trial("nothing", "x") | {"verdict": "not linkable", "links": 0, "shared": 0}
    assert required([refused] * 60)[-1].met
    assert not required([refused] * 59)[-1].met
    assert not required([refused] * 59 + [refused | {"verdict": "doubtful"}])[-1].met


def test_a_kind_has_a_line_with_what_its_ranges_hold() -> None:
    line = kinds_table([trial("few", "x"), trial("few", "y")]).splitlines()[-1]
    assert line == "| few | 2 | 90.0 | +2.0 (+2.0) | 96.0 (96.0) / 70 | 2, 2, 0 of 2 | 2 |"
