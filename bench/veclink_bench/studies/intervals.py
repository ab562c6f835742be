"""Estimates beside the truth, for the report's ranges: one trial a cell, kept in results/experiments/intervals.json.

    veclink bench intervals --data DIR [--most N]

DIR holds a folder per corpus with MODEL.npy in each, row i of every model being the same object. Cells that are in the
file are not run again, and `--most` bounds how many are run at a time. `veclink bench coverage` says how often the
ranges hold the truth.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from veclink import link
from veclink.data.scores import score
from veclink.files.atomic import written_whole
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds, split

RESULTS = results_folder("experiments") / "intervals.json"
MODELS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
CELLS = [
    *product(("papers", "reddit", "stackexchange"), MODELS, (0.3, 0.15), (15,), (0, 1, 2)),
    *product(("movies",), (("minilm", "e5"),), (0.3,), (60,), (0, 1, 2)),
]


def run(data: Path, corpus: str, models: tuple[str, str], overlap: float, seeds: int, state: int) -> dict[str, Any]:
    """One trial: what was estimated and what is true; the estimates are None where nothing was linked."""
    left, right = (np.load(data / corpus / f"{model}.npy") for model in models)
    rng = np.random.default_rng(state)
    cut = split(len(left), overlap, rng)
    given = draw_seeds(cut.truth, seeds, rng)
    links = link(left[cut.rows_a], right[cut.rows_b], seeds=given, random_state=state)
    true = score(links.pairs, cut.truth)
    summary = links.summary
    return {
        "verdict": summary.verdict,
        "calibration": summary.calibration,
        "links": len(links),
        "smaller": min(len(cut.rows_a), len(cut.rows_b)),
        "true": {"precision": true.precision, "recall": true.recall, "overlap": len(cut.truth)},
        "estimated": {"precision": summary.precision, "recall": summary.recall, "overlap": summary.overlap},
    }


def main() -> None:
    """Run the cells that are missing."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--most", type=int, default=len(CELLS))
    options = arguments.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for cell in CELLS:
        corpus, models, overlap, seeds, state = cell
        name = f"{corpus} {'-'.join(models)} overlap={overlap} seeds={seeds} state={state}"
        if name in results or options.most < 1:
            continue
        options.most -= 1
        results[name] = run(options.data, *cell)
        with written_whole(RESULTS) as temporary:
            temporary.write_text(json.dumps(results, indent=1) + "\n")
