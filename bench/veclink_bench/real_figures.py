"""Figures and sentences of the pages that come from `veclink bench real`, the half that nothing was chosen on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from veclink_bench.places import BENCH
from veclink_bench.real_table import Trial, Trials, f1, recall_at_95

REPORT = BENCH / "results" / "experiments" / "real-report.1-of-1.jsonl"
KINDS = ("even 0.3", "even 0.15", "even 0.05", "copies", "half of 600")


@cache
def real_trials() -> Trials:
    """Of each case the trial that was measured last."""
    trials = map(json.loads, REPORT.read_text(encoding="utf-8").splitlines())
    by_case: dict[str, Trial] = {trial["case"]: trial for trial in trials}
    return list(by_case.values())


def nothing_shared_is_not_linkable() -> bool:
    """Whether every trial of collections that share nothing says so."""
    trials = _of("nothing")
    return bool(trials) and all(trial["verdict"] == "not linkable" for trial in trials)


def real_figures() -> dict[str, Callable[[], float]]:
    """By the name of a kind: F1 and recall of `at(0.95)` over its trials, and the precision of what is kept there."""
    figures: dict[str, Callable[[], float]] = {"real-trials": lambda: float(len(real_trials()))}
    for measure in (f1, precision_at_95, recall_at_95):
        for kind in KINDS:
            name = f"real-{measure.__name__.removesuffix('_at_95')}-{kind.replace(' ', '-')}"
            figures[name] = partial(_measured, measure, kind)
    return figures


def precision_at_95(trials: Trials) -> float:
    """The mean true precision of what `at(0.95)` keeps, in percent, of the trials where it keeps something."""
    kept = [trial["at"]["0.95"] for trial in trials if trial["at"]["0.95"]["links"]]
    return 100 * float(np.mean([each["precision"] for each in kept]))


def _measured(measure: Callable[[Trials], float], kind: str) -> float:
    return measure(_of(kind))


def _of(kind: str) -> Trials:
    return [trial for trial in real_trials() if trial["kind"] == kind]
