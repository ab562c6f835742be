"""The table of what `veclink bench real` measured, kind by kind, in percent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Trial = dict[str, Any]
Trials = list[Trial]

RANGES = ("precision", "recall", "overlap")


def kinds_table(trials: Iterable[Trial]) -> str:
    """Means of trials, a line for each kind, as Markdown."""
    kinds: dict[str, Trials] = {}
    for each in trials:
        kinds.setdefault(each["kind"], []).append(each)
    head = (
        "| kind | trials | F1 | estimated − true precision (worst) | at 0.95: precision (least) / recall "
        "| ranges hold: precision, recall, overlap | linked |"
    )
    rows = [head, "|---|---|---|---|---|---|---|"]
    rows += [_kind_row(kind, of_kind) for kind, of_kind in sorted(kinds.items())]
    return "\n".join([*rows, "", _far_off(kinds)])


def f1(trials: Trials) -> float:
    """The mean true F1."""
    return mean(each["true"]["f1"] for each in trials)


def recall_at_95(trials: Trials) -> float:
    """The mean recall of what `at(0.95)` keeps."""
    return mean(each["at"]["0.95"]["recall"] for each in trials)


def _kind_row(kind: str, trials: Trials) -> str:
    linked = [each for each in trials if each["links"]]
    if not linked:
        return f"| {kind} | {len(trials)} | {f1(trials):.1f} | – | – | – | 0 |"
    errors = [100 * _error(each) for each in linked]
    sure = [100 * each["at"]["0.95"]["precision"] for each in linked if each["at"]["0.95"]["links"]]
    kept = f"{np.mean(sure):.1f} ({min(sure):.1f})" if sure else "–"
    error = f"{np.mean(errors):+.1f} ({max(errors, key=abs):+.1f})"
    held = ", ".join(f"{sum(_holds(each, what) for each in linked)}" for what in RANGES)
    return (
        f"| {kind} | {len(trials)} | {f1(trials):.1f} | {error} | {kept} / {recall_at_95(trials):.0f} "
        f"| {held} of {len(linked)} | {len(linked)} |"
    )


def _far_off(kinds: dict[str, Trials]) -> str:
    """How many estimates are far off, and how many of what `at(0.95)` keeps is less precise than that."""
    linked = [each for trials in kinds.values() for each in trials if each["links"] and each["shared"]]
    kept = [each["at"]["0.95"]["precision"] for each in linked if each["at"]["0.95"]["links"]]
    off = sum(abs(_error(each)) > 0.08 for each in linked)
    return (
        f"Estimated precision off by more than 8 points: {off} of {len(linked)} trials that linked. True precision at "
        f"0.95 below 94 %: {sum(each < 0.94 for each in kept)} of {len(kept)}, below 90 %: "
        f"{sum(each < 0.9 for each in kept)}."
    )


def _holds(trial: Trial, what: str) -> bool:
    """Whether the range of an estimate holds the truth."""
    between = trial.get("ranges", {}).get(what)
    if between is None:
        return False
    truth = trial["shared"] if what == "overlap" else trial["true"][what]
    return bool(between[0] <= truth <= between[1])


def _error(trial: Trial) -> float:
    return float(trial["estimated"]["precision"] - trial["true"]["precision"])


def mean(values: Iterable[float]) -> float:
    """In percent; 0 of nothing."""
    listed = list(values)
    return 100 * float(np.mean(listed)) if listed else 0.0
