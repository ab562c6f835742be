"""Do two spaces keep the same distances? Correlation by distance, for contrastive encoders, fewer dimensions, GloVe."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.diagnostics import distance_consistency
from veclink_bench.experiments.figures import new_figure
from veclink_bench.experiments.setup import MODELS, Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, pair_name

TITLE = "Distance consistency"
PANELS = ("contrastive pairs", "dimensions of the target", "clustering sets", "not contrastive")
DIMENSIONS = (16, 32, 64, 128, 256, 768)
BINS = 20


def cells(setup: Setup) -> list[Settings]:
    """One curve each; nothing is drawn at random but the rows of a large corpus."""
    corpus = setup.corpora[0] if setup.corpora else "scifact" if setup.full else "nfcorpus"
    models = setup.models or MODELS
    found = [("contrastive pairs", [corpus, a, b], 0) for i, a in enumerate(models) for b in models[i + 1 :]]
    sizes = DIMENSIONS if setup.full else DIMENSIONS[::3]
    found += [("dimensions of the target", [corpus, *models[:2]], size) for size in sizes]
    if not setup.corpora and not setup.models:
        found += [
            ("clustering sets", [c, "minilm", m], 0) for c in ("reddit", "stackexchange") for m in ("mpnet", "e5")
        ]
        others = ("minilm", "mpnet", "e5") if setup.full else ("minilm",)
        found += [("not contrastive", [corpus, model, "glove"], 0) for model in others]
    return [{"panel": panel, "pair": pair, "dimensions": size} for panel, pair, size in found]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """The curve of one pair; `dimensions`: the target on so many principal axes (0: as it is)."""
    corpus, *models = settings["pair"]
    left, right = (np.asarray(setup.vectors(corpus, model), np.float32) for model in models)
    if settings["dimensions"] and settings["dimensions"] < right.shape[1]:
        centred = right - right.mean(axis=0)
        axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)[1][:, ::-1][:, : settings["dimensions"]]
        right = right @ axes.astype(np.float32)
    found = distance_consistency(left, right, bins=BINS)
    ranked = distance_consistency(left, right, bins=BINS, quantiles=True)
    return {
        "distance": ((found.edges[1:] + found.edges[:-1]) / 2).tolist(),
        "pairs": found.pairs.tolist(),
        "within": _plain(found.within),
        "up_to": _plain(found.up_to),
        "scale": _plain(found.scale),
        "nearest": _plain(ranked.within)[0],
        "all": _plain(ranked.up_to)[-1],
    }


def tables(cells: list[Cell]) -> list[Table]:
    """Correlation over the nearest pairs, in the middle, and over all."""
    rows = []
    for cell in cells:
        size = f", {cell['dimensions']} dimensions" if cell["dimensions"] else ""
        rows.append([f"{pair_name(cell['pair'])}{size}", _number(cell["nearest"]), _number(cell["all"])])
    heads = ["pair", "nearest 5 % of the pairs", "all pairs"]
    note = "Pearson's correlation of the cosine distances in the two spaces; all pairs of at most 4,000 objects."
    return [Table("Distance consistency", heads, rows, note), _scales(cells)]


def _scales(cells: list[Cell]) -> Table:
    """κ of the theorem by distance: how the lengths in the two spaces compare, were it one number for all."""
    rows = []
    for cell in cells:
        if cell["dimensions"]:
            continue
        # Cosine distances are half the squares of lengths; the bins without pairs are none.
        known = [1 / np.sqrt(scale) for scale in cell["scale"] if scale]
        quarters = [known[round(part * (len(known) - 1))] for part in (0, 0.25, 0.5, 0.75, 1)]
        rows.append([pair_name(cell["pair"]), *(f"{each:.2f}" for each in quarters)])
    heads = ["pair", "nearest bin", "a quarter of the way", "half", "three quarters", "furthest bin"]
    return Table("κ, the scale of lengths in the first space against the second, by distance", heads, rows)


def draw(cells: list[Cell]) -> Any:
    """Correlation within bins of distance, a panel for each kind."""
    figure, axes = new_figure(2, 2, 7.6, 5.4)
    groups = grouped(cells, "panel")
    for panel, name in zip(axes.flat, PANELS, strict=True):
        for cell in groups.get((name,), []):
            label = f"{cell['dimensions']}" if cell["dimensions"] else pair_name(cell["pair"])
            y = [np.nan if value is None else value for value in cell["within"]]
            panel.plot(cell["distance"], y, marker="o", ms=2.5, lw=1, label=label)
        panel.set(title=name, xlabel="cosine distance in the first space", ylabel="correlation within the bin")
        panel.set_ylim(-0.2, 1)
        if (name,) in groups:
            panel.legend(fontsize=6)
    return figure


def _plain(numbers: np.ndarray) -> list[float | None]:
    return [None if np.isnan(number) else float(number) for number in numbers]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
