"""Change the model or not: what `veclink advise` says, beside what is true.

    veclink bench advise --data DIR [--seconds 600] [--table]

A holds a corpus by the old model, B a share of it by the new one; the two are linked from 30 seeds (pairs with GloVe,
which do not link, by their known pairs). The advice is given from the links alone, and with a random half of the
queries; the truth is NDCG@10 of the other half. No constant was chosen on these cells.
Cells are kept in results/experiments/advise.json; those that are there are not run again.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.data.summary import Summary
from veclink.files.atomic import written_whole
from veclink.geometry.signatures import unit_rows
from veclink.uses.advising import WAYS, Way, choice, gains, paired_links, with_search
from veclink.uses.maps import DEFAULT_MAP
from veclink.uses.searching import Asked, ndcg
from veclink_bench.arguments import resumable_parser
from veclink_bench.corpora import queries
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds

OUTPUT = results_folder("experiments") / "advise.json"
CORPORA = ("scifact", "nfcorpus")
MODELS = (("minilm", "mpnet"), ("mpnet", "minilm"), ("e5", "mpnet"), ("minilm", "e5"), ("mpnet", "e5"))
UNLIKE = (("glove", "mpnet"), ("glove", "minilm"))
SHARES = (0.3, 0.1)
SEEDS, WITHIN = 30, 0.01


def cell(data: Path, corpus: str, models: tuple[str, str], share: float) -> dict[str, Any]:
    """One corpus, pair and share: the advice, and NDCG@10 of each way for the queries that the advice did not see."""
    old, new = (unit_rows(np.load(data / corpus / f"{model}.npy").astype(np.float32)) for model in models)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(old))[: round(share * len(old))])
    truth = np.column_stack([rows, np.arange(len(rows))])
    links = _links(old, new[rows], truth, draw_seeds(truth, SEEDS, rng), known="glove" in models)
    (by_a, answers), (by_b, _) = (queries(data, corpus, model) for model in models)
    graded = [{row: float(grade) for row, grade in each.items() if grade > 0} for each in answers]
    found = dict(gains(paired_links(old, new[rows], links), Asked(by_a, by_b, graded), DEFAULT_MAP, 0))
    native = ndcg(by_b, lambda start, stop: new[start:stop], len(new), graded)
    half = rng.permutation(len(by_a)) < len(by_a) // 2
    bare = tuple(Way(name, 1.0) for name in WAYS)
    seen = with_search(bare, {name: values[half] for name, values in found.items()})
    unseen = with_search(bare, {name: values[~half] for name, values in found.items()})
    true = {way.name: way.ndcg for way in unseen} | {"embed": round(float(np.nanmean(native[~half])), 4)}
    forecast = {way.name: [way.ndcg, way.error] for way in seen}
    return {"links": len(links), "alone": choice(bare, False)[0], "seen": forecast, "unseen": true}


def _links(a: np.ndarray, b: np.ndarray, truth: np.ndarray, seeds: np.ndarray, known: bool) -> Links:
    if not known:
        return link(a, b, seeds=seeds, device="cpu")
    summary = Summary(method="span", n_a=len(a), n_b=len(b), n_links=len(truth))
    return Links(truth, np.ones(len(truth)), summary)


def named_with_queries(cell: dict[str, Any]) -> str:
    """The way that the advice names, by what it saw."""
    return choice(tuple(Way(name, 1.0, *cell["seen"][name]) for name in WAYS), False)[0]


def table(cells: list[dict[str, Any]]) -> str:
    """Each cell: NDCG@10 of each way for the unseen queries, and how far the advice is from the best."""
    lines = ["| cell | keep | queries | documents | embed | links alone (behind) | with queries (behind) |"]
    lines.append("|---|---|---|---|---|---|---|")
    good: dict[tuple[str, str], list[bool]] = {}
    for each in cells:
        true, named = each["unseen"], named_with_queries(each)
        cheap = {name: value for name, value in true.items() if name != "embed"}
        behind = {
            "alone": max(cheap.values()) - cheap[each["alone"]],
            "with queries": max(true.values()) - true[named],
        }
        for name, gap in behind.items():
            good.setdefault((each["corpus"], name), []).append(gap <= WITHIN)
        values = " | ".join(f"{100 * true[name]:.1f}" for name in WAYS)
        name = f"{each['corpus']} {each['models'][0]} → {each['models'][1]}, {each['share']:.0%}"
        lines.append(
            f"| {name} | {values} | {each['alone']} ({100 * behind['alone']:.1f}) | "
            f"{named} ({100 * behind['with queries']:.1f}) |"
        )
    for (corpus, name), right in good.items():
        lines.append(f"\n{corpus}, {name}: best or within 1 point in {sum(right)} of {len(right)}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the cells that are missing, or print the table."""
    options = resumable_parser(__doc__, OUTPUT).parse_args()
    cells = json.loads(options.output.read_text())["cells"] if options.output.exists() else []
    if options.table:
        print(table(cells), end="")
        return
    ends = time.monotonic() + options.seconds
    done = {(each["corpus"], *each["models"], each["share"]) for each in cells}
    for share, models, corpus in (*product(SHARES, UNLIKE, CORPORA), *product(SHARES, MODELS, CORPORA)):
        if (corpus, *models, share) in done or time.monotonic() > ends:
            continue
        about = {"corpus": corpus, "models": models, "share": share}
        cells.append({**about, **cell(options.data, corpus, models, share)})
        with written_whole(options.output) as temporary:
            temporary.write_text(json.dumps({"cells": cells}) + "\n")
        print(about, flush=True)
