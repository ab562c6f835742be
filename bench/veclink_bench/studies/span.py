"""The figures of the span linker on real vectors: every cell is one trial, kept in results/experiments/span.json.

    veclink bench span --data DIR [--only NAME …] [--part I/N] [--again]

DIR holds a folder per corpus with MODEL.npy in each, row i of every model being the same object. Cells that are already
in the file are not run again; `--part 0/2` and `--part 1/2` share the work between two processes. A trial marked
`earlier` was run before the two counts of wrong links were weighed by their errors (`confidence.RATE_ERROR`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.data.scores import score
from veclink.files.atomic import written_whole
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import Split, draw_anchors, draw_seeds, split

RESULTS = results_folder("experiments")
MODELS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
PAIRS = [(corpus, *models) for corpus in ("scifact", "nfcorpus") for models in MODELS]
OTHERS = [(corpus, *models) for corpus in ("papers", "reddit", "stackexchange") for models in MODELS]
STATES = range(5)


def cells() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every trial, as (experiment, settings)."""
    for overlap in (0.3, 0.15, 0.05, 0.5):
        for pair in PAIRS:
            for state in STATES:
                yield "main", {"pair": pair, "overlap": overlap, "seeds": 15, "state": state}
    for pair in PAIRS:
        for state in STATES:
            yield "seeds8", {"pair": pair, "overlap": 0.3, "seeds": 8, "state": state}
            yield "none", {"pair": pair, "overlap": 0.3, "seeds": 0, "state": state}
            yield "wrong", {"pair": pair, "overlap": 0.3, "seeds": 30, "state": state, "wrong": 15}
            yield "clean", {"pair": pair, "overlap": 0.3, "seeds": 30, "state": state}
    for state in STATES:
        for seeds in (30, 15):
            pair = ("movies", "minilm", "e5")
            yield f"movies{seeds}", {"pair": pair, "overlap": 1 / 3, "seeds": seeds, "state": state}
    for outside in ("nfcorpus", "reddit", "papers"):
        for models in MODELS:
            for state in STATES:
                yield "outside", {
                    "pair": ("scifact", *models), "overlap": 0.3, "seeds": 30, "state": state, "outside": outside,
                }  # fmt: skip
    for state in range(5):
        for kind in ("no overlap", "no overlap, anchors", "random", "noise"):
            yield "nothing", {"pair": PAIRS[state], "overlap": 0.0, "seeds": 0, "state": state, "kind": kind}
    for pair in PAIRS:
        for state in STATES:
            yield "seeds5", {"pair": pair, "overlap": 0.3, "seeds": 5, "state": state}
    for pair in PAIRS:
        for state in STATES:
            yield "none15", {"pair": pair, "overlap": 0.15, "seeds": 0, "state": state}
    for overlap in (0.3, 0.15):
        for pair in OTHERS:
            for state in range(2):
                yield "others", {"pair": pair, "overlap": overlap, "seeds": 15, "state": state}


def run(data: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """One trial: what was found, what the links say of themselves, and what is true."""
    corpus, model_a, model_b = settings["pair"]
    left, right = (np.load(data / corpus / f"{model}.npy") for model in (model_a, model_b))
    rng = np.random.default_rng(settings["state"])
    cut = split(len(left), settings["overlap"], rng) if settings["overlap"] else _apart(len(left), rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    start, wrong = _start(data, settings, cut, rng)
    kind = settings.get("kind", "")
    if kind in ("noise", "random"):
        b = rng.standard_normal(b.shape).astype(np.float32)
    if kind == "random":
        a = rng.standard_normal(a.shape).astype(np.float32)
    began = time.perf_counter()
    links = link(a, b, random_state=settings["state"], **start)
    return measured(links, cut, wrong) | {"seconds": round(time.perf_counter() - began, 1)}


def measured(links: Links, cut: Split, wrong: np.ndarray) -> dict[str, Any]:
    """Scores of the links and of those at 95 % precision, beside their own estimates."""
    sure = links.at(precision=0.95)
    named = {tuple(pair) for pair in links.summary.wrong_seeds}
    return {
        **{name: round(value, 4) for name, value in asdict(score(links.pairs, cut.truth)).items()},
        "links": len(links),
        "verdict": links.summary.verdict,
        "calibration": links.summary.calibration,
        "estimated_precision": links.summary.precision,
        "estimated_overlap": links.summary.overlap,
        "overlap": len(cut.truth),
        "precision_at_95": score(sure.pairs, cut.truth).precision if len(sure) else None,
        "links_at_95": len(sure),
        "wrong_named": len(named & {tuple(pair) for pair in wrong.tolist()}),
        "right_named": len(named - {tuple(pair) for pair in wrong.tolist()}),
        "started": links.summary.reasons[0],
    }


def _start(
    data: Path, settings: dict[str, Any], cut: Split, rng: np.random.Generator
) -> tuple[dict[str, Any], np.ndarray]:
    """What `link` starts from, and the wrong ones among the given pairs."""
    none = np.empty((0, 2), np.int64)
    outside = settings.get("outside") or ("nfcorpus" if "anchors" in settings.get("kind", "") else None)
    if outside is not None:
        outside = "scifact" if outside == settings["pair"][0] else outside
        left, right = (np.load(data / outside / f"{model}.npy") for model in settings["pair"][1:])
        return {"anchors": draw_anchors(left, right, settings["seeds"] or 30, rng)}, none
    if not settings["seeds"]:
        return {}, none
    seeds = draw_seeds(cut.truth, settings["seeds"], rng)
    count = settings.get("wrong", 0)
    if count:
        seeds[:count, 1] = np.roll(seeds[:count, 1], 1)
    return {"seeds": seeds}, seeds[:count]


def _apart(n: int, rng: np.random.Generator) -> Split:
    """A corpus cut into two halves that share nothing."""
    order = rng.permutation(n)
    return Split(order[: n // 2], order[n // 2 :], np.empty((0, 2), np.int64))


def main() -> None:
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--only", nargs="*")
    arguments.add_argument("--part", default="0/1")
    arguments.add_argument("--again", action="store_true")
    args = arguments.parse_args()
    part, parts = map(int, args.part.split("/"))
    file = RESULTS / ("span.json" if parts == 1 else f"span.{part}.json")
    done = {} if args.again or not file.exists() else json.loads(file.read_text())
    before = json.loads((RESULTS / "span.json").read_text()) if (RESULTS / "span.json").exists() else {}
    for place, (name, settings) in enumerate(cells()):
        key = f"{name} " + " ".join(f"{k}={'-'.join(v) if k == 'pair' else v}" for k, v in settings.items())
        if place % parts != part or (args.only and name not in args.only) or key in done:
            continue
        if not args.again and key in before:
            continue
        done[key] = run(args.data, settings)
        print(key, {k: v for k, v in done[key].items() if k != "started"}, flush=True)
        with written_whole(file) as temporary:
            temporary.write_text(json.dumps(done, indent=1))
