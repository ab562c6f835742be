"""Overlap × seeds: α ∈ {.15, .2, .3}, 15, 20 and 30 seeds."""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import LINKERS, run_trial

TITLE = "Overlap × seeds"
OVERLAPS, SEEDS, TRIALS = (0.15, 0.2, 0.3), (15, 20, 30), 5
PAIRS = (("scifact", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5"))
QUICK = (("nfcorpus", "minilm", "mpnet"),)
QUICK_METHODS = (
    "procrustes tuned", "self-learning", "self-learning tuned", "self-learning cut", *LINKERS,
)  # fmt: skip
# Where a method has tuned settings, those alone: they are the better ones in nearly every cell of the main table.
FULL_METHODS = (
    *(f"{name} tuned" for name in ("linear", "cca", "mlp", "rcsls", "procrustes", "ugw", "ao")), "centroids",
    "self-learning", "self-learning tuned", "self-learning cut", *LINKERS,
)  # fmt: skip


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    pairs = [list(p) for p in PAIRS] if setup.full and not (setup.corpora or setup.models) else setup.pairs((), QUICK)
    overlaps, seeds = (OVERLAPS, SEEDS) if setup.full else ((0.15, 0.3), (15, 30))
    methods = FULL_METHODS if setup.full else QUICK_METHODS
    return [
        {"pair": pair, "overlap": overlap, "seeds": count, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for pair in pairs
        for overlap in overlaps
        for count in seeds
        for method in setup.using(methods)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 by overlap and seeds for each pair."""
    found = []
    for (pair,), group in grouped(cells, "pair").items():
        of = grouped(group, "method", "overlap", "seeds")
        places = [(o, s) for o in ordered(group, "overlap") for s in ordered(group, "seeds")]
        rows = [
            [method, *(mean_std(values(of.get((method, *place), []))) for place in places)]
            for method in ordered(group, "method")
        ]
        heads = [f"α {overlap}, {seeds} seeds" for overlap, seeds in places]
        found.append(Table(f"F1, {pair_name(pair)}", ["method", *heads], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """F1 over the overlap, one panel for each number of seeds and pair."""
    pairs, seeds = ordered(cells, "pair"), ordered(cells, "seeds")
    shown = [m for m in QUICK_METHODS if m in ordered(cells, "method")]
    figure, axes = new_figure(len(pairs), len(seeds), 2.6 * len(seeds), 2.5 * len(pairs))
    for row, pair in enumerate(pairs):
        for column, count in enumerate(seeds):
            here = axes[row, column]
            for method in shown:
                own = [c for c in cells if (tuple(c["pair"]), c["seeds"], c["method"]) == (pair, count, method)]
                curve(here, own, "overlap", label=method, color=colour(method, shown))
            here.set(title=f"{pair_name(pair)}, {count} seeds", ylim=(0, 101), xlabel="overlap α")
    axes[0, 0].set_ylabel("F1")
    axes[0, 0].legend(fontsize=7)
    return figure
