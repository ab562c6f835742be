"""Figures and sentences of the pages that come from `veclink bench real`, the half that nothing was chosen on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import numpy as np

from veclink_bench.places import BENCH
from veclink_bench.real_table import Trials, f1, recall_at_95
from veclink_bench.table_figures import CellsOf

FIRST_RELEASE = BENCH / "results" / "experiments" / "span.json"
EVEN = ("even 0.3", "even 0.15", "even 0.05")


def nothing_shared_is_not_linkable(cells_of: CellsOf) -> bool:
    """Whether every trial of collections that share nothing says so."""
    trials = _of("nothing", cells_of)
    return bool(trials) and all(trial["verdict"] == "not linkable" for trial in trials)


def no_right_seed_is_named(_: CellsOf) -> bool:
    """Whether of the right seeds among wrong ones none was called wrong."""
    return not _wrong_seeds("right_named").any()


def precision_at_95(trials: Trials) -> float:
    """The mean true precision of what `at(0.95)` keeps, in percent, of the trials where it keeps something."""
    kept = [trial["at"]["0.95"] for trial in trials if trial["at"]["0.95"]["links"]]
    return 100 * float(np.mean([each["precision"] for each in kept]))


def worst_estimate(trials: Trials) -> float:
    """The most points by which the estimated precision exceeds the true one."""
    found = [trial for trial in trials if trial["links"]]
    return 100 * max(trial["estimated"]["precision"] - trial["true"]["precision"] for trial in found)


def _measured(measure: Callable[[Trials], float], kind: str, cells_of: CellsOf) -> float:
    return measure(_of(kind, cells_of))


def _of(kind: str, cells_of: CellsOf) -> Trials:
    return [trial for trial in cells_of("real-report") if trial["kind"] == kind]


def _wrong_seeds(measure: str) -> np.ndarray:
    """A measure of the trials of version 0.1 in which half of 30 seeds were wrong."""
    trials = json.loads(FIRST_RELEASE.read_text(encoding="utf-8"))
    return np.array([trial[measure] for name, trial in trials.items() if name.startswith("wrong ")])


REAL_FIGURES: dict[str, Callable[[CellsOf], float]] = {
    **{
        f"real-{name}-{kind.replace(' ', '-')}": partial(_measured, measure, kind)
        for name, measure in (("f1", f1), ("precision", precision_at_95), ("recall", recall_at_95), ("splits", len))
        for kind in EVEN
    },
    "worst-estimate-of-a-tenth": partial(_measured, worst_estimate, "tenth of 2000"),
    "wrong-seeds-trials": lambda _: len(_wrong_seeds("wrong_named")),
    "wrong-seeds-given": lambda _: 15 * len(_wrong_seeds("wrong_named")),
    "wrong-seeds-named": lambda _: int(_wrong_seeds("wrong_named").sum()),
}
