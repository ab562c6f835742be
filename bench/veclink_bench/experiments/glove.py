"""Linking with an encoder that is not contrastive: GloVe means beside minilm, which the paper leaves to future work."""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import LINKERS, run_trial

TITLE = "GloVe"
PAIRS = (("scifact", "glove", "minilm"), ("nfcorpus", "glove", "minilm"))
METHODS = LINKERS
OVERLAPS, SEEDS, TRIALS = (0.15, 0.3), 15, 5


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    pairs = [list(pair) for pair in PAIRS] if setup.full and not setup.models else [setup.one_pair(PAIRS[1])]
    return [
        {"pair": pair, "overlap": overlap, "seeds": SEEDS, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for pair in pairs
        for overlap in OVERLAPS
        for method in setup.using(METHODS)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 and verdicts."""
    of = grouped(cells, "pair", "overlap", "method")
    methods = ordered(cells, "method")
    rows = []
    for pair, overlap in grouped(cells, "pair", "overlap"):
        own = [of.get((pair, overlap, method), []) for method in methods]
        f1 = [mean_std(values(group)) for group in own]
        rows.append([f"{pair_name(pair)}, α {overlap}", *f1, *(_verdicts(group) for group in own)])
    heads = [*(f"{method}, F1" for method in methods), *(f"{method} says" for method in methods)]
    return [Table("F1 with GloVe, 15 seeds", ["pair", *heads], rows, trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """F1 over the overlap, a panel for each pair."""
    pairs, methods = ordered(cells, "pair"), ordered(cells, "method")
    figure, axes = new_figure(1, len(pairs), 2.8 * len(pairs), 2.6)
    for place, pair in enumerate(pairs):
        for method in methods:
            own = [cell for cell in cells if (tuple(cell["pair"]), cell["method"]) == (pair, method)]
            curve(axes[0, place], own, "overlap", label=method, color=colour(method, methods))
        axes[0, place].set(title=pair_name(pair), xlabel="overlap α", ylim=(0, 101))
    axes[0, 0].set_ylabel("F1")
    axes[0, 0].legend(fontsize=7)
    return figure


def _verdicts(cells: list[Cell]) -> str:
    """'linkable', or how often each was said."""
    said = [str(cell["verdict"]) for cell in cells]
    counts = {verdict: said.count(verdict) for verdict in dict.fromkeys(said)}
    if len(counts) == 1:
        return said[0]
    return ", ".join(f"{verdict} {count}×" for verdict, count in counts.items()) or "–"
