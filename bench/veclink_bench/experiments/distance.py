"""Precision and mean confidence of links by their distance to the nearest seed, in 30 bins with as many links each."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.diagnostics import by_anchor_distance
from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, pair_name, trials_note
from veclink_bench.experiments.trials import LINKERS, draw_case, links_of

TITLE = "Distance to the nearest seed"
PAIR = ("scifact", "minilm", "mpnet")
TRIALS, BINS = 3, 30


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    pair = setup.one_pair(PAIR if setup.full else ("nfcorpus", *PAIR[1:]))
    return [
        {"pair": pair, "overlap": 0.3, "seeds": 15, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for method in setup.using(LINKERS)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """The bins of one trial; the seeds themselves are left out."""
    case = draw_case(setup, settings)
    links = links_of(setup, settings, case)
    width = len(case.b)
    right = np.isin(links.pairs @ [width, 1], case.cut.truth @ [width, 1])
    new = ~np.asarray(links.evidence["given"], bool)
    anchors = case.a[case.start["seeds"][:, 0]]
    return by_anchor_distance(
        case.a[links.pairs[new, 0]], anchors, right[new], links.probability[new], BINS if setup.full else 10
    )


def tables(cells: list[Cell]) -> list[Table]:
    """The nearest and the furthest third of the links, and how far confidence is from precision."""
    rows = []
    for (method,), group in grouped(cells, "method").items():
        bins = np.array([[c["precision"], c["confidence"]] for c in group if len(c["distance"]) > 2])
        if not len(bins):
            continue
        third = max(1, bins.shape[2] // 3)
        near, far = bins[:, :, :third].mean(axis=(0, 2)), bins[:, :, -third:].mean(axis=(0, 2))
        gap = np.abs(bins[:, 0] - bins[:, 1]).mean()
        rows.append([method, *(f"{100 * x:.1f}" for x in (near[0], near[1], far[0], far[1], gap))])
    heads = ["method", "precision, nearest third", "confidence", "precision, furthest third", "confidence", "mean gap"]
    heading = f"By distance to the nearest seed, {pair_name(cells[0]['pair'])}" if cells else TITLE
    return [Table(heading, heads, rows, trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """Precision and confidence over the distance."""
    methods = [method for (method,) in grouped(cells, "method")]
    figure, axes = new_figure(1, len(methods), 3.6 * len(methods), 3.0)
    for panel, method in zip(axes[0], methods, strict=True):
        group = [cell for cell in cells if cell["method"] == method]
        for number, cell in enumerate(group):
            labels = ("precision", "mean confidence") if number == 0 else (None, None)
            panel.plot(cell["distance"], cell["precision"], color=colour(method), lw=1.2, label=labels[0])
            panel.plot(cell["distance"], cell["confidence"], color="0.5", lw=1.0, ls="--", label=labels[1])
        panel.set(title=method, xlabel="distance to the nearest seed", ylim=(0, 1.02))
        panel.legend(fontsize=7)
    return figure
