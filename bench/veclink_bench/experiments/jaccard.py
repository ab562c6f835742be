"""How many of the k nearest neighbours two spaces have in common, k = 1 … 50, contrastive encoders and GloVe."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.diagnostics import neighbour_jaccard
from veclink_bench.experiments.figures import new_figure
from veclink_bench.experiments.setup import MODELS, Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, mean_std, ordered, pair_name
from veclink_bench.experiments.tables import grouped as grouped_by

TITLE = "Jaccard index of the nearest neighbours"
KS = np.arange(1, 51)
QUERIES, TRIALS = 100, 5


def cells(setup: Setup) -> list[Settings]:
    """A curve for each pair and draw of the queries."""
    corpora = setup.corpora or (("scifact", "nfcorpus", "papers", "reddit", "movies") if setup.full else ("nfcorpus",))
    models = setup.models or (*MODELS, "glove")
    return [
        {"pair": [corpus, a, b], "state": state}
        for state in setup.states(TRIALS)
        for corpus in corpora
        for i, a in enumerate(models)
        for b in models[i + 1 :]
        if setup.models or all((setup.data / corpus / f"{model}.npy").exists() for model in (a, b))
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """The curve over 100 queries."""
    corpus, *models = settings["pair"]
    left, right = (np.asarray(setup.vectors(corpus, model), np.float32) for model in models)
    found = neighbour_jaccard(left, right, KS, queries=QUERIES, random_state=settings["state"])
    return {"jaccard": found.tolist()}


def tables(cells: list[Cell]) -> list[Table]:
    """The index at a few k."""
    shown = (1, 5, 10, 20, 50)
    rows = [
        [pair_name(pair), *(mean_std(np.array([cell["jaccard"][k - 1] for cell in group]), 2) for k in shown)]
        for (pair,), group in grouped_by(cells, "pair").items()
    ]
    note = f"Mean over {QUERIES} queries; ± between draws of the queries."
    return [Table("Jaccard index of the k nearest neighbours", ["pair", *(f"k = {k}" for k in shown)], rows, note)]


def draw(cells: list[Cell]) -> Any:
    """Curves over k, a panel for each corpus; pairs with GloVe are dashed."""
    corpora = list(dict.fromkeys(pair[0] for pair in ordered(cells, "pair")))
    figure, axes = new_figure(1, len(corpora), 2.7 * len(corpora) + 0.6, 3.0)
    for panel, corpus in zip(axes[0], corpora, strict=True):
        for (pair,), group in grouped_by(cells, "pair").items():
            if pair[0] == corpus:
                y = np.mean([cell["jaccard"] for cell in group], axis=0)
                panel.plot(KS, y, ls="--" if "glove" in pair else "-", label=f"{pair[1]}–{pair[2]}")
        panel.set(title=corpus, xlabel="k", ylim=(0, 0.8))
        panel.legend(fontsize=6)
    axes[0, 0].set_ylabel("Jaccard index")
    return figure
