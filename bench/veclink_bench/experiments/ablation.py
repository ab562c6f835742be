"""What each part brings: GEH and span with one part taken away, mean ± deviation over ten trials."""

from __future__ import annotations

from typing import Any

from veclink.linkers.options import GrowthSchedule
from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import run_trial

TITLE = "Ablation"
PAIR = ("nfcorpus", "minilm", "mpnet")
OVERLAP, SEEDS, TRIALS = 0.3, 15, 10
GEH: dict[str, dict[str, Any]] = {
    "full": {},
    "raw distances": {"encoding": "raw"},
    "random views": {"view_choice": "random"},
    "raw distances, random views": {"encoding": "raw", "view_choice": "random"},
    "frozen schedule": {"schedule": "frozen"},
    "single view": {"views": "single"},
    "no bootstrapping": {"bootstrap": False},
}
PARTS: dict[str, dict[str, Any]] = {
    "full": {},
    "kernel hash": {"signature": "kernel"},
    "not centred": {"centred": False},
    "single view": {"schedule": GrowthSchedule(views=1, votes=0.0)},
    "one round": {"schedule": GrowthSchedule(rounds=1)},
    "no cut": {"thresholded": False},
    "no judging": {"calibrated": False, "crossfitted": False},
}
# Only the given seeds are tried as a start: another one would hide what a missing part costs.
SPAN = {name: {"fallbacks": False, **options} for name, options in PARTS.items()}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    pair = setup.one_pair(PAIR)
    return [
        {"pair": pair, "overlap": OVERLAP, "seeds": SEEDS, "method": method, "variant": variant, "state": state}
        for state in setup.states(TRIALS)
        for method, variants in (("geh", GEH), ("span", SPAN))
        if method in setup.using(("geh", "span"))
        for variant in variants
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial of one variant."""
    variants = GEH if settings["method"] == "geh" else SPAN
    return run_trial(setup, settings | {"options": variants[settings["variant"]]})


def tables(cells: list[Cell]) -> list[Table]:
    """Precision, recall and F1 of every variant."""
    found = []
    for (method,), group in grouped(cells, "method").items():
        rows = [
            [variant, *(mean_std(values(own, name)) for name in ("precision", "recall", "f1"))]
            for (variant,), own in grouped(group, "variant").items()
        ]
        heading = f"Ablation of {method}, {pair_name(group[0]['pair'])}, α = {OVERLAP}, {SEEDS} seeds"
        found.append(Table(heading, ["variant", "precision", "recall", "F1"], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """Bars of F1."""
    methods = ordered(cells, "method")
    figure, axes = new_figure(1, len(methods), 4.2 * len(methods), 2.8)
    for panel, method in zip(axes[0], methods, strict=True):
        groups = grouped([cell for cell in cells if cell["method"] == method], "variant")
        names, numbers = [variant for (variant,) in groups][::-1], [values(own) for own in groups.values()][::-1]
        error = [n.std(ddof=1) if len(n) > 1 else 0 for n in numbers]
        panel.barh(names, [n.mean() for n in numbers], xerr=error, color=colour(method), capsize=2)
        panel.set(title=method, xlabel="F1", xlim=(0, 101))
    return figure
