"""GEH on real vectors: the main figures (scifact and nfcorpus, minilm–mpnet, α = 0.3, 15 seeds) and the ablation.

    veclink bench geh --data DIR [--device auto] [--output bench/results/experiments/geh.json]

DIR holds one folder for each corpus with MODEL.npy files, row i of each being one object. Every trial redraws the
split and the seeds. Rows that are in the output file already are kept, so that an interrupted run can go on; --again
measures all again.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from veclink.backends import chosen_device
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import Trials, trials

STATES = range(5)
CORPORA = ("scifact", "nfcorpus")
MODELS = ("minilm", "mpnet")
OVERLAP, SEEDS = 0.3, 15
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "no bootstrapping": {"bootstrap": False},
    "single view": {"views": "single"},
    "random views": {"view_choice": "random"},
    "raw distances": {"encoding": "raw"},
    "raw distances, random views": {"encoding": "raw", "view_choice": "random"},
    "frozen schedule": {"schedule": "frozen"},
}


def measure(data: Path, corpus: str, variant: str, state: int, device: str) -> Trials:
    """One trial of one row of the results."""
    left, right = (np.load(data / corpus / f"{model}.npy") for model in MODELS)
    return trials(
        left,
        right,
        overlap=OVERLAP,
        n_seeds=SEEDS,
        random_states=[state],
        device=device,
        method="geh",
        **VARIANTS[variant],
    )


def main() -> None:
    """Measure what the output file lacks and write it after every row."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--device", default="auto")
    arguments.add_argument("--jobs", type=int, default=1, help="trials at the same time")
    arguments.add_argument("--again", action="store_true", help="measure every row again")
    arguments.add_argument("--output", type=Path, default=results_folder("experiments") / "geh.json")
    options = arguments.parse_args()
    device = chosen_device(options.device)
    rows = [] if options.again or not options.output.exists() else json.loads(options.output.read_text())["rows"]
    done = {(row["corpus"], row["variant"]) for row in rows}
    wanted = [(corpus, variant) for variant in VARIANTS for corpus in CORPORA if (corpus, variant) not in done]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [[pool.submit(measure, options.data, *row, state, device) for state in STATES] for row in wanted]
        for (corpus, variant), futures in zip(wanted, waiting, strict=True):
            result = _joined([future.result() for future in futures])
            rows.append({"corpus": corpus, "variant": variant, **_percentages(result), "device": device})
            _write(options.output, rows)
            print(corpus, variant, rows[-1]["mean"], flush=True)


def _joined(parts: list[Trials]) -> Trials:
    return Trials(*(tuple(x for part in parts for x in getattr(part, each.name)) for each in fields(Trials)))


def _percentages(result: Trials) -> dict[str, Any]:
    def percent(scores: Any) -> dict[str, float]:
        return {name: round(100 * value, 1) for name, value in asdict(scores).items()}

    return {
        "mean": percent(result.mean()),
        "std": percent(result.std()),
        "trials": [percent(each) for each in result.scores],
        "verdicts": list(result.verdicts),
        "iterations": list(result.iterations),
        "seconds": [round(each or 0.0, 1) for each in result.seconds],
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    setting = {"models": MODELS, "overlap": OVERLAP, "seeds": SEEDS, "random_states": list(STATES)}
    ordered = sorted(rows, key=lambda r: (CORPORA.index(r["corpus"]), list(VARIANTS).index(r["variant"])))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps({"setting": setting, "rows": ordered}, indent=1) + "\n")
    os.replace(path.with_suffix(".part"), path)
