"""The main table: every method on every pair of models and every corpus, 30 % shared, 15 seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.experiments.figures import heat, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import ALL_METHODS, LINKERS, run_trial

TITLE = "Methods × pairs × data"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange", "movies")
QUICK = (("nfcorpus", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5"))
OVERLAP, SEEDS, TRIALS = 0.3, 15, 5
SLOW = ("ugw", "ugw tuned", "ao", "ao tuned", "centroids")  # left out of a quick run, unless asked for


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    methods = setup.using(m for m in ALL_METHODS if setup.full or setup.methods or m not in SLOW)
    return [
        {"pair": pair, "overlap": OVERLAP, "seeds": SEEDS, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for pair in setup.pairs(CORPORA, QUICK)
        for method in methods
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 of all; precision, recall and F1 of those that link at all; where span is not the best."""
    pairs, methods, of = ordered(cells, "pair"), ordered(cells, "method"), grouped(cells, "pair", "method")
    f1 = [
        [method, *(mean_std(values(of.get((pair, method), []))) for pair in pairs), _mean_of(cells, method)]
        for method in methods
    ]
    told = [
        [pair_name(pair), *(_triple(of.get((pair, method), [])) for method in methods if method in CONTENDERS)]
        for pair in pairs
    ]
    oracle = [
        [method, *(mean_std(values(of.get((pair, method), []), "f1_oracle")) for pair in pairs)]
        for method in methods
        if method in CONTENDERS
    ]
    names = [pair_name(pair) for pair in pairs]
    return [
        Table("F1, 30 % shared, 15 seeds", ["method", *names, "mean"], f1, trials_note(cells)),
        Table("Precision / recall / F1 of those that link", ["pair", *(m for m in methods if m in CONTENDERS)], told),
        Table("F1 if an oracle chose the threshold of each ranking", ["method", *names], oracle),
    ]


CONTENDERS = ("self-learning", "self-learning tuned", "self-learning cut", *LINKERS)


def draw(cells: list[Cell]) -> Any:
    """The F1 table as colours."""
    pairs, methods, of = ordered(cells, "pair"), ordered(cells, "method"), grouped(cells, "pair", "method")
    numbers = np.array([[v.mean() if len(v := values(of.get((p, m), []))) else np.nan for p in pairs] for m in methods])
    figure, axes = new_figure(width=1.8 + 0.55 * len(pairs), height=1.4 + 0.28 * len(methods))
    heat(axes[0, 0], numbers, [str(m) for m in methods], [pair_name(p) for p in pairs])
    axes[0, 0].set_title("F1, 30 % shared, 15 seeds")
    return figure


def _triple(cells: list[Cell]) -> str:
    parts = [values(cells, name) for name in ("precision", "recall", "f1")]
    return " / ".join(f"{part.mean():.1f}" if len(part) else "–" for part in parts)


def _mean_of(cells: list[Cell], method: str) -> str:
    found = values(cell for cell in cells if cell["method"] == method)
    return f"{found.mean():.1f}" if len(found) else "–"
