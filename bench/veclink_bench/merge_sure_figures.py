"""What prose draws from `veclink bench merge-sure`: what wrong links hide at the default, and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from veclink.uses.merging import DEFAULT_SURE
from veclink_bench.experiments.merge_sure import CHOSEN_ON, CORPORA, MOST_HIDDEN, OVERLAPS
from veclink_bench.table_figures import CellsOf


def merge_sure_figures() -> dict[str, Callable[[CellsOf], float]]:
    """By corpus and overlap: percent of A hidden and expected, means over cells; how the rule of the choice is kept."""
    figures: dict[str, Callable[[CellsOf], float]] = {
        f"merge-{measure}-{corpus}-{overlap:g}": partial(_mean, measure, corpus, overlap)
        for measure, corpus, overlap in product(("hidden", "expected"), CORPORA, OVERLAPS)
    }
    figures["merge-cells-chosen-on"] = lambda cells_of: len(_hidden_where_chosen(cells_of))
    figures["merge-cells-over-the-rule"] = lambda cells_of: int((_hidden_where_chosen(cells_of) > MOST_HIDDEN).sum())
    figures["merge-most-hidden-where-chosen"] = lambda cells_of: float(_hidden_where_chosen(cells_of).max())
    return figures


def _hidden_where_chosen(cells_of: CellsOf) -> np.ndarray:
    return _at_default("hidden", CHOSEN_ON, OVERLAPS[0], cells_of)


def _mean(measure: str, corpus: str, overlap: float, cells_of: CellsOf) -> float:
    return float(_at_default(measure, corpus, overlap, cells_of).mean())


def _at_default(measure: str, corpus: str, overlap: float, cells_of: CellsOf) -> np.ndarray:
    """A measure in each cell of a corpus and overlap, merged by the default `sure`."""
    cells = [cell for cell in cells_of("merge_sure") if (cell["pair"][0], cell["overlap"]) == (corpus, overlap)]
    return np.array([cell["sure"][str(DEFAULT_SURE)][measure] for cell in cells])
