"""Linking millions of vectors on one GPU, from arrays in host memory to links.

    veclink bench gpu-linking TITLES [--sizes 200000 600000 1817862] [--few 40000] [--seeds 30]
        [--little 0.15 0.05] [--out gpu_linking.json]

TITLES holds titles.minilm.npy and titles.e5.npy, row i of both being the same title. For each size: the first so many
titles, overlap 0.3, 30 seeds (`--seeds 0`: none); seconds of each stage, precision, recall and F1, beside the
estimates. The exponent says how the time until the pool is grown rises with the size. `--few` links so many titles, all
of them among 1.2M others. `--little` links all titles at these overlaps, from the numbers of seeds in LITTLE and from
wrong ones, and measures the best F1 that a map of 3,000 true pairs allows.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veclink import link
from veclink.confidence.constants import DIRECTIONS_OF_LARGE
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import JOINED_RULES, canonical_maps, unit_rows
from veclink.matching import match
from veclink.progress import Progress
from veclink_bench.arguments import parser
from veclink_bench.splits import Split, draw_seeds, split
from veclink_bench.versions import version_of

OVERLAP, SEEDS = 0.3, 30
MANY = 1_200_000
LITTLE = 30, 300, 3000
MAPPED = 3000  # true pairs of the map that others are held against
WARM_UP = 60_000  # objects: more cosines than are held at once, so that the kernels of large collections are compiled


def main() -> None:
    """Measure each size, print as it goes, write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("titles", type=Path)
    arguments.add_argument("--sizes", type=int, nargs="*", default=[200_000, 600_000, 1_817_862])
    arguments.add_argument("--few", type=int)
    arguments.add_argument("--little", type=float, nargs="*", default=[])
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--memory", help="of link(), such as 40GB")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu_linking.json")
    given = arguments.parse_args()
    watched = Watched(given.device, given.memory, given.seeds)
    name = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    result: dict[str, Any] = {"device": name, "torch": torch.__version__, "version": version_of("span"), "runs": []}

    def save(measured: dict[str, Any]) -> None:
        print(json.dumps(measured), flush=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n")

    titles = np.load(given.titles / "titles.minilm.npy"), np.load(given.titles / "titles.e5.npy")
    warm_up = np.random.default_rng(0).permutation(len(titles[0]))[:WARM_UP]
    watched.link(*even(titles[0][warm_up], titles[1][warm_up]))  # loads libraries, compiles kernels
    for size in given.sizes:
        result["runs"].append(watched.link(*even(*(side[:size] for side in titles))))
        save(result["runs"][-1])
    for overlap in given.little:
        problem = even(*titles, overlap)
        best = best_of_a_map(*problem, given.device)
        for watched.n_seeds in (*LITTLE, -LITTLE[-1]):
            result.setdefault("little", []).append({"share": overlap, "map": best} | watched.link(*problem))
            save(result["little"][-1])
    if len(result["runs"]) > 1:
        result["bootstrapping_exponent"] = exponent(result["runs"][0], result["runs"][-1])
    if given.few:
        result["few_among_many"] = watched.link(*few_among_many(*titles, given.few))
        save(result["few_among_many"])


def exponent(first: dict[str, Any], last: dict[str, Any]) -> float:
    """To which power of the number of objects the time until the pool is grown rises."""
    growth = last["stages"]["growing"] / first["stages"]["growing"]
    return round(math.log(growth) / math.log(last["objects"] / first["objects"]), 2)


class Watched:
    """Runs of link() with the seconds of their stages."""

    def __init__(self, device: str, memory: str | None = None, n_seeds: int = SEEDS) -> None:
        self.device, self.memory, self.n_seeds = device, memory, n_seeds

    def link(self, a: np.ndarray, b: np.ndarray, cut: Split, *, state: int = 0) -> dict[str, Any]:
        """One run of link() from seeds, from nothing, or where there are fewer than none from so many wrong pairs."""
        rng = np.random.default_rng(state)
        seeds = draw_seeds(cut.truth, abs(self.n_seeds), rng) if self.n_seeds else None
        if seeds is not None and self.n_seeds < 0:
            seeds[:, 1] = np.roll(seeds[:, 1], 1)
        stages: dict[str, float] = {}
        peaks: dict[str, float] = {}
        self._peak()
        began = last = time.perf_counter()
        stage = "preparing"

        def listen(now: Progress) -> None:
            nonlocal last, stage
            moment = time.perf_counter()
            stages[stage] = stages.get(stage, 0.0) + moment - last
            peaks[stage] = max(peaks.get(stage, 0.0), self._peak())
            last, stage = moment, now.stage

        links = link(a, b, seeds=seeds, device=self.device, memory=self.memory, random_state=state, progress=listen)
        stages[stage] = stages.get(stage, 0.0) + time.perf_counter() - last
        seconds = time.perf_counter() - began
        peaks[stage] = max(peaks.get(stage, 0.0), self._peak())
        scores = score(links.pairs, cut.truth)
        sure = links.at(precision=0.95)
        return {
            "objects": len(a) + len(b) - len(cut.truth),
            "rows": len(a),
            "rows_b": len(b),
            "seeds": self.n_seeds,
            "memory": self.memory,
            "seconds": round(seconds, 2),
            "stages": {name: round(value, 2) for name, value in stages.items()},
            "precision": round(scores.precision, 4),
            "recall": round(scores.recall, 4),
            "f1": round(scores.f1, 4),
            "estimated_precision": links.summary.precision,
            "estimated_overlap": links.summary.overlap,
            "overlap": len(cut.truth),
            "precision_at_95": score(sure.pairs, cut.truth).precision if len(sure) else None,
            "verdict": links.summary.verdict,
            "rounds": links.summary.iterations,
            "starts": links.trace.get("starts"),
            "peak_gpu_gb": max(peaks.values()),
            "peaks_gpu_gb": peaks,
        }

    def _peak(self) -> float:
        """GB of the GPU that were held at most since this was asked last."""
        if self.device != "cuda":
            return 0.0
        most = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        return round(most / 1e9, 1)


def even(left: np.ndarray, right: np.ndarray, overlap: float = OVERLAP) -> tuple[np.ndarray, np.ndarray, Split]:
    """The objects split in two collections of the same size, with this share of them in both."""
    cut = split(len(left), overlap, np.random.default_rng(0))
    return left[cut.rows_a], right[cut.rows_b], cut


def best_of_a_map(a: np.ndarray, b: np.ndarray, cut: Split, device: str) -> dict[str, float]:
    """Scores of the mutual nearest neighbours along a map of MAPPED true pairs, cut where their F1 is best."""
    true = cut.truth[np.random.default_rng(1).choice(len(cut.truth), MAPPED, replace=False)]
    clouds = [prepare(Collection.from_array(side)).dense() for side in (a, b)]
    (along,) = canonical_maps(clouds[0][true[:, 0]], clouds[1][true[:, 1]], None, JOINED_RULES[:1], DIRECTIONS_OF_LARGE)
    seen = [unit_rows(rows @ axes).astype(np.float16) for rows, axes in zip(clouds, along, strict=True)]
    pairs, csls = match(*seen, device=device).mutual()
    pairs = pairs[np.argsort(-csls, kind="stable")]
    partner = np.full(len(a), -1)
    partner[cut.truth[:, 0]] = cut.truth[:, 1]
    right = np.cumsum(partner[pairs[:, 0]] == pairs[:, 1])
    kept = int(np.argmax(right / (np.arange(1, len(right) + 1) + len(cut.truth)))) + 1
    found = score(pairs[:kept], cut.truth)
    return {"precision": round(found.precision, 4), "recall": round(found.recall, 4), "f1": round(found.f1, 4)}


def few_among_many(left: np.ndarray, right: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray, Split]:
    """So many rows, all of them among MANY (or all that there are) on the other side."""
    rng = np.random.default_rng(0)
    rows_b = rng.permutation(len(right))[:MANY]
    place = rng.permutation(len(rows_b))[:few]
    rows_a = rows_b[place]
    truth = np.column_stack([np.arange(len(place)), place])
    return left[rows_a], right[rows_b], Split(rows_a, rows_b, truth)
