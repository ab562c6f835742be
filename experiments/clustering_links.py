"""Clusters across two collections, as the paper measures them: results/clustering_links.json.

    pip install 'veclink[bench,cluster]'
    python experiments/clustering_links.py --data DIR [--links KEPT] [--only reddit …] [--states 5]

A corpus with labels is cut into A (model 1) and B (model 2) that overlap; 20 seeds. V-measure, NMI and ARI of the
clusters of all vectors against the labels, and OAR, the share of overlapping objects whose two vectors are in one
cluster, in percent, of: links (ours), truth (all true pairs), seeds (the seeds alone), concat (the vectors filled up
with zeros to one dimension and put in one graph), and each model alone on the whole corpus. Resolutions are found by
bisection for as many clusters as there are labels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from corpora import Results, arguments, linked, read_labelled
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score

from veclink import cluster
from veclink.cloud import prepare
from veclink.collection import Collection
from veclink.evaluation import score, split
from veclink.graphs import graph_of, leiden_into, neighbour_edges

MODELS = ("minilm", "mpnet", "e5")
PAIRS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
OVERLAPS = (0.3, 0.05, 0.1, 0.2, 0.4)
CORPORA = ("reddit", "stackexchange")
N_SEEDS = 20


def trial(
    vectors: dict[str, np.ndarray],
    truth: np.ndarray,
    models: tuple[str, str],
    overlap: float,
    state: int,
    kept: Path | None,
    name: str,
) -> dict[str, Any]:
    """All systems on one cut."""
    cut = split(len(truth), overlap, np.random.default_rng(state))
    a, b = vectors[models[0]][cut.rows_a], vectors[models[1]][cut.rows_b]
    links, seeds = linked(a, b, cut, N_SEEDS, state, kept, name)
    found = score(links.pairs, cut.truth)
    wanted, labels = int(truth.max()) + 1, np.concatenate([truth[cut.rows_a], truth[cut.rows_b]])
    systems = {}
    for source, pairs in (("links", links), ("truth", cut.truth), ("seeds", seeds)):
        clusters = cluster(a, b, pairs, clusters=wanted, device="cpu", random_state=state)
        systems[source] = measured(labels, clusters.labels_a, clusters.labels_b, cut.truth)
    wide = max(a.shape[1], b.shape[1])
    stacked = np.concatenate([np.pad(side, ((0, 0), (0, wide - side.shape[1]))) for side in (a, b)])
    together = alone(stacked, wanted, state)
    systems["concat"] = measured(labels, together[: len(a)], together[len(a) :], cut.truth)
    return {
        "links": len(links),
        "precision": round(found.precision, 4),
        "recall": round(found.recall, 4),
        "verdict": links.summary.verdict,
        "systems": systems,
    }


def alone(vectors: np.ndarray, wanted: int, state: int) -> np.ndarray:
    """The clusters of one set of vectors, found in the same way as those of two."""
    edges = neighbour_edges(prepare(Collection.from_array(vectors)), None)
    return leiden_into(graph_of(edges.n, edges.source, edges.target, edges.weight), wanted, state)[0]


def measured(
    labels: np.ndarray, found_a: np.ndarray, found_b: np.ndarray | None = None, truth: np.ndarray | None = None
) -> dict[str, float]:
    """The measures in percent."""
    found = found_a if found_b is None else np.concatenate([found_a, found_b])
    values = {
        "v": v_measure_score(labels, found),
        "nmi": normalized_mutual_info_score(labels, found),
        "ari": adjusted_rand_score(labels, found),
    }
    if found_b is not None and truth is not None:
        values["oar"] = np.mean(found_a[truth[:, 0]] == found_b[truth[:, 1]])
    return {name: round(100 * float(value), 2) for name, value in values.items()} | {"clusters": int(found.max()) + 1}


def main() -> None:
    """Run the trials that are not in the results yet."""
    given = arguments(__doc__, "clustering_links.json")
    results = Results(given.out, given.again)
    for corpus in CORPORA:
        vectors, truth = read_labelled(given.data / corpus, MODELS)
        for state in range(given.states):
            for model in MODELS:
                name = f"{corpus}-{model}-alone-{state}"
                if name not in results and (not given.only or any(each in name for each in given.only)):
                    labels = alone(vectors[model], int(truth.max()) + 1, state)
                    results.add(name, {"systems": {"alone": measured(truth, labels)}})
        for overlap in OVERLAPS:
            for state in range(given.states if overlap == 0.3 else min(given.states, 2)):
                for models in PAIRS:
                    name = f"{corpus}-{'-'.join(models)}-{overlap}-{state}"
                    if name in results or (given.only and not any(each in name for each in given.only)):
                        continue
                    results.add(name, trial(vectors, truth, models, overlap, state, given.links, name))
                    systems = results.trials[name]["systems"]
                    shown = {k: (v["v"], v["oar"]) for k, v in systems.items()}
                    print(name, shown, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
