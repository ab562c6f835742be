"""What prose draws from `veclink bench merge-sure`: what wrong links hide at the default, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from veclink.uses.merging import DEFAULT_SURE
from veclink_bench.experiments.merge_sure import CHOSEN_ON, CORPORA, MOST_HIDDEN, OVERLAPS
from veclink_bench.places import results_folder


def merge_sure_figures() -> dict[str, Callable[[], float]]:
    """By corpus and overlap: percent of A hidden and expected, means over cells; how the rule of the choice is kept."""
    figures: dict[str, Callable[[], float]] = {
        f"merge-{measure}-{corpus}-{overlap:g}": partial(_mean, measure, corpus, overlap)
        for measure, corpus, overlap in product(("hidden", "expected"), CORPORA, OVERLAPS)
    }
    figures["merge-cells-chosen-on"] = lambda: len(_hidden_where_chosen())
    figures["merge-cells-over-the-rule"] = lambda: int((_hidden_where_chosen() > MOST_HIDDEN).sum())
    figures["merge-most-hidden-where-chosen"] = lambda: float(_hidden_where_chosen().max())
    return figures


def _hidden_where_chosen() -> np.ndarray:
    return _at_default("hidden", CHOSEN_ON, OVERLAPS[0])


def _mean(measure: str, corpus: str, overlap: float) -> float:
    return float(_at_default(measure, corpus, overlap).mean())


def _at_default(measure: str, corpus: str, overlap: float) -> np.ndarray:
    """A measure in each cell of a corpus and overlap, merged by the default `sure`."""
    cells = [cell for cell in _cells() if (cell["pair"][0], cell["overlap"]) == (corpus, overlap)]
    return np.array([cell["sure"][str(DEFAULT_SURE)][measure] for cell in cells])


@cache
def _cells() -> list[dict[str, Any]]:
    file = results_folder("experiments") / "merge_sure.json"
    return list(json.loads(file.read_text(encoding="utf-8"))["cells"].values())
