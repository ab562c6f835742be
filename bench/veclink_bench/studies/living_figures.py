"""The figures of `veclink bench living`, out of its measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

Cells = dict[str, dict[str, Any]]


def summary(kept: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The figures that matter, of the cases that no constant was chosen on: those whose names begin so.

    A case is the mean of its trials; the worst trial stands beside the worst case.
    """
    batch = {name: cell for name, cell in kept.get("batch", {}).items() if name.startswith(names)}
    told: dict[str, Any] = {}
    behind = _behind(batch, kept.get("again", {}))
    if behind:
        single = {name: _error(batch[name], "single") for name in behind}
        unlike = {name: _error(batch[name], "unlike") for name in behind}
        by_case = _means(single)
        told["batch"] = {
            "trials": len(behind),
            "cases": len(_means(behind)),
            "mean_behind": float(np.mean(list(behind.values()))),
            "worst_behind": max(_means(behind).values()),
            "worst_trial_behind": max(behind.values()),
            "mean_single_error": float(np.mean(list(single.values()))),
            "mean_absolute_single_error": float(np.mean(np.abs(list(by_case.values())))),
            "worst_single_error": max(by_case.values(), key=abs),
            "worst_trial_single_error": max(single.values(), key=abs),
            "mean_unlike_error": float(np.mean(list(unlike.values()))),
        }
    by_day = _behind(kept.get("days", {}), kept.get("once", {}))
    if by_day:
        told["days"] = {
            "trials": len(by_day),
            "cases": len(_means(by_day)),
            "worst_behind": max(_means(by_day).values()),
            "worst_trial_behind": max(by_day.values()),
        }
    for cell in kept.get("cost", {}).values():
        told["cost"] = {"products": cell["products"]}
    return told


def _behind(cells: Cells, others: Cells) -> dict[str, float]:
    """How much F1 each trial lacks against another way to the same links."""
    return {name: others[name]["f1"] - cell["f1"] for name, cell in cells.items() if name in others}


def _error(cell: dict[str, Any], kind: str) -> float:
    """How far a mean probability is above the share that is right, in points."""
    return 100.0 * float(cell[f"{kind}_estimated"] - cell[f"{kind}_right"])


def _means(by_trial: dict[str, float]) -> dict[str, float]:
    """The mean of each case's trials, `case, trial`."""
    cases: dict[str, list[float]] = {}
    for name, value in by_trial.items():
        cases.setdefault(name.rpartition(", ")[0], []).append(value)
    return {case: float(np.mean(values)) for case, values in cases.items()}
