"""What prose draws from the merging table: maps against LA2M, span's links against the true ones and against GEH's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from veclink_bench.experiments.merging import ALL_MAPS_AT, MEASURES, OVERLAPS, PAPERS_MAP, by_map
from veclink_bench.experiments.tables import Cell
from veclink_bench.table_figures import CellsOf, best_geh, chosen, least_and_most, means_of

CORPORA = ("scifact", "nfcorpus")
SIBLINGS = ("minilm", "mpnet")


def _at_all_maps(cells_of: CellsOf, links_by: str) -> list[Cell]:
    return chosen(by_map(cells_of("merging")), overlap=ALL_MAPS_AT, links_by=links_by)


def gains_of(kind: str, cells_of: CellsOf) -> dict[tuple[str, ...], float]:
    """Points of NDCG that a map has over LA2M with span's links, by pair."""
    of = means_of(_at_all_maps(cells_of, "span"), "pair", "map", measure="ndcg")
    return {pair: mean - of[pair, PAPERS_MAP] for (pair, name), mean in of.items() if name == kind}


def shares_of_true(corpus: str, cells_of: CellsOf) -> np.ndarray:
    """Span's links in percent of the true ones: every pair of a corpus, map and measure."""
    found = []
    for measure in MEASURES:
        ours, true = (
            means_of(_at_all_maps(cells_of, by), "pair", "map", measure=measure) for by in ("span", "true links")
        )
        found += [100 * mean / true[place] for place, mean in ours.items() if place[0][0] == corpus]
    return np.array(found)


def leads_over_geh(cells_of: CellsOf, **wanted: object) -> np.ndarray:
    """Points of NDCG by which span's links lead those of GEH at its best, by LA2M: every pair and overlap."""
    cells = chosen(by_map(cells_of("merging")), map=PAPERS_MAP, **wanted)
    of = means_of(cells, "links_by", "pair", "overlap", measure="ndcg")
    geh = best_geh(of)
    return np.array([mean - geh[tuple(place)] for (by, *place), mean in of.items() if by == "span"])


def geh_is_ahead_where_least_is_shared_only(cells_of: CellsOf) -> bool:
    """At every overlap but the smallest, merging by span's links is better than by those of GEH, on every pair."""
    return all(leads_over_geh(cells_of, overlap=overlap).min() > 0 for overlap in OVERLAPS[1:])


def blend_beats_la2m(cells_of: CellsOf) -> bool:
    """By NDCG with span's links, on every pair."""
    return min(gains_of("blend", cells_of).values()) > 0


def ridge_and_procrustes_only_suit_siblings(cells_of: CellsOf) -> bool:
    """They are better than LA2M on minilm→mpnet and worse on the others."""
    return all(
        (gain > 0) == (pair[1:] == SIBLINGS)
        for kind in ("ridge", "procrustes")
        for pair, gain in gains_of(kind, cells_of).items()
    )


def blend_over_la2m(measure: str, cells_of: CellsOf) -> np.ndarray:
    """Points by which the blend leads LA2M with span's links, at every pair and overlap."""
    of = means_of(chosen(by_map(cells_of("merging")), links_by="span"), "map", "pair", "overlap", measure=measure)
    return np.array([mean - of[("la2m", *place)] for (kind, *place), mean in of.items() if kind == "blend"])


def _blend_gains(corpus: str, cells_of: CellsOf) -> np.ndarray:
    return np.array([gain for pair, gain in gains_of("blend", cells_of).items() if pair[0] == corpus])


_OF_CORPUS = (("share", shares_of_true), ("blend-gain", _blend_gains))
_ARRAYS: dict[str, Callable[[CellsOf], np.ndarray]] = {
    f"merging-{name}-{corpus}": partial(of, corpus) for name, of in _OF_CORPUS for corpus in CORPORA
}
MERGING_FIGURES: dict[str, Callable[[CellsOf], float]] = {
    **least_and_most(_ARRAYS),
    "la2m-ahead": lambda cells_of: float((blend_over_la2m("recall", cells_of) < 0).sum()),
    "la2m-places": lambda cells_of: float(len(blend_over_la2m("recall", cells_of))),
    "merging-places": lambda cells_of: float(len(leads_over_geh(cells_of))),
    "merging-geh-ahead": lambda cells_of: float((leads_over_geh(cells_of) < 0).sum()),
    "merging-geh-ahead-most": lambda cells_of: float(-leads_over_geh(cells_of).min()),
    "merging-geh-behind-most": lambda cells_of: float(leads_over_geh(cells_of).max()),
}
MERGING_CLAIMS = (blend_beats_la2m, ridge_and_procrustes_only_suit_siblings, geh_is_ahead_where_least_is_shared_only)
