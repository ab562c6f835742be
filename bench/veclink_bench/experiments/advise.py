"""Change the model or not: what `veclink advise` says, beside what is true.

A holds a corpus by the old model, B a share of it by the new one; the two are linked from 30 seeds (pairs with GloVe,
which do not link, by their known pairs). The advice is given from the links alone, and with a random half of the
queries; the truth is NDCG@10 of the other half. What makes the old model the weaker one was chosen on the cells of
SciFact, by the links alone; no other number on any cell, and none on those of NFCorpus.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.data.summary import Summary
from veclink.geometry.signatures import unit_rows
from veclink.uses.advising import WAYS, Asked, Way, choice, compared, gains, ndcg, with_search
from veclink.uses.maps import DEFAULT_MAP
from veclink.uses.translating import paired_links
from veclink_bench.corpora import queries, vectors
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table
from veclink_bench.splits import draw_seeds

TITLE = "Change the model or not"
CORPORA = ("scifact", "nfcorpus")
MODELS = (("minilm", "mpnet"), ("mpnet", "minilm"), ("e5", "mpnet"), ("minilm", "e5"), ("mpnet", "e5"))
UNLIKE = (("glove", "mpnet"), ("glove", "minilm"), ("mpnet", "glove"))
SHARES = (0.3, 0.1)
SEEDS, WITHIN = 30, 0.01


def cells(setup: Setup) -> list[Settings]:
    """All corpora, pairs of models and shares; each is of one split."""
    return [
        {"method": "advise", "pair": [corpus, *models], "share": share}
        for share in SHARES
        for models in ((*UNLIKE, *MODELS) if setup.full else MODELS[:2])
        for corpus in setup.corpora or CORPORA
        if all((setup.data / corpus / f"{model}.npy").exists() for model in models)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """The advice, and NDCG@10 of each way for the queries that the advice did not see."""
    (corpus, *models), share, data = settings["pair"], settings["share"], setup.data
    old, new = (unit_rows(vectors(setup.data, corpus, model).astype(np.float32)) for model in models)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(old))[: round(share * len(old))])
    truth = np.column_stack([rows, np.arange(len(rows))])
    links = _links(old, new[rows], truth, draw_seeds(truth, SEEDS, rng), known="glove" in models)
    (by_a, answers), (by_b, _) = (queries(data, corpus, model) for model in models)
    graded = [{row: float(grade) for row, grade in each.items() if grade > 0} for each in answers]
    paired = paired_links(links, old, new[rows])
    found = dict(gains(paired, Asked(by_a, by_b, graded), DEFAULT_MAP, 0))
    native = ndcg(by_b, lambda start, stop: new[start:stop], len(new), graded)
    half = rng.permutation(len(by_a)) < len(by_a) // 2
    bare = tuple(Way(name, 1.0) for name in WAYS)
    seen = with_search(bare, {name: values[half] for name, values in found.items()})
    unseen = with_search(bare, {name: values[~half] for name, values in found.items()})
    true = {way.name: way.ndcg for way in unseen} | {"embed": round(float(np.nanmean(native[~half])), 4)}
    forecast = {way.name: [way.ndcg, way.error] for way in seen}
    kept, foretold = compared(paired, DEFAULT_MAP)
    alone = choice(tuple(Way(name, kept[name]) for name in WAYS), False, foretold)[0]
    return {"links": len(links), "foretold": asdict(foretold), "alone": alone, "seen": forecast, "unseen": true}


def _links(a: np.ndarray, b: np.ndarray, truth: np.ndarray, seeds: np.ndarray, known: bool) -> Links:
    if not known:
        return link(a, b, seeds=seeds, device="cpu")
    summary = Summary(method="span", n_a=len(a), n_b=len(b), n_links=len(truth))
    return Links(truth, np.ones(len(truth)), summary)


def named_with_queries(cell: Cell) -> str:
    """The way that the advice names, by what it saw."""
    return choice(tuple(Way(name, 1.0, *cell["seen"][name]) for name in WAYS), False)[0]


def tables(cells: list[Cell]) -> list[Table]:
    """Each cell: NDCG@10 of each way for the unseen queries, and how far the advice is from the best."""
    rows, good = [], dict[str, list[bool]]()
    for each in cells:
        true = each["unseen"]
        corpus, *models = each["pair"]
        told = {"from links alone": each["alone"], "with queries": named_with_queries(each)}
        behind = {what: max(true.values()) - true[way] for what, way in told.items()}
        for what, gap in behind.items():
            good.setdefault(f"{corpus}, {what}", []).append(gap <= WITHIN)
        values = [f"{100 * true[name]:.1f}" for name in WAYS]
        advised = [f"{way} ({100 * behind[what]:.1f})" for what, way in told.items()]
        rows.append([f"{corpus} {' → '.join(models)}, {each['share']:.0%}", *values, *advised])
    note = "\n".join(
        f"- {what}: the best way or within a point of it in {sum(right)} of {len(right)} cells"
        for what, right in good.items()
    )
    columns = ["cell", *WAYS, "from links alone (behind)", "with queries (behind)"]
    return [Table("NDCG@10 of each way, and the advice", columns, rows, note)]
