"""Change the model or not: what `veclink advise` says, beside what is true.

    veclink bench advise --data DIR [--seconds 600] [--table]

A holds a corpus by the old model, B a share of it by the new one; the two are linked from 30 seeds (pairs with GloVe,
which do not link, by their known pairs). The advice is given from the links alone, and with a random half of the
queries; the truth is NDCG@10 of the other half. `WEAKER` was chosen on the cells of SciFact, by the links alone; no
other constant on any cell, and none on those of NFCorpus.
Cells are kept in results/experiments/advise.json; those that this version of the code has measured are not run again.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.data.summary import Summary
from veclink.files.atomic import written_whole
from veclink.geometry.signatures import unit_rows
from veclink.uses.advising import WAYS, Way, choice, compared, gains, paired_links, with_search
from veclink.uses.maps import DEFAULT_MAP
from veclink.uses.searching import Asked, ndcg
from veclink_bench.arguments import resumable_parser
from veclink_bench.corpora import queries
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds
from veclink_bench.together import Cell
from veclink_bench.versions import version_of

OUTPUT = results_folder("experiments") / "advise.json"
CORPORA = ("scifact", "nfcorpus")
MODELS = (("minilm", "mpnet"), ("mpnet", "minilm"), ("e5", "mpnet"), ("minilm", "e5"), ("mpnet", "e5"))
UNLIKE = (("glove", "mpnet"), ("glove", "minilm"), ("mpnet", "glove"))
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
    paired = paired_links(old, new[rows], links)
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
    return {
        "corpus": corpus,
        "models": list(models),
        "share": share,
        "links": len(links),
        "foretold": asdict(foretold),
        "alone": alone,
        "seen": forecast,
        "unseen": true,
    }


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
    lines = ["| cell | keep | queries | documents | embed | from links alone (behind) | with queries (behind) |"]
    lines.append("|---|---|---|---|---|---|---|")
    good: dict[tuple[str, str], list[bool]] = {}
    for each in cells:
        true, named = each["unseen"], named_with_queries(each)
        behind = {
            "alone": max(true.values()) - true[each["alone"]],
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
    told = {"alone": "from links alone", "with queries": "with queries"}
    lines.append("")
    for (corpus, name), right in good.items():
        share = f"{sum(right)} of {len(right)} cells"
        lines.append(f"- {corpus}, {told[name]}: the best way or within a point of it in {share}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the cells that are missing, or print the table."""
    options = resumable_parser(__doc__, OUTPUT).parse_args()
    kept = json.loads(options.output.read_text())["cells"] if options.output.exists() else []
    if options.table:
        print(table(kept), end="")
        return
    ends = time.monotonic() + options.seconds
    version = version_of("advise")
    done = {_name(each) for each in kept if each.get("version") == version}
    for each in cells(options.data):
        if each.name not in done and time.monotonic() < ends:
            take({each.name: each.measure() | {"version": version}}, options.output)
            print(each.name, flush=True)


def cells(data: Path, trials: int = 1) -> list[Cell]:
    """All cells; each is of one split, whatever the trials of other studies."""
    every = []
    for share, models, corpus in product(SHARES, (*UNLIKE, *MODELS), CORPORA):
        about = {"corpus": corpus, "models": models, "share": share}
        if all((data / corpus / f"{model}.npy").exists() for model in models):
            every.append(Cell(_name(about), SHARES.index(share) + 1, partial(cell, data, corpus, models, share)))
    return every


def take(measured: dict[str, dict[str, Any]], output: Path = OUTPUT) -> None:
    """Put cells into the results, without those of other versions."""
    kept = json.loads(output.read_text())["cells"] if output.exists() else []
    version = version_of("advise")
    kept = [each for each in kept if each.get("version") == version and _name(each) not in measured]
    with written_whole(output) as temporary:
        temporary.write_text(json.dumps({"cells": [*kept, *measured.values()]}) + "\n")


def _name(about: dict[str, Any]) -> str:
    return f"{about['corpus']} {'–'.join(about['models'])} {about['share']:g}"
