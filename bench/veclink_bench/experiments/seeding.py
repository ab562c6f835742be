"""How the seeds were chosen: nearest to one point, at random, by furthest points, nearest to k-means centroids."""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import (
    Cell,
    Table,
    grouped,
    method_grid,
    ordered,
    pair_name,
    trials_note,
    trials_of,
    values,
)
from veclink_bench.experiments.trials import LINKERS, run_trial
from veclink_bench.versions import measured_with

TITLE = "Choice of the seeds"
WAYS = ("nearest", "uniform", "fps", "kmeans")
METHODS = ("self-learning tuned", *LINKERS)
PAIRS = (("nfcorpus", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5"))
TRIALS = 3
# The paper's 45 configurations: corpora × overlaps × seeds.
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange")
OVERLAPS, SEEDS = (0.15, 0.2, 0.3), (15, 20, 30)
CORNERS = [(overlap, seeds) for overlap in (0.15, 0.3) for seeds in (15, 30)]
SWEPT = ("geh tuned", "geh local tuned", "span")
SWEPT_MODELS = ("minilm", "mpnet")


def cells(setup: Setup) -> list[Settings]:
    """All trials, one configuration after another: first the two pairs, then the corners of the sweep."""
    own = setup.full and not (setup.corpora or setup.models)
    pairs = [list(p) for p in PAIRS] if own else [setup.one_pair(PAIRS[0])]
    places: list[tuple[list[str], float, int, tuple[str, ...]]] = [(pair, 0.3, 15, METHODS) for pair in pairs]
    if own:
        between = [(overlap, seeds) for overlap in OVERLAPS for seeds in SEEDS if (overlap, seeds) not in CORNERS]
        swept = [([corpus, *SWEPT_MODELS], *place, SWEPT) for place in CORNERS + between for corpus in CORPORA]
        places += [place for place in swept if place[:3] != (pairs[0], 0.3, 15)]
    return [
        {"pair": pair, "overlap": overlap, "seeds": seeds, "how": how, "method": method, "state": state}
        for pair, overlap, seeds, methods in places
        for state in setup.states(TRIALS)
        for how in WAYS
        for method in setup.using(methods)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 by the way of choosing: of all methods on two pairs, and of two methods in every configuration."""
    pairs = [pair for pair in ordered(cells, "pair") if pair in PAIRS] or ordered(cells, "pair")
    found = []
    for pair in pairs:
        group = [cell for cell in cells if (tuple(cell["pair"]), cell["overlap"], cell["seeds"]) == (pair, 0.3, 15)]
        heading = f"F1 by choice of 15 seeds, {pair_name(pair)}"
        found.append(method_grid(heading, group, "method", "how", note=trials_note(group)))
    swept = [cell for cell in cells if tuple(cell["pair"])[1:] == SWEPT_MODELS and cell["method"] in SWEPT]
    if len(grouped(swept, "pair", "overlap", "seeds")) > 1:
        found += [_configurations(method, group) for (method,), group in grouped(swept, "method").items()]
    return found


def _configurations(method: str, cells: list[Cell]) -> Table:
    """F1 of one method in every configuration, and the largest gap between two ways."""
    rows = []
    configurations = grouped(cells, "pair", "overlap", "seeds")
    for pair, overlap, seeds in sorted(configurations):
        of = grouped(configurations[pair, overlap, seeds], "how")
        means = [float(values(of[(way,)]).mean()) for way in WAYS if (way,) in of]
        shown = [f"{values(of[(way,)]).mean():.1f}" if (way,) in of else "–" for way in WAYS]
        rows.append([f"{pair[0]}, α {overlap}, {seeds} seeds", *shown, f"{max(means) - min(means):.1f}"])
    heading = f"Mean F1 of {method} by choice of the seeds, minilm–mpnet"
    note = f"Means over {trials_of(cells)} trials. Measured with {measured_with(cells)}."
    return Table(heading, ["", *WAYS, "largest gap"], rows, note)


def draw(cells: list[Cell]) -> Any:
    """Bars for each way and method."""
    cells = [cell for cell in cells if (cell["overlap"], cell["seeds"]) == (0.3, 15)]
    pairs = [pair for pair in ordered(cells, "pair") if pair in PAIRS] or ordered(cells, "pair")
    ways, methods = ordered(cells, "how"), ordered(cells, "method")
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
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    return figure
