"""What prose draws from the clustering table: span's links, and its wide ones, against models alone and other links."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from veclink_bench.experiments.clustering import SEEDS, SHOWN_AT
from veclink_bench.experiments.tables import Cell
from veclink_bench.table_figures import CellsOf, best_geh, chosen, least_and_most, means_of

A_FIFTH = 0.2


def _cut(cells_of: CellsOf, links_by: str, **wanted: object) -> list[Cell]:
    """The cells of one kind of links; "span wide" are those of span with the figures of its wide links."""
    if links_by != "span wide":
        return chosen(cells_of("clustering"), links_by=links_by, **wanted)
    return [cell | cell["wide"] for cell in chosen(cells_of("clustering"), links_by="span", **wanted)]


def _at(cells_of: CellsOf, links_by: str) -> list[Cell]:
    return _cut(cells_of, links_by, overlap=SHOWN_AT, seeds=SEEDS)


def gaps_to_models(cells_of: CellsOf, links_by: str = "span") -> np.ndarray:
    """V-measure with links less the mean of both models alone, of every pair."""
    alone = means_of(_cut(cells_of, "one model"), "pair", measure="v")
    linked = means_of(_at(cells_of, links_by), "pair", measure="v")
    return np.array([mean - (alone[((c, a),)] + alone[((c, b),)]) / 2 for ((c, a, b),), mean in linked.items()])


def gaps_to_others(cells_of: CellsOf) -> np.ndarray:
    """V-measure with span's links, and its wide ones, less that of concat and of seeds alone, of every pair."""
    ours, theirs = (
        [means_of(_at(cells_of, by), "pair", measure="v") for by in names]
        for names in (("span", "span wide"), ("concat", "seeds"))
    )
    return np.array([own[pair] - other[pair] for own in ours for other in theirs for pair in own])


def leads_over_geh(cells_of: CellsOf, **wanted: object) -> np.ndarray:
    """V-measure with span's links less that with GEH's at its best, of every pair, overlap and number of seeds."""
    of = means_of(chosen(cells_of("clustering"), **wanted), "links_by", "pair", "overlap", "seeds", measure="v")
    geh = best_geh(of)
    return np.array([mean - geh[tuple(place)] for (by, *place), mean in of.items() if by == "span"])


def wide_oars(cells_of: CellsOf) -> np.ndarray:
    """OAR with the wide links, of every pair."""
    return np.array(list(means_of(_at(cells_of, "span wide"), "pair", measure="oar").values()))


def clusters_within_a_point(cells_of: CellsOf) -> bool:
    """V-measure with span's links against the mean of both models alone, of every pair at α = 0.3 with 20 seeds."""
    return bool((gaps_to_models(cells_of) >= -1).all())


def wide_links_make_better_clusters(cells_of: CellsOf) -> bool:
    """Of every pair: by V-measure where a fifth to three tenths are shared, by OAR wherever more is shared too."""
    for measure, most in (("v", SHOWN_AT), ("oar", 1.0)):
        own, wide = (
            means_of(_cut(cells_of, by, seeds=SEEDS), "pair", "overlap", measure=measure)
            for by in ("span", "span wide")
        )
        if any(wide[place] < mean for place, mean in own.items() if A_FIFTH <= place[1] <= most):
            return False
    return True


_ARRAYS: dict[str, Callable[[CellsOf], np.ndarray]] = {
    "clusters-gap": gaps_to_models,
    "clusters-gap-wide": lambda cells_of: gaps_to_models(cells_of, "span wide"),
    "clusters-lead": gaps_to_others,
    "clusters-lead-geh-tuned": partial(leads_over_geh, overlap=SHOWN_AT, seeds=SEEDS),
    "clusters-oar-wide": wide_oars,
}
CLUSTERING_FIGURES = least_and_most(_ARRAYS)
CLUSTERING_CLAIMS = (clusters_within_a_point, wide_links_make_better_clusters)
