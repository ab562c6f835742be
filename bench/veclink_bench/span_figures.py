"""Figures and a table of the pages that come from results/experiments/span.json: span linking on even splits.

They were measured with the version that the pages name beside them; `veclink bench real` has such splits today.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink_bench.places import BENCH

RESULTS = BENCH / "results" / "experiments"
Trial = dict[str, Any]
HEAD = (
    "| shared, of all objects | trials | mean F1 (worst) | mean error of the estimated precision "
    "| true precision at 0.95, worst |\n|---|---|---|---|---|"
)
LINES = (
    ("main", "0.5", "50 %"),
    ("main", "0.3", "30 %"),
    ("main", "0.15", "15 %"),
    ("main", "0.05", "5 %"),
    ("others", "0.3", "30 %, three other corpora"),
    ("others", "0.15", "15 %, three other corpora"),
)
"""The lines of the table: the trials, their overlap, and what a reader calls them."""


@cache
def trials_of(name: str, overlap: str | None = None, results: Path = RESULTS) -> list[Trial]:
    """The trials of one kind, at one overlap or at all."""
    kept = json.loads((results / "span.json").read_text(encoding="utf-8"))
    return [trial for key, trial in kept.items() if key.split()[0] == name and _is_at(key, overlap)]


def span_trials(results: Path = RESULTS) -> str:
    """The table of F1, of how far the estimated precision is off, and of the least true precision at 0.95."""
    return "\n".join([HEAD, *(_line(trials_of(name, overlap, results), words) for name, overlap, words in LINES)])


def span_figures() -> dict[str, Callable[[], float]]:
    """Single figures of the same trials, by name."""
    return {
        "span-f1-5-percent": lambda: _percent(trials_of("main", "0.05"), "f1").mean(),
        "span-error-5-percent": lambda: _errors(trials_of("main", "0.05")).mean(),
        "films-f1-least": lambda: _percent(trials_of("movies30"), "f1").min(),
        "films-f1-most": lambda: _percent(trials_of("movies30"), "f1").max(),
        "span-found-nothing": lambda: sum(not trial["links"] for trial in trials_of("others", "0.15")),
        "span-others": lambda: len(trials_of("others", "0.15")),
        "wrong-seeds-trials": lambda: len(trials_of("wrong")),
        "wrong-seeds-given": lambda: 15 * len(trials_of("wrong")),
        "wrong-seeds-named": partial(_total, "wrong_named"),
        "right-seeds-named": partial(_total, "right_named"),
    }


def no_right_seed_is_named() -> bool:
    """Whether of the right seeds among wrong ones none was called wrong."""
    return _total("right_named") == 0


def _is_at(key: str, overlap: str | None) -> bool:
    """Whether a trial, kept as "name pair=… overlap=… …", has this overlap."""
    return overlap is None or f" overlap={overlap} " in f"{key} "


def _line(trials: list[Trial], words: str) -> str:
    f1 = _percent(trials, "f1")
    sure = _percent([trial for trial in trials if trial["precision_at_95"] is not None], "precision_at_95")
    return (
        f"| {words} | {len(trials)} | {f1.mean():.1f} ({f1.min():.1f}) | {_errors(trials).mean():.1f} points "
        f"| {sure.min():.1f} |"
    )


def _percent(trials: list[Trial], measure: str) -> np.ndarray:
    return np.array([100 * trial[measure] for trial in trials])


def _errors(trials: list[Trial]) -> np.ndarray:
    """Points by which the estimated precision is off, where there are links."""
    found = [trial for trial in trials if trial["links"]]
    return np.abs(_percent(found, "estimated_precision") - _percent(found, "precision"))


def _total(measure: str) -> float:
    return float(sum(trial[measure] for trial in trials_of("wrong")))
