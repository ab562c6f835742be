"""GEH's local path on hundreds of thousands of titles on one GPU: seconds, memory and F1 after each iteration.

    veclink bench geh-titles TITLES [--sizes 600000 1817862] [--seconds 60] [--seeds 30] [--out geh_titles.json]

TITLES holds titles.minilm.npy and titles.e5.npy, as for `gpu-linking`: overlap 0.3. The settings are those of
"geh tuned" (centred, out-of-bag votes). The paper's rule asks for at least twenty iterations; a run that has not ended
by then is broken off after the iteration in which its seconds are over, and what it has found counts.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veclink.backends import look_on
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh.linker import Growing
from veclink.linkers.geh.views import Settings
from veclink.linkers.options import GehOptions
from veclink.threads import computing
from veclink_bench.arguments import parser
from veclink_bench.speed.gpu_linking import SEEDS, even
from veclink_bench.splits import Split, draw_seeds
from veclink_bench.versions import version_of

TUNED = GehOptions(path="local", own_votes=False, centred=True)


def main() -> None:
    """Measure each size, print every iteration, write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("titles", type=Path)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[600_000, 1_817_862])
    arguments.add_argument("--seconds", type=float, default=60.0, help="after which a run is broken off")
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "geh_titles.json")
    given = arguments.parse_args()
    titles = np.load(given.titles / "titles.minilm.npy"), np.load(given.titles / "titles.e5.npy")
    runs: list[dict[str, Any]] = []
    for size in given.sizes:
        left, right, cut = even(*(side[:size] for side in titles))
        runs.append(grown(left, right, cut, given.device, given.seconds, given.seeds))
        result = {"device": given.device, "torch": torch.__version__, "version": version_of("geh"), "runs": runs}
        given.out.write_text(json.dumps(result, indent=2) + "\n")


@computing()
def grown(left: np.ndarray, right: np.ndarray, cut: Split, device: str, seconds: float, n_seeds: int) -> dict[str, Any]:
    """One run, from arrays in host memory on."""
    seeds = draw_seeds(cut.truth, n_seeds, np.random.default_rng(0))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    a, b = (_cloud(side, device) for side in (left, right))
    growing = Growing(a, b, anchors_from_pairs(a, b, seeds), Settings(TUNED, device=device))
    rng = np.random.default_rng(0)
    iterations: list[dict[str, Any]] = []
    while not growing.finished and time.perf_counter() - began < seconds:
        growing.advance(rng)
        found = score(np.concatenate([seeds, growing.pool]), cut.truth)
        iterations.append(
            {
                "seconds": round(time.perf_counter() - began, 1),
                "views": growing.history[-1].views,
                "links": growing.history[-1].links,
                "precision": round(found.precision, 4),
                "recall": round(found.recall, 4),
                "f1": round(found.f1, 4),
            }
        )
        print(json.dumps({"rows": len(a), **iterations[-1]}), flush=True)
    return {
        "objects": len(a) + len(b) - len(cut.truth),
        "rows": len(a),
        "seeds": n_seeds,
        "ended": growing.finished,
        **iterations[-1],
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 1e9, 1) if device == "cuda" else None,
        "iterations": iterations,
    }


def _cloud(vectors: np.ndarray, device: str) -> Cloud:
    return prepare(Collection.from_array(vectors), centre=TUNED.centred, look=look_on(device))
