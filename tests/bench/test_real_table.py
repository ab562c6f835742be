"""The tables of `veclink bench real`: what is required, beside what was measured."""

from __future__ import annotations

from typing import Any

from veclink_bench.real_table import required


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


def test_other_domains_are_measured_against_the_even_split_of_the_same_corpus() -> None:
    trials = [trial("domains", "one 0.3"), trial("even 0.3", "papers mpnet-e5")]
    row = next(row for row in required(trials) if "other domains on one, α 0.3" in row.what)
    assert row.required == "≥ 60.0 (even split − 10)" and row.met and row.measured == "70.0"


def test_sixty_runs_that_share_nothing_have_to_be_refused() -> None:
    refused = trial("nothing", "x") | {"verdict": "not linkable", "links": 0, "shared": 0}
    assert required([refused] * 60)[-1].met
    assert not required([refused] * 59)[-1].met
    assert not required([refused] * 59 + [refused | {"verdict": "doubtful"}])[-1].met
