"""Figures and sentences of the pages that come from `veclink bench real`, the half that nothing was chosen on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from veclink_bench.places import BENCH
from veclink_bench.real_table import Trials, f1, recall_at_95
from veclink_bench.studies.real import last_of_each

REPORT = BENCH / "results" / "experiments" / "real-report.1-of-1.jsonl"
FIRST_RELEASE = REPORT.with_name("real-0.1.jsonl")
CHOICES = REPORT.with_name("calibration_choices.json")
CHOSEN = "6 more, ridge 3, inflation 4"  # of the choices of the calibration, the one that was taken
EVEN = ("even 0.3", "even 0.15", "even 0.05")
KINDS = (*EVEN, "copies", "half of 600")


@cache
def real_trials(file: Path = REPORT) -> Trials:
    """Of each case the trial that was measured last."""
    return last_of_each(file)


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
    for kind in EVEN:
        name = kind.replace(" ", "-")
        figures[f"first-release-f1-{name}"] = partial(_f1_then, kind)
        figures[f"since-then-f1-{name}"] = partial(_f1_now, kind)
    figures["first-release-splits"] = lambda: float(sum(len(_compared(kind)[0]) for kind in EVEN))
    figures["chosen-runs"] = partial(_chosen, "runs")
    figures["chosen-kept-95"] = partial(_chosen, "kept 0.95")
    figures["worst-estimate-of-a-tenth"] = partial(_worst_estimate, "tenth of 2000")
    return figures


def _chosen(measure: str) -> float:
    """A figure of the runs that the calibration was chosen on."""
    return float(json.loads(CHOICES.read_text(encoding="utf-8"))["variants"][CHOSEN][measure])


def _f1_then(kind: str) -> float:
    return f1(_compared(kind)[0])


def _f1_now(kind: str) -> float:
    return f1(_compared(kind)[1])


def _compared(kind: str) -> tuple[Trials, Trials]:
    """Trials of the first release, and of this one on the same splits."""
    then = {trial["case"]: trial for trial in real_trials(FIRST_RELEASE) if trial["kind"] == kind}
    now = {trial["case"]: trial for trial in _of(kind)}
    both = [case for case in then if case in now]
    return [then[case] for case in both], [now[case] for case in both]


def _worst_estimate(kind: str) -> float:
    """The most points by which the estimated precision exceeds the true one."""
    found = [trial for trial in _of(kind) if trial["links"]]
    return 100 * max(trial["estimated"]["precision"] - trial["true"]["precision"] for trial in found)


def precision_at_95(trials: Trials) -> float:
    """The mean true precision of what `at(0.95)` keeps, in percent, of the trials where it keeps something."""
    kept = [trial["at"]["0.95"] for trial in trials if trial["at"]["0.95"]["links"]]
    return 100 * float(np.mean([each["precision"] for each in kept]))


def _measured(measure: Callable[[Trials], float], kind: str) -> float:
    return measure(_of(kind))


def _of(kind: str) -> Trials:
    return [trial for trial in real_trials() if trial["kind"] == kind]
