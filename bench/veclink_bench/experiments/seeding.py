"""How the seeds were chosen: nearest to one point, at random, by furthest points, nearest to k-means centroids."""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, method_grid, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import run_trial

TITLE = "Choice of the seeds"
WAYS = ("nearest", "uniform", "fps", "kmeans")
METHODS = ("self-learning tuned", "geh", "geh tuned", "span")
PAIRS = (("nfcorpus", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5"))
TRIALS = 3


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    own = setup.full and not (setup.corpora or setup.models)
    pairs = [list(p) for p in PAIRS] if own else [setup.one_pair(PAIRS[0])]
    return [
        {"pair": pair, "overlap": 0.3, "seeds": 15, "how": how, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for pair in pairs
        for how in WAYS
        for method in setup.using(METHODS)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 by the way of choosing."""
    return [
        method_grid(f"F1 by choice of 15 seeds, {pair_name(pair)}", group, "method", "how", note=trials_note(group))
        for (pair,), group in grouped(cells, "pair").items()
    ]


def draw(cells: list[Cell]) -> Any:
    """Bars for each way and method."""
    pairs, ways, methods = ordered(cells, "pair"), ordered(cells, "how"), ordered(cells, "method")
    of = grouped(cells, "pair", "how", "method")
    figure, axes = new_figure(1, len(pairs), 3.6 * len(pairs), 3.0)
    for panel, pair in zip(axes[0], pairs, strict=True):
        for shift, method in enumerate(methods):
            numbers = [values(of.get((pair, way, method), [])) for way in ways]
            places = [x + (shift - len(methods) / 2 + 0.5) * 0.8 / len(methods) for x in range(len(ways))]
            means = [n.mean() if len(n) else 0 for n in numbers]
            error = [n.std(ddof=1) if len(n) > 1 else 0 for n in numbers]
            panel.bar(places, means, 0.8 / len(methods), yerr=error, label=method, color=colour(method, methods))
        panel.set_xticks(range(len(ways)), ways)
        panel.set(title=pair_name(pair), ylim=(0, 101), ylabel="F1")
    axes[0, 0].legend(fontsize=7)
    return figure
