"""Refits of the maps to all candidates: how often, and in how many folds.

    veclink bench refits --data DIR [--trials 2] [--only TEXT] [--seconds 600] [--output FILE.json] [--table]

The cases are those that `veclink bench few-candidates` chooses on, but for kinds of which nothing is missing. Each pool
is grown once, and its candidates are scored and calibrated in several ways: without a refit, and after each of some
refits in so many folds. Runs are kept in results/experiments/refits.json; those that the output file holds are not run
again, and none is begun after --seconds. Runs in which nothing grew are left out.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from veclink.confidence.calibration import Calibrated, recounted
from veclink.confidence.threshold import best_threshold
from veclink.linkers.span import linker
from veclink.linkers.span.constants import REFITTED_BELOW
from veclink.linkers.span.results import Estimated
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Problem
from veclink_bench.studies.few_candidates import Prepared, candidates, estimated, missing_to_choose, prepared
from veclink_bench.studies.kept_runs import Run, measure_missing

OUTPUT = results_folder("experiments") / "refits.json"
LEFT_OUT = ("all of 500", "300-300", "even 0.5", "100 in 3000")
FOLDS = (3, 8, 16)
REFITS = 2
NONE = "no refit"
WHAT = (
    "Mean F1, expected and true, the best that any threshold would have, and told − true precision (mean, and mean of "
    "its size), in points: without a refit, after each refit in so many folds, and with the mean of all counts of "
    "right candidates."
)
HOW = "Cases to choose on; 15 seeds. Every way has the same pool; a refit begins with what the one before ended with."


def measure(problem: Problem, random_state: int) -> dict[str, Any] | None:
    """All ways on one pool; None where nothing grew."""
    ready = prepared(problem, random_state)
    first = estimated(ready.task)
    if first is None:
        return None
    found = {NONE: figures(problem, ready, first, first.calibrated)}
    for folds in FOLDS:
        found |= _refitted(problem, ready, first, folds)
    return found


def _refitted(problem: Problem, ready: Prepared, first: Estimated, folds: int) -> dict[str, Any]:
    """What each refit in so many folds gives."""
    found = {}
    now, shares = first, [first.calibrated.share_right]
    with patch.object(linker, "FOLDS_OF_REFIT", folds):
        for done in range(REFITS):
            now = linker._refitted(ready.task, now, first)
            shares.append(now.calibrated.share_right)
            found[f"{folds} folds, {done + 1}"] = figures(problem, ready, now, now.calibrated)
    share = float(np.exp(np.log(shares).mean()))
    averaged = recounted(now.calibrated, share, min(len(problem.a), len(problem.b)))
    return found | {f"{folds} folds, mean count": figures(problem, ready, now, averaged)}


def figures(problem: Problem, ready: Prepared, way: Estimated, calibrated: Calibrated) -> dict[str, float]:
    """What a calibration of these candidates says beside what is true, in points; the given pairs come first."""
    given = way.scored.matched.grown.given
    of_a, of_b = candidates(way)
    free = ~(np.isin(of_a, given[:, 0]) | np.isin(of_b, given[:, 1]))
    object_a = problem.object_a[ready.a.rows[of_a[free]]]
    object_b = problem.object_b[ready.b.rows[of_b[free]]]
    right = np.r_[np.ones(len(given), bool), object_a == object_b]
    probability = np.r_[np.ones(len(given)), calibrated.probability[free]]
    kept = best_threshold(probability, calibrated.overlap)
    shared = len(problem.shared)
    f1 = 2 * np.cumsum(right) / (np.arange(1, len(right) + 1) + shared)
    points = {
        "expected": calibrated.best_f1,
        "f1": f1[kept - 1] if kept else 0.0,
        "best": f1.max(),
        "told": probability[:kept].mean() if kept else 0.0,
        "true": right[:kept].mean() if kept else 0.0,
    }
    return {name: round(100 * float(value), 1) for name, value in points.items()}


def summary(runs: list[Run]) -> dict[str, Any]:
    """The means of every way: kind by kind, by the F1 that is to be expected without a refit, and of all."""
    kinds = sorted({run["kind"] for run in runs})
    chosen = {kind: [run for run in runs if run["kind"] == kind] for kind in kinds} | {"all": runs}
    below = 100 * REFITTED_BELOW
    chosen |= {
        f"expected below {below:.0f}": [run for run in runs if run[NONE]["expected"] < below],
        f"expected from {below:.0f} on": [run for run in runs if run[NONE]["expected"] >= below],
    }
    return {kind: {"runs": len(mine), **_means(mine)} for kind, mine in chosen.items() if mine}


def _means(runs: list[Run]) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for run in runs for name in run if name not in ("case", "kind"))
    return {name: _mean([run[name] for run in runs if name in run]) for name in names}


def _mean(ways: list[dict[str, float]]) -> dict[str, float]:
    error = np.array([way["told"] - way["true"] for way in ways])
    figures = {
        "expected": np.mean([way["expected"] for way in ways]),
        "f1": np.mean([way["f1"] for way in ways]),
        "best": np.mean([way["best"] for way in ways]),
        "error": error.mean(),
        "size of error": np.abs(error).mean(),
    }
    return {name: round(float(value), 1) for name, value in figures.items()} | {"runs": len(ways)}


def heading(runs: list[Run]) -> dict[str, Any]:
    """What was asked, and a summary of the runs."""
    return {"what": WHAT, "how": HOW, "summary": summary(runs)}


def main() -> None:
    """Measure what the output file lacks."""
    measure_missing(__doc__, OUTPUT, missing_to_choose(measure, lambda kind: kind not in LEFT_OUT), heading)
