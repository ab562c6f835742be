"""Counts and extremes that prose draws from the main table, the grid and the sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median

import numpy as np

from veclink_bench.experiments.seeding import PAIRS, SWEPT, SWEPT_MODELS
from veclink_bench.experiments.tables import Cell, grouped, values
from veclink_bench.experiments.trials import GEH_METHODS, LINKERS

CellsOf = Callable[[str], list[Cell]]
CONVERGED = 50.0  # F1: what fails ends far below, what does not above
MAPS = ("linear", "cca", "mlp", "rcsls", "procrustes")
FILMS = ["movies", "minilm", "e5"]


def means_of(cells: Iterable[Cell], *by: str, measure: str = "f1") -> dict[tuple, float]:
    """The mean of a measure in each group of cells."""
    return {place: float(values(group, measure).mean()) for place, group in grouped(cells, *by).items()}


def chosen(cells: Iterable[Cell], **wanted: object) -> list[Cell]:
    """The cells with these settings."""
    return [cell for cell in cells if all(cell.get(name) == value for name, value in wanted.items())]


def stable_settings(cells_of: CellsOf, setting: str) -> np.ndarray:
    """The values of one of GEH's settings at which its mean F1 is at least 97 % of the best, as the paper counts."""
    means = means_of(chosen(cells_of("sensitivity"), method="geh", variant=setting), "value")
    return np.array([value for (value,), mean in means.items() if mean >= 0.97 * max(means.values())])


def best_geh(of: dict[tuple, float]) -> dict[tuple, float]:
    """GEH at its best: the highest of its means (method, *place) at every place."""
    found: dict[tuple, float] = {}
    for (method, *place), mean in of.items():
        if method in GEH_METHODS:
            found[tuple(place)] = max(mean, found.get(tuple(place), mean))
    return found


def pairs_lost(cells_of: CellsOf) -> float:
    """Pairs of the main table on which another method has a higher mean than span."""
    of = means_of(cells_of("main"), "pair", "method")
    lost = {pair for (pair, _), mean in of.items() if mean > of[pair, "span"]}
    return len(lost)


def cells_lost(cells_of: CellsOf) -> float:
    """The same of the cells of the grid."""
    of = means_of(cells_of("grid"), "pair", "overlap", "seeds", "method")
    lost = {tuple(place) for (*place, _), mean in of.items() if mean > of[(*place, "span")]}
    return len(lost)


def pairs_converged(cells_of: CellsOf, method: str) -> float:
    """Pairs of the main table on which a method's mean F1 is above 50; NaN where it was not measured."""
    of = means_of(chosen(cells_of("main"), method=method), "pair").values()
    return sum(mean > CONVERGED for mean in of) if of else math.nan


def trials(cells_of: CellsOf, table: str, reduce: Callable[[Iterable[int]], int], *, of_rivals: bool) -> float:
    """The least or most trials that a cell of span and GEH has, or one of the rivals."""
    own = [cell for cell in cells_of(table) if (cell["method"] not in LINKERS) == of_rivals]
    return reduce(len(group) for group in grouped(own, "pair", "overlap", "seeds", "method").values())


def highest_map(ending: str) -> Callable[[CellsOf], float]:
    """The highest mean of any map from seeds on any pair; ending: " tuned", or nothing for the paper's settings."""
    names = [f"{name}{ending}" for name in MAPS]
    return lambda cells_of: max(
        mean for (method, _), mean in means_of(cells_of("main"), "method", "pair").items() if method in names
    )


def failed_films(cells_of: CellsOf) -> float:
    """Trials of span on the films that do not converge."""
    return int((values(chosen(cells_of("main"), pair=FILMS, method="span")) < CONVERGED).sum())


def best_rival_on_films(cells_of: CellsOf) -> float:
    """The highest mean of any other method there."""
    of = means_of(chosen(cells_of("main"), pair=FILMS), "method")
    return max(mean for (method,), mean in of.items() if method != "span")


def time_of_self_learning(cells_of: CellsOf) -> float:
    """Seconds of tuned self-learning in percent of span's, over the trials of the scalability table."""
    of = grouped(cells_of("scalability"), "method", "rows", "state")
    both = [place for method, *place in of if method == "span" and ("self-learning tuned", *place) in of]
    own, other = (
        sum(float(of[(method, *place)][0]["seconds"]) for place in both) for method in ("self-learning tuned", "span")
    )
    return 100 * own / other


