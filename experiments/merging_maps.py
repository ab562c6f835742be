"""Search in merged collections, as the paper measures it: results/merging_maps.json.

    pip install 'veclink[bench]'
    python experiments/merging_maps.py --data DIR [--links KEPT] [--only scifact …] [--states 3]

A corpus is cut into A (model 1) and B (model 2) whose overlap holds no answer to any query; 30 seeds; the links are
used to merge A into B's space, and B's queries are asked of the result. Recall@100 and NDCG@100, in percent, of:
links (ours), truth (the same map from the true pairs), seeds (the map from the seeds alone), random (as many random
pairs), union (nothing translated; vectors cut or filled up with zeros), and the ceilings: everything in one model.

A merged row that two different documents share (a wrong link) takes two of the hundred places, and so do two rows of
one document (a missed link).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from corpora import Corpus, Results, arguments, linked, read_corpus, split_without
from ir_measures import R, nDCG

from veclink.evaluation import Split, score
from veclink.maps import KINDS
from veclink.merging import Merged, merge
from veclink.signatures import unit_rows
from veclink.translating import Translator

DEPTH = 100
MODELS = ("minilm", "mpnet", "e5")
PAIRS = (("minilm", "mpnet"), ("mpnet", "e5"))
OVERLAPS = (0.3, 0.05, 0.1, 0.15, 0.2, 0.4)
CORPORA = ("scifact", "nfcorpus")
N_SEEDS = 30


def trial(corpus: Corpus, models: tuple[str, str], overlap: float, state: int, kept: Path | None, name: str) -> Any:
    """All systems on one cut."""
    cut = split_without(corpus.is_answer(), overlap, np.random.default_rng(state))
    a, b = corpus.documents[models[0]][cut.rows_a], corpus.documents[models[1]][cut.rows_b]
    links, seeds = linked(a, b, cut, N_SEEDS, state, kept, name)
    found = score(links.pairs, cut.truth)
    rng = np.random.default_rng([state, 7])
    chance = np.column_stack([rng.permutation(len(side))[: len(links)] for side in (a, b)])
    systems: dict[str, Any] = {}
    for kind in KINDS if overlap == 0.3 else ("la2m", "blend"):
        for source, pairs in (("links", links), ("truth", cut.truth)):
            checked = overlap == 0.3 and source == "links" and state == 0
            translator = Translator.fit(pairs, a, b, kind=kind, check=checked)
            systems[f"{source} {kind}"] = measured(corpus, models, cut, merge(a, b, pairs, translator=translator))
            if translator.quality is not None:
                systems[f"{source} {kind}"]["estimated_neighbours"] = translator.quality.neighbours
            if source == "links" and kind == "blend":
                for sure in (0.0, 0.9):
                    merged = merge(a, b, pairs, translator=translator, sure=sure)
                    systems[f"links blend sure={sure}"] = measured(corpus, models, cut, merged)
    for source, pairs in (("seeds", seeds), ("random", chance)):
        translator = Translator.fit(pairs, a, b, kind="blend", check=False)
        systems[f"{source} blend"] = measured(corpus, models, cut, merge(a, b, pairs, translator=translator))
    systems["union"] = measured(corpus, models, cut, merge(a, b, cut.truth, union_only=True))
    for side, model in zip(("a", "b"), models, strict=True):
        every = np.arange(len(corpus))[:, None]
        systems[f"ceiling {side}"] = ranked(corpus, corpus.queries[model], corpus.documents[model], every)
    return {
        "links": len(links),
        "precision": round(found.precision, 4),
        "recall": round(found.recall, 4),
        "verdict": links.summary.verdict,
        "systems": systems,
    }


def measured(corpus: Corpus, models: tuple[str, str], cut: Split, merged: Merged) -> dict[str, float]:
    """The measures of a merged collection, asked with B's queries."""
    vectors = np.concatenate([batch.vectors for batch in merged.batches(payload=False)]).astype(np.float32)
    rows = merged.rows
    partner = np.where(rows.partner < 0, -1, cut.rows_a[rows.partner])
    shared = np.column_stack([cut.rows_b, np.where(partner == cut.rows_b, -1, partner)])
    alone = np.column_stack([cut.rows_a[rows.alone], np.full(len(rows.alone), -1)])
    queries = corpus.queries[models[1]]
    if queries.shape[1] < vectors.shape[1]:
        queries = np.pad(queries, ((0, 0), (0, vectors.shape[1] - queries.shape[1])))
    return ranked(corpus, queries, vectors, np.concatenate([shared, alone]))


def ranked(corpus: Corpus, queries: np.ndarray, vectors: np.ndarray, documents: np.ndarray) -> dict[str, float]:
    """Recall and NDCG at 100 by cosine. documents: (rows, 1 or 2), those that a row stands for, −1 for none."""
    similarity = unit_rows(queries.copy()) @ unit_rows(vectors.copy()).T
    wanted = {str(q): {str(d): grade for d, grade in found.items()} for q, found in corpus.answers.items()}
    run: dict[str, dict[str, float]] = {}
    for query in corpus.answers:
        order = np.argsort(-similarity[query], kind="stable")[:DEPTH]
        slots = documents[order].ravel()
        listed: dict[str, float] = {}
        for place, document in enumerate(slots[slots >= 0][:DEPTH].tolist()):
            listed.setdefault(str(document), float(-place))
        run[str(query)] = listed
    found = ir_measures.calc_aggregate([R @ DEPTH, nDCG @ DEPTH], wanted, run)
    return {"recall": round(100 * found[R @ DEPTH], 2), "ndcg": round(100 * found[nDCG @ DEPTH], 2)}


def main() -> None:
    """Run the trials that are not in the results yet."""
    given = arguments(__doc__, "merging_maps.json")
    results = Results(given.out, given.again)
    for corpus_name in CORPORA:
        corpus = read_corpus(given.data / corpus_name, MODELS)
        for overlap in OVERLAPS:
            for state in range(given.states):
                for models in PAIRS:
                    name = f"{corpus_name}-{'-'.join(models)}-{overlap}-{state}"
                    if name in results or (given.only and not any(each in name for each in given.only)):
                        continue
                    results.add(name, trial(corpus, models, overlap, state, given.links, name))
                    systems = results.trials[name]["systems"]
                    print(name, {k: (v["recall"], v["ndcg"]) for k, v in systems.items()}, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
