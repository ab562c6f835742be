"""Clusters of two collections at once: a neighbour graph of each, linked rows merged to one node, Leiden.

Beside links by span and GEH: the seeds alone, both collections in one space by zero-padding, and either model alone on
everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.corpora import labels as labels_of
from veclink.diagnostics import nearest_rows
from veclink.errors import needed
from veclink.experiments.figures import colour, new_figure
from veclink.experiments.setup import Settings, Setup
from veclink.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink.experiments.trials import Case, draw_case, links_of
from veclink.signatures import unit_rows

TITLE = "Clustering"
CORPORA = ("reddit", "stackexchange")
MODELS = ("minilm", "mpnet")
OVERLAPS, SEEDS, TRIALS = (0.15, 0.3), 20, 2
LINKS_BY = ("span", "geh", "true links", "seeds", "concat", "model A", "model B")
FEWEST_NEIGHBOURS, CONNECTED = 10, 0.95


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    corpora = setup.corpora or (CORPORA if setup.full else CORPORA[:1])
    return [
        {
            "pair": [corpus, *(setup.models or MODELS)[:2]],
            "overlap": overlap,
            "seeds": SEEDS,
            "links_by": by,
            "state": s,
        }
        for s in setup.states(TRIALS)
        for corpus in corpora
        for overlap in (OVERLAPS if setup.full else OVERLAPS[1:])
        for by in setup.using(LINKS_BY)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """V-measure, NMI, ARI and OAR (the share of shared objects whose two vectors are in one cluster), in percent."""
    metrics: Any = needed("sklearn.metrics", "Measuring clusters", "veclink[bench]")
    corpus = settings["pair"][0]
    labels = labels_of(setup.data, corpus)
    case = draw_case(setup, settings)
    of_a, of_b = labels[case.cut.rows_a], labels[case.cut.rows_b]
    wanted = len(np.unique(np.concatenate([of_a, of_b])))
    by = settings["links_by"]
    if by.startswith("model"):
        rows = np.union1d(case.cut.rows_a, case.cut.rows_b)
        vectors = setup.vectors(corpus, settings["pair"][1 if by == "model A" else 2])[rows]
        found = leiden(neighbour_edges(vectors), len(rows), wanted, settings["state"])
        return _agreement(metrics, labels[rows], found) | {"oar": None}
    both = np.concatenate([of_a, of_b])
    if by == "concat":
        nodes, size = np.arange(len(both)), len(both)
        edges = neighbour_edges(_padded(case))
    else:
        nodes, size = _merged_nodes(_pairs(setup, settings, case), len(of_a), len(of_b))
        edges = [(nodes[i], nodes[j], w) for i, j, w in neighbour_edges(case.a)]
        edges += [(nodes[len(of_a) + i], nodes[len(of_a) + j], w) for i, j, w in neighbour_edges(case.b)]
    found = leiden(edges, size, wanted, settings["state"])[nodes]
    truth = case.cut.truth
    together = float((found[truth[:, 0]] == found[len(of_a) + truth[:, 1]]).mean())
    return _agreement(metrics, both, found) | {"oar": 100 * together}


def neighbour_edges(vectors: np.ndarray) -> list[tuple[int, int, float]]:
    """Edges to the nearest neighbours by cosine, as few for each row as connect 95 % of the rows (10 at least)."""
    unit = unit_rows(np.array(vectors, np.float32))
    k = FEWEST_NEIGHBOURS
    while True:
        near = nearest_rows(unit, np.arange(len(unit)), min(k, len(unit) - 1))
        pairs = {(min(i, j), max(i, j)) for i, row in enumerate(near.tolist()) for j in row}
        if _largest(pairs, len(unit)) >= CONNECTED * len(unit) or k >= len(unit) - 1:
            return [(i, j, float(max(unit[i] @ unit[j], 1e-3))) for i, j in sorted(pairs)]
        k *= 2


def leiden(edges: list[tuple[int, int, float]], size: int, wanted: int, random_state: int) -> np.ndarray:
    """Clusters (size,) by Leiden, its resolution found by bisection so that there are about as many as wanted."""
    native: Any = needed("graspologic_native", "Clustering", "graspologic-native")
    named = [(str(i), str(j), weight) for i, j, weight in edges if i != j]
    low, high, best = 0.01, 100.0, np.zeros(size, np.int64)
    nearest = np.inf
    for _ in range(18):
        resolution = float(np.sqrt(low * high))
        _, part = native.leiden(named, resolution=resolution, use_modularity=True, seed=random_state + 1)
        count = len(set(part.values()))
        if abs(count - wanted) < nearest:
            nearest = abs(count - wanted)
            best = np.array([part.get(str(node), -1 - node) for node in range(size)])
        if count == wanted:
            break
        low, high = (resolution, high) if count < wanted else (low, resolution)
    return best


def tables(cells: list[Cell]) -> list[Table]:
    """All measures, for each corpus and overlap."""
    found = []
    for (pair, overlap), group in grouped(cells, "pair", "overlap").items():
        rows = [
            [by, *(mean_std(values(own, name)) for name in ("v", "nmi", "ari", "oar"))]
            for (by,), own in grouped(group, "links_by").items()
        ]
        heading = f"Clustering, {pair_name(pair)}, α = {overlap}, {SEEDS} seeds"
        found.append(Table(heading, ["links by", "V-measure", "NMI", "ARI", "OAR"], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """V-measure and OAR as bars."""
    places = list(grouped(cells, "pair", "overlap"))
    names = ordered(cells, "links_by")
    figure, axes = new_figure(len(places), 2, 7.4, 1.9 * len(places))
    for row, (pair, overlap) in enumerate(places):
        group = grouped([c for c in cells if (tuple(c["pair"]), c["overlap"]) == (pair, overlap)], "links_by")
        for panel, (measure, title) in zip(axes[row], (("v", "V-measure"), ("oar", "OAR")), strict=True):
            shown = [name for name in names if len(values(group.get((name,), []), measure))]
            means = [values(group[(name,)], measure).mean() for name in shown]
            panel.barh(shown[::-1], means[::-1], color=[colour(name, names) for name in shown[::-1]])
            panel.set(title=f"{title}, {pair_name(pair)}, α = {overlap}", xlim=(0, 101))
            panel.tick_params(labelsize=7)
    return figure


def _pairs(setup: Setup, settings: Settings, case: Case) -> np.ndarray:
    by = settings["links_by"]
    if by in ("span", "geh"):
        return links_of(setup, settings | {"method": by}, case).pairs
    return case.cut.truth if by == "true links" else case.start["seeds"]


def _merged_nodes(pairs: np.ndarray, n_a: int, n_b: int) -> tuple[np.ndarray, int]:
    """The node of every row of A, then of B; linked rows have the same one."""
    nodes = np.arange(n_a + n_b)
    nodes[n_a + pairs[:, 1]] = pairs[:, 0]
    _, dense = np.unique(nodes, return_inverse=True)
    return dense, int(dense.max()) + 1


def _padded(case: Case) -> np.ndarray:
    width = max(case.a.shape[1], case.b.shape[1])
    sides = [np.pad(np.asarray(x, np.float32), ((0, 0), (0, width - x.shape[1]))) for x in (case.a, case.b)]
    return np.concatenate(sides)


def _largest(pairs: set[tuple[int, int]], size: int) -> int:
    """Nodes in the largest connected component."""
    parent = list(range(size))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for i, j in pairs:
        parent[root(i)] = root(j)
    return int(np.bincount([root(node) for node in range(size)]).max())


def _agreement(metrics: Any, labels: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    return {
        "v": 100 * float(metrics.v_measure_score(labels, found)),
        "nmi": 100 * float(metrics.normalized_mutual_info_score(labels, found, average_method="max")),
        "ari": 100 * float(metrics.adjusted_rand_score(labels, found)),
        "clusters": len(set(found.tolist())),
    }
