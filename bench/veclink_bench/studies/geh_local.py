"""GEH's local path on real vectors: how many neighbours of each anchor to look at (k_NN), and how large a view is.

    veclink bench geh-local --data DIR [--output bench/results/experiments/geh_local.json] [--seconds 280]

DIR holds one folder for each corpus with MODEL.npy files, row i of each being one object (scifact and nfcorpus,
minilm–mpnet, α = 0.3, 15 seeds). The corpora are far below 500,000 rows: the local path is forced. Every trial redraws
the split and the seeds. Trials that are in the output file already are kept, and none is begun after --seconds: run it
again to go on. `looked_at` is the share of the larger cloud that the seeds' neighbourhoods hold at the start.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.scores import score
from veclink.linkers.linking import link
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds, split

CORPORA = ("nfcorpus", "scifact")
MODELS = ("minilm", "mpnet")
OVERLAP, SEEDS, ITERATIONS = 0.3, 15, 14
STATES = (0, 1)
# (path, neighbours, links for each cluster); studies/geh.py has the global path
SETTINGS = (
    ("local", 10, 128),
    ("local", 25, 128),
    ("local", 50, 128),
    ("local", 100, 128),
    ("local", 200, 128),
    ("local", 100, 64),
)


def measure(data: Path, corpus: str, path: str, neighbours: int, anchors: int, state: int) -> dict[str, Any]:
    """One trial."""
    left, right = (np.load(data / corpus / f"{model}.npy") for model in MODELS)
    rng = np.random.default_rng(state)
    cut = split(len(left), OVERLAP, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    seeds = draw_seeds(cut.truth, SEEDS, rng)
    options: dict[str, Any] = {"path": path, "max_iterations": ITERATIONS, "random_state": state}
    if path == "local":
        options |= {"neighbours": neighbours, "links_per_view": anchors}
    links = link(a, b, seeds=seeds, method="geh", device="cpu", **options)
    scores = score(links.pairs, cut.truth)
    return {
        "corpus": corpus,
        "path": path,
        "neighbours": neighbours,
        "anchors": anchors,
        "state": state,
        "rows": [len(a), len(b)],
        "looked_at": round(min(1.0, SEEDS * neighbours / max(len(a), len(b))), 3) if path == "local" else 1.0,
        "precision": round(100 * scores.precision, 1),
        "recall": round(100 * scores.recall, 1),
        "f1": round(100 * scores.f1, 1),
        "growth": [size for size, _ in links.trace["growth"]],
        "verdict": links.summary.verdict,
        "seconds": round(links.summary.seconds or 0.0, 1),
    }


def main() -> None:
    """Measure what the output file lacks and write it after every trial."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--seconds", type=float, default=280.0, help="begin no trial after this time")
    arguments.add_argument("--output", type=Path, default=results_folder("experiments") / "geh_local.json")
    options = arguments.parse_args()
    began = time.monotonic()
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    done = {(row["corpus"], row["path"], row["neighbours"], row["anchors"], row["state"]) for row in rows}
    wanted = [(corpus, *setting, state) for corpus in CORPORA for state in STATES for setting in SETTINGS]
    for trial in wanted:
        if trial in done:
            continue
        if time.monotonic() - began > options.seconds:
            print("Time is up; run it again to go on.")
            break
        row = measure(options.data, *trial)
        rows.append(row)
        rows.sort(key=lambda r: wanted.index((r["corpus"], r["path"], r["neighbours"], r["anchors"], r["state"])))
        setting = {"models": MODELS, "overlap": OVERLAP, "seeds": SEEDS, "iterations": ITERATIONS, "states": STATES}
        options.output.with_suffix(".part").write_text(json.dumps({"setting": setting, "rows": rows}, indent=1) + "\n")
        os.replace(options.output.with_suffix(".part"), options.output)
        print({name: value for name, value in row.items() if name != "growth"}, flush=True)
