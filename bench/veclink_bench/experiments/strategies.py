"""View strategy × encoding over the overlap, α from .15 to .45; GEH at its best and span beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, method_grid, ordered, pair_name, trials_note
from veclink_bench.experiments.trials import run_trial

TITLE = "View strategy × encoding"
PAIR = ("nfcorpus", "minilm", "mpnet")
OVERLAPS = tuple(np.round(np.arange(0.15, 0.451, 0.05), 2).tolist())
TRIALS = 3
GEH = {
    f"geh {choice} {encoding}": {"view_choice": choice, "encoding": encoding}
    for choice in ("fps", "random")
    for encoding in ("kernel", "raw")
}
TUNED = ("geh tuned", "geh local", "geh local tuned")
SPAN: dict[str, dict[str, Any]] = {
    "span kernel": {"signature": "kernel", "fallbacks": False},
    "span": {"fallbacks": False},
}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    overlaps = OVERLAPS if setup.full else OVERLAPS[::3]
    return [
        {"pair": setup.one_pair(PAIR), "overlap": overlap, "seeds": 15, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for overlap in overlaps
        for method in setup.using((*GEH, *TUNED, *SPAN))
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    name = settings["method"]
    if name in GEH:
        return run_trial(setup, settings | {"method": "geh", "options": GEH[name]})
    if name in TUNED:
        return run_trial(setup, settings)
    return run_trial(setup, settings | {"method": "span", "options": SPAN[name]})


def tables(cells: list[Cell]) -> list[Table]:
    """F1 by overlap."""
    heading = f"F1 by overlap, {pair_name(cells[0]['pair'])}, 15 seeds" if cells else "F1 by overlap"
    return [method_grid(heading, cells, "method", "overlap", note=trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """A curve for each combination."""
    figure, axes = new_figure(width=6.4, height=3.6)
    methods = ordered(cells, "method")
    for method in methods:
        own = [cell for cell in cells if cell["method"] == method]
        style = "--" if "raw" in method or method == "span kernel" else "-"
        curve(axes[0, 0], own, "overlap", label=method, linestyle=style, color=_shade(method))
    axes[0, 0].set(xlabel="overlap α", ylabel="F1", ylim=(0, 101))
    axes[0, 0].legend(fontsize=7)
    return figure


def _shade(method: str) -> str:
    if method in TUNED:
        return colour(method)
    if "span" in method:
        return colour("span")
    return colour("geh" if "fps" in method else "random")