def outside_span_gap(cells_of: CellsOf) -> float:
    """Points that span loses at most by anchors of another corpus, against seeds of the corpus itself."""
    of = means_of(chosen(cells_of("outside"), method="span", seeds=30), "target", "outside")
    return max(of[target, target] - mean for (target, _), mean in of.items())


def outside_failed(cells_of: CellsOf, method: str) -> float:
    """Cells of target and source in which a method's mean is below 50, from 30 anchors."""
    of = means_of(chosen(cells_of("outside"), method=method, seeds=30), "target", "outside")
    return sum(mean < CONVERGED for mean in of.values())


def seeding_change(cells_of: CellsOf, method: str) -> float:
    """What 15 seeds around one point change at worst, against those drawn at random, at α 0.3."""
    cells = chosen(cells_of("seeding"), method=method, overlap=0.3, seeds=15)
    of = means_of([cell for cell in cells if tuple(cell["pair"]) in PAIRS], "pair", "how")
    return min(of[pair, "nearest"] - mean for (pair, how), mean in of.items() if how == "uniform")


def seeding_gap(cells_of: CellsOf, method: str, reduce: Callable[[list[float]], float]) -> float:
    """Points of F1 between the best and the worst way to choose the seeds, over all configurations of the sweep."""
    swept = [cell for cell in chosen(cells_of("seeding"), method=method) if tuple(cell["pair"])[1:] == SWEPT_MODELS]
    gaps = []
    for group in grouped(swept, "pair", "overlap", "seeds").values():
        means = means_of(group, "how").values()
        gaps.append(max(means) - min(means))
    return reduce(gaps)


def moved(cells_of: CellsOf, method: str, reduce: Callable[[Iterable[float]], float]) -> float:
    """By how many points of F1 each setting of the sensitivity table moves a method: the least, or the most."""
    of = grouped(chosen(cells_of("sensitivity"), method=method), "variant").values()
    means = [list(means_of(group, "value").values()) for group in of]
    return reduce(max(each) - min(each) for each in means)


TABLE_FIGURES: dict[str, Callable[[CellsOf], float]] = {
    "pairs": lambda cells_of: len(grouped(cells_of("main"), "pair")),
    "pairs-lost": pairs_lost,
    "grid-cells": lambda cells_of: len(grouped(cells_of("grid"), "pair", "overlap", "seeds")),
    "grid-cells-lost": cells_lost,
    **{
        f"pairs-converged-{method.replace(' ', '-')}": partial(pairs_converged, method=method)
        for method in (*LINKERS, "self-learning tuned", "centroids")
    },
    **{
        f"trials-{table}-{name}-{kind}": partial(trials, table=table, reduce=reduce, of_rivals=kind == "rivals")
        for table in ("main", "grid")
        for name, reduce in (("least", min), ("most", max))
        for kind in ("ours", "rivals")
    },
    "maps-most": highest_map(""),
    "maps-tuned-most": highest_map(" tuned"),
    "films-failed": failed_films,
    "films-best-rival": best_rival_on_films,
    "time-of-self-learning": time_of_self_learning,
    "outside-span-gap": outside_span_gap,
    **{
        f"outside-failed-{method.replace(' ', '-')}": partial(outside_failed, method=method)
        for method in ("geh", "geh tuned", "self-learning tuned")
    },
    **{
        f"sensitivity-{method.replace(' ', '-')}-{name}": partial(moved, method=method, reduce=reduce)
        for method in ("span", "geh", "geh tuned")
        for name, reduce in (("least", min), ("most", max))
    },
    **{
        f"seeding-change-{method.replace(' ', '-')}": partial(seeding_change, method=method)
        for method in ("span", "geh", "geh tuned", "self-learning tuned")
    },
    **{
        f"seeding-gap-{method.replace(' ', '-')}-{name}": partial(seeding_gap, method=method, reduce=reduce)
        for method in SWEPT
        for name, reduce in (("median", median), ("most", max))
    },
}


def least_and_most(arrays: dict[str, Callable[[CellsOf], np.ndarray]]) -> dict[str, Callable[[CellsOf], float]]:
    """Two figures of each array: NAME-least and NAME-most."""

    def end(of: Callable[[CellsOf], np.ndarray], reduce: Callable[[np.ndarray], float]) -> Callable[[CellsOf], float]:
        return lambda cells_of: float(reduce(found)) if (found := of(cells_of)).size else math.nan

    least = {f"{name}-least": end(of, np.min) for name, of in arrays.items()}
    return least | {f"{name}-most": end(of, np.max) for name, of in arrays.items()}
