"""Clusters of two collections at once: `veclink.cluster` with the links of span and GEH, and what to compare it with.

Beside links: the true ones, the seeds alone, both collections in one graph (vectors filled up with zeros), and either
model alone on the whole corpus. As many clusters are looked for as there are labels. "span wide" are span's links at
an expected precision of 60 %: a missed link parts two vectors of one object, a wrong one joins neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.errors import needed
from veclink.geometry.clouds import prepare
from veclink.uses.clustering import cluster, graph_of, leiden_into, neighbour_edges
from veclink_bench.corpora import labels as labels_of
from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import (
    Cell,
    Table,
    common_trials,
    grouped,
    mean_std,
    ordered,
    pair_name,
    trials_note,
    values,
)
from veclink_bench.experiments.trials import GEH_METHODS, LINKERS, Case, draw_case, links_or_seeds

TITLE = "Clustering"
CORPORA = ("reddit", "stackexchange")
PAIRS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
OVERLAPS, SHOWN_AT = (0.05, 0.1, 0.2, 0.3, 0.4), 0.3
LINKS_BY = ("span", *GEH_METHODS, "true links", "seeds", "concat", "one model")
SHOWN = ("span", "span wide", *LINKS_BY[1:-1])
SEEDS, TRIALS = 20, 3
# The paper's table has both numbers of seeds at two overlaps.
MORE_SEEDS, MORE_AT = 30, (0.2, 0.3)
SEEDED = ("span", *GEH_METHODS, "seeds")
WIDE = 0.6
MEASURES = {"v": "V-measure", "oar": "OAR", "nmi": "NMI", "ari": "ARI"}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first; "one model" is not cut, and the same for all pairs and overlaps."""
    corpora = setup.corpora or (CORPORA if setup.full else CORPORA[:1])
    pairs = [setup.models[:2]] if setup.models else PAIRS if setup.full else PAIRS[:1]
    models = dict.fromkeys(model for pair in pairs for model in pair)
    wanted: list[Settings] = []
    for state in setup.states(TRIALS):
        for corpus in corpora:
            for by in setup.using(LINKS_BY):
                if by == "one model":
                    wanted += [{"pair": [corpus, model], "links_by": by, "state": state} for model in models]
                    continue
                wanted += [
                    {"pair": [corpus, *pair], "overlap": overlap, "seeds": seeds, "links_by": by, "state": state}
                    for pair in pairs
                    for overlap, seeds in _cuts(setup, by)
                ]
    return wanted


def _cuts(setup: Setup, by: str) -> list[tuple[float, int]]:
    """Overlaps and numbers of seeds; what uses no seeds is the same with more of them."""
    if not setup.full:
        return [(SHOWN_AT, SEEDS)]
    more = [(overlap, MORE_SEEDS) for overlap in MORE_AT] if by in SEEDED else []
    return [(overlap, SEEDS) for overlap in OVERLAPS] + more


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """V-measure, NMI, ARI and OAR (the share of shared objects whose two vectors are in one cluster), in percent.

    A cell of span has the same of its wide links as `wide`.
    """
    corpus, *models = settings["pair"]
    by, state = settings["links_by"], settings["state"]
    if by == "one model":
        vectors = setup.vectors(corpus, models[0])
        labels = labels_of(setup.data, corpus)[: len(vectors)]
        return _agreement(labels, one_graph(vectors, len(np.unique(labels)), state))
    case = draw_case(setup, settings)
    labels = labels_of(setup.data, corpus)[np.concatenate([case.cut.rows_a, case.cut.rows_b])]
    wanted, truth = len(np.unique(labels)), case.cut.truth

    def measured(of_a: np.ndarray, of_b: np.ndarray) -> dict[str, Any]:
        together = float((of_a[truth[:, 0]] == of_b[truth[:, 1]]).mean())
        return _agreement(labels, np.concatenate([of_a, of_b])) | {"oar": 100 * together}

    def joined_by(pairs: Links | np.ndarray) -> dict[str, Any]:
        found = cluster(case.a, case.b, pairs, clusters=wanted, device=setup.device, random_state=state)
        told = measured(found.labels_a, found.labels_b)
        if isinstance(pairs, Links):
            told |= {"links": len(pairs), "f1": 100 * score(pairs.pairs, truth).f1}
        return told

    if by == "concat":
        found = one_graph(_filled_up(case), wanted, state)
        return measured(found[: len(case.a)], found[len(case.a) :])
    pairs = _pairs(setup, settings, case)
    told = joined_by(pairs)
    if by == "span":
        told["wide"] = joined_by(pairs.at(precision=WIDE)) if isinstance(pairs, Links) else dict(told)
    return told


def one_graph(vectors: np.ndarray, wanted: int, random_state: int) -> np.ndarray:
    """The clusters of one set of vectors, found in the same way as `cluster` finds those of two."""
    edges = neighbour_edges(prepare(Collection.from_array(vectors)), None)
    return leiden_into(graph_of(edges.n, edges.source, edges.target, edges.weight), wanted, random_state)[0]


