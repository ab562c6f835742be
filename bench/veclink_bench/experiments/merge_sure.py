"""Which links may make two rows one, and by which map the rest is translated: search in merged collections.

A corpus is split in two that share α of it, linked from 30 seeds, and merged with each `sure` and map; all queries of
B's model are asked. A document counts as found by a row of its own only: one that a wrong link hides is lost. Both
defaults were chosen on the cells of SciFact of α = 0.3 (the least `sure` that hides at most `MOST_HIDDEN` percent of A
in each cell, and the map with the best NDCG); those of NFCorpus chose nothing. 0.95 was chosen on the first of these
cells. When all ten were measured it missed the rule in one, with 0.505 %, and was kept.

What was tried for the map and brought nothing on SciFact: with true links, the blend with other gains and strengths,
its mean with la2m, and a kernel ridge of its held-out residuals; with links of a run, the residuals of the nearest
links. On NFCorpus from minilm to mpnet, a blend of all documents still lacks what minilm itself does not find.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from veclink import link
from veclink.uses.maps import DEFAULT_MAP, KINDS
from veclink.uses.merging import DEFAULT_SURE, Merged, merge
from veclink.uses.translating import Translator
from veclink_bench.corpora import queries, vectors
from veclink_bench.experiments.retrieval import searched
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table
from veclink_bench.splits import Split, draw_seeds, split

TITLE = "Which links may make two rows one"
TRIALS = 2
CORPORA = ("scifact", "nfcorpus")
CHOSEN_ON = "scifact"
MODELS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"), ("e5", "mpnet"), ("mpnet", "minilm"))
OVERLAPS = (0.3, 0.15)
SURE = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
MAPS_AT = 0.9  # the `sure` that maps are compared at
MOST_HIDDEN = 0.5  # percent of A, in each cell that `sure` was chosen on
SEEDS = 30


def cells(setup: Setup) -> list[Settings]:
    """All splits; queries are many, and a split is ten merges. Those of α = 0.3 come first."""
    return [
        {"method": "merge-sure", "pair": [corpus, *models], "overlap": overlap, "state": state}
        for overlap in OVERLAPS
        for state in setup.states(TRIALS)
        for models in (MODELS if setup.full else MODELS[:1])
        for corpus in setup.corpora or (CORPORA if setup.full else CORPORA[1:])
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One split: what is hidden and what is found, by `sure` with the default map and by map."""
    (corpus, *models), overlap, state = settings["pair"], settings["overlap"], settings["state"]
    data = setup.data
    left, right = (vectors(setup.data, corpus, model).astype(np.float32) for model in models)
    rng = np.random.default_rng(state)
    cut = split(len(left), overlap, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    links = link(a, b, seeds=draw_seeds(cut.truth, SEEDS, rng), device="cpu", random_state=state)
    asked, answers = queries(data, corpus, models[1])
    graded = [{row: grade for row, grade in each.items() if grade > 0} for each in answers]
    native = searched(asked, right, np.arange(len(right))[:, None], graded)

    def measured(kind: str, sure: float) -> dict[str, float]:
        merged = merge(a, b, links, translator=translators[kind], sure=sure)
        vectors = np.concatenate([batch.vectors for batch in merged.batches(payload=False)])
        documents = np.concatenate([cut.rows_b, cut.rows_a[merged.alone]])[:, None]
        found = searched(asked, vectors, documents, graded)
        return {**hidden(merged, cut.rows_a, cut.rows_b), **found}

    translators = {kind: Translator.fit(links, a, b, map=kind, check=False) for kind in KINDS}
    joined = merge(a, b, links, translator=translators[DEFAULT_MAP], sure=DEFAULT_SURE).alone
    by_truth = Translator.fit(cut.truth, a, b, check=False)
    moved = {"run": translators[DEFAULT_MAP].transform(a), "true": by_truth.transform(a)}
    lost = {
        name: searched(
            asked, np.concatenate([b, moved[by][rows]]), np.concatenate([cut.rows_b, cut.rows_a[rows]])[:, None], graded
        )
        for name, (by, rows) in kept_of_a(cut, joined).items()
    }
    return {
        "links": len(links),
        "rows_a": len(a),
        "native": native,
        "sure": {str(sure): measured(DEFAULT_MAP, sure) for sure in SURE},
        "maps": {kind: measured(kind, MAPS_AT) for kind in KINDS},
        "lost": lost,
        "old": searched(queries(data, corpus, models[0])[0], left, np.arange(len(left))[:, None], graded),
    }


def kept_of_a(cut: Split, joined: np.ndarray) -> dict[str, tuple[str, np.ndarray]]:
    """Merges from which more and more of what is lost is taken away: whose map, and which rows of A stand there.

    joined: (m,) rows of A that the default leaves standing, of which some are copies of rows of B.
    """
    is_in_b = np.isin(cut.rows_a, cut.rows_b)
    return {
        "as merged": ("run", joined),
        "without copies": ("run", joined[~is_in_b[joined]]),
        "and nothing hidden": ("run", np.flatnonzero(~is_in_b)),
        "and the map of true links": ("true", np.flatnonzero(~is_in_b)),
    }


def hidden(merged: Merged, rows_a: np.ndarray, rows_b: np.ndarray) -> dict[str, float]:
    """Documents of A that no row of the merged collection stands for, in percent of A; what was expected; copies."""
    documents = np.concatenate([rows_b, rows_a[merged.alone]])
    lost = np.setdiff1d(rows_a, documents)
    return {
        "hidden": 100 * len(lost) / len(rows_a),
        "expected": 100 * (merged.summary.hidden or 0.0) / len(rows_a),
        "copies": len(documents) - len(np.unique(documents)),
    }


def tables(cells: list[Cell]) -> list[Table]:
    """By `sure` and by map: documents hidden, and search in percent of all documents in B's model; what is lost."""
    losses = [_losses(cells, corpus) for corpus in CORPORA]
    return [_choices(cells, "sure", "`--probability`"), _choices(cells, "maps", f"`--map`, at probability {MAPS_AT:g}"),
            *(each for each in losses if each.rows)]  # fmt: skip


def _choices(cells: list[Cell], what: str, choices: str) -> Table:
    measures = ("hidden, % of A (expected)", "copies", "Recall@100, % of native", "NDCG@100, % of native")
    rows = []
    for corpus, overlap in product(CORPORA, OVERLAPS):
        mine = [each for each in cells if (each["pair"][0], each["overlap"]) == (corpus, overlap)]
        for choice in mine[0][what] if mine else ():
            found = [each[what][choice] for each in mine]
            mean = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
            shares = [f"{_share(found, mine, measure):.1f}" for measure in ("recall", "ndcg")]
            hidden = f"{mean['hidden']:.2f} ({mean['expected']:.2f})"
            rows.append([f"{corpus} α {overlap}: {choice}", str(len(mine)), hidden, f"{mean['copies']:.0f}", *shares])
    return Table(f"By {choices}", [choices, "cells", *measures], rows)


def _losses(cells: list[Cell], corpus: str) -> Table:
    """Recall@100 without copies, without wrong links, and with the map of true links; and the old model."""
    mine = [each for each in cells if (each["pair"][0], each["overlap"]) == (corpus, OVERLAPS[0])]
    steps = [*mine[0]["lost"]] if mine else []
    rows = []
    for models in MODELS:
        of_pair = [each for each in mine if tuple(each["pair"][1:]) == models]
        if of_pair:
            found = [[each["lost"][step] for each in of_pair] for step in steps]
            found.append([each["old"] for each in of_pair])
            rows.append([" → ".join(models), *(f"{_share(each, of_pair, 'recall'):.1f}" for each in found)])
    about = f"{corpus} α {OVERLAPS[0]:g}: Recall@100, % of native"
    return Table(f"What is lost, {corpus}", [about, *steps, "the old model itself"], rows)


def _share(found: list[dict[str, float]], cells: list[Cell], measure: str) -> float:
    """The mean of a measure in percent of that of all documents in B's model."""
    shares = [row[measure] / each["native"][measure] for row, each in zip(found, cells, strict=True)]
    return 100 * float(np.mean(shares))