def tables(cells: list[Cell]) -> list[Table]:
    """All measures at α = 0.3, then V-measure and OAR by overlap, then with 30 seeds instead of 20."""
    every = _cut(cells)
    cut = [cell for cell in every if cell["seeds"] == SEEDS]
    at = [cell for cell in cut if cell["overlap"] == SHOWN_AT]
    pairs, present = ordered(cut, "pair"), [by for by in SHOWN if by in ordered(cut, "links_by")]
    found = []
    for measure, name in MEASURES.items():
        of = grouped(at, "pair", "links_by")
        alone = ["model A alone", "model B alone", "mean of both"] if measure != "oar" else []
        rows = [
            [pair_name(pair), *(mean_std(values(of.get((pair, by), []), measure)) for by in present)]
            + [text for text in _alone(cells, pair, measure) if alone]
            for pair in pairs
        ]
        heading = f"{name}, α = {SHOWN_AT}, {SEEDS} seeds"
        found.append(Table(heading, ["pair", *present, *alone], rows, trials_note(at)))
    cut = common_trials(cut, "overlap", "pair", "links_by")
    overlaps = sorted(ordered(cut, "overlap"))
    of = grouped(cut, "pair", "links_by", "overlap")
    for measure in ("v", "oar"):
        rows = [
            [f"{pair_name(pair)}, {by}", *(mean_std(values(of.get((pair, by, o), []), measure)) for o in overlaps)]
            for pair in pairs
            for by in present
            if any((pair, by, overlap) in of for overlap in overlaps)
        ]
        heading = f"{MEASURES[measure]} by overlap, {SEEDS} seeds"
        found.append(Table(heading, ["", *(f"α {o}" for o in overlaps)], rows, trials_note(cut)))
    return [*found, _by_seeds(every)]


def _by_seeds(cells: list[Cell]) -> Table:
    """V-measure and OAR with 20 and with 30 seeds."""
    of = grouped(cells, "links_by", "pair", "overlap", "seeds")
    places = [(overlap, seeds) for overlap in MORE_AT for seeds in (SEEDS, MORE_SEEDS)]
    seeded = ("span", "span wide", *SEEDED[1:])
    rows = [
        [f"{pair_name(pair)}, {by}"] + [_both(of.get((by, pair, *place), [])) for place in places]
        for pair in ordered(cells, "pair")
        for by in seeded
        if any((by, pair, overlap, MORE_SEEDS) in of for overlap in MORE_AT)
    ]
    heads = ["", *(f"α {overlap}, {seeds} seeds" for overlap, seeds in places)]
    shown = [cell for cell in cells if cell["links_by"] in seeded and cell["overlap"] in MORE_AT]
    return Table("V-measure (OAR) by seeds", heads, rows, trials_note(shown))


def _both(cells: list[Cell]) -> str:
    if not cells:
        return "–"
    return f"{values(cells, 'v').mean():.1f} ({values(cells, 'oar').mean():.0f})"


def draw(cells: list[Cell]) -> Any:
    """V-measure and OAR over the overlap; dashed: the mean of the two models alone."""
    cut = common_trials(_cut(cells), "overlap", "pair", "links_by")
    cut = [cell for cell in cut if cell["seeds"] == SEEDS]
    pairs, names = ordered(cut, "pair"), [by for by in SHOWN if by in ordered(cut, "links_by")]
    figure, axes = new_figure(2, len(pairs), 1.2 + 2.2 * len(pairs), 5.2)
    for column, pair in enumerate(pairs):
        for row, measure in enumerate(("v", "oar")):
            panel = axes[row, column]
            for by in names:
                own = [cell for cell in cut if tuple(cell["pair"]) == pair and cell["links_by"] == by]
                style = "--" if by == "true links" else "-"
                curve(panel, own, "overlap", label=by, measure=measure, color=colour(by, names), ls=style)
            means = [values(each, "v").mean() for each in _of_models(cells, pair) if each]
            if measure == "v" and means:
                panel.axhline(float(np.mean(means)), color="0.3", ls="--", lw=1, label="mean of both models alone")
            panel.set(title=pair_name(pair), xlabel="overlap α", ylabel=MEASURES[measure])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7)
    return figure


def _cut(cells: list[Cell]) -> list[Cell]:
    """The cells of cut corpora, those of wide links apart."""
    cut = [cell for cell in cells if "overlap" in cell]
    return cut + [cell | cell["wide"] | {"links_by": "span wide"} for cell in cut if "wide" in cell]


def _of_models(cells: list[Cell], pair: Any) -> list[list[Cell]]:
    """The trials of A's model alone, and of B's."""
    return [
        [cell for cell in cells if cell["links_by"] == "one model" and tuple(cell["pair"]) == (pair[0], model)]
        for model in pair[1:]
    ]


def _alone(cells: list[Cell], pair: Any, measure: str) -> list[str]:
    numbers = [values(each, measure) for each in _of_models(cells, pair)]
    mean = np.mean([each.mean() for each in numbers]) if all(len(each) for each in numbers) else None
    return [*map(mean_std, numbers), "–" if mean is None else f"{mean:.1f}"]


def _pairs(setup: Setup, settings: Settings, case: Case) -> Links | np.ndarray:
    by = settings["links_by"]
    if by in LINKERS:
        return links_or_seeds(setup, settings, case)
    return case.cut.truth if by == "true links" else case.start["seeds"]


def _filled_up(case: Case) -> np.ndarray:
    """Both sides under each other, the narrower one filled up with zeros."""
    width = max(case.a.shape[1], case.b.shape[1])
    sides = [np.pad(np.asarray(x, np.float32), ((0, 0), (0, width - x.shape[1]))) for x in (case.a, case.b)]
    return np.concatenate(sides)


def _agreement(labels: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    metrics: Any = needed("sklearn.metrics", "Measuring clusters", "veclink[bench]")
    return {
        "v": 100 * float(metrics.v_measure_score(labels, found)),
        "nmi": 100 * float(metrics.normalized_mutual_info_score(labels, found, average_method="max")),
        "ari": 100 * float(metrics.adjusted_rand_score(labels, found)),
        "clusters": len(set(found.tolist())),
    }
