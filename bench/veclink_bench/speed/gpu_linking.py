"""Linking millions of vectors on one GPU, from arrays in host memory to links.

    veclink bench gpu-linking TITLES [--sizes 200000 600000 1817862] [--fever] [--out gpu_linking.json]

TITLES holds titles.minilm.npy and titles.e5.npy, row i of both being the same title. For each size: the first so many
titles, overlap 0.3, 30 seeds; seconds of each stage, precision, recall and F1, beside the estimates. The exponent says
how the time until the pool is grown rises with the size. `--fever` links 3.5M × 1,024 with 3.5M × 1,536 made vectors
(clustered points seen through two random maps): a test of throughput alone.
"""

from __future__ import annotations

import cProfile
import io
import json
import math
import os
import pstats
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veclink import link
from veclink.data.scores import score
from veclink.progress import Progress
from veclink_bench.arguments import parser
from veclink_bench.splits import draw_seeds, split


def main() -> None:
    """Measure each size, print as it goes, write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("titles", type=Path)
    arguments.add_argument("--sizes", type=int, nargs="*", default=[200_000, 600_000, 1_817_862])
    arguments.add_argument("--fever", action="store_true")
    arguments.add_argument("--rows", type=int, default=3_500_000)
    arguments.add_argument("--profile", action="store_true")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu_linking.json")
    given = arguments.parse_args()
    name = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    result: dict[str, Any] = {"device": name, "torch": torch.__version__, "runs": []}
    if given.sizes:
        left, right = (np.load(given.titles / f"titles.{model}.npy") for model in ("minilm", "e5"))
        warm_up = np.random.default_rng(0).permutation(len(left))[:30_000]
        measure(left[warm_up], right[warm_up], given.device)  # loads libraries, compiles kernels
        for size in given.sizes:
            result["runs"].append(measure(left[:size], right[:size], given.device, profile=given.profile))
            print(json.dumps(result["runs"][-1]), flush=True)
            given.out.write_text(json.dumps(result, indent=2) + "\n")
        first, last = result["runs"][0], result["runs"][-1]
        if len(result["runs"]) > 1:
            growth = last["stages"]["growing"] / first["stages"]["growing"]
            result["bootstrapping_exponent"] = round(math.log(growth) / math.log(last["objects"] / first["objects"]), 2)
    if given.fever:
        result["fever_shape"] = fever(given.rows, given.device, given.profile)
        print(json.dumps(result["fever_shape"]), flush=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")


def measure(
    left: np.ndarray, right: np.ndarray, device: str, *, profile: bool = False, state: int = 0
) -> dict[str, Any]:
    """One run of link(), with the seconds of its stages."""
    rng = np.random.default_rng(state)
    cut = split(len(left), 0.3, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    seeds = draw_seeds(cut.truth, 30, rng)
    stages: dict[str, float] = {}
    watch = cProfile.Profile()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    began = last = time.perf_counter()
    stage = "preparing"

    def listen(now: Progress) -> None:
        nonlocal last, stage
        moment = time.perf_counter()
        stages[stage] = stages.get(stage, 0.0) + moment - last
        last, stage = moment, now.stage

    if profile:
        watch.enable()
    links = link(a, b, seeds=seeds, device=device, random_state=state, progress=listen)
    watch.disable()
    stages[stage] = stages.get(stage, 0.0) + time.perf_counter() - last
    seconds = time.perf_counter() - began
    if profile:
        text = io.StringIO()
        pstats.Stats(watch, stream=text).sort_stats("cumulative").print_stats(45)
        print(text.getvalue(), flush=True)
    scores = score(links.pairs, cut.truth)
    sure = links.at(precision=0.95)
    return {
        "objects": len(left),
        "rows": len(a),
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
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 1e9, 1) if device == "cuda" else None,
    }


def fever(rows: int, device: str, profile: bool) -> dict[str, Any]:
    """FEVER's shape, 1,024 against 1,536 dimensions, of clustered points seen through two random maps with noise."""
    objects = round(rows * 2 / 1.3)
    draw = torch.Generator(device=device).manual_seed(0)
    # A spectrum that falls as those of real embeddings do: clouds that are alike in all directions cannot be aligned.
    spread = (2 * torch.arange(1, 257, device=device) ** -0.5).half()
    latent = torch.randn((objects // 100, 256), generator=draw, device=device).half() * spread
    chosen = torch.randint(len(latent), (objects,), generator=draw, device=device)
    points = torch.empty((objects, 256), dtype=torch.float16, device=device)
    for start in range(0, objects, 1 << 20):
        here = latent[chosen[start : start + (1 << 20)]]
        points[start : start + (1 << 20)] = here + 0.7 * spread * torch.randn(here.shape, generator=draw, device=device)
    sides = []
    for dimension in (1024, 1536):
        axes = torch.randn((256, dimension), generator=draw, device=device).half() / 16
        side = np.empty((objects, dimension), np.float16)
        for start in range(0, objects, 1 << 17):
            seen = points[start : start + (1 << 17)] @ axes
            seen = seen + 0.1 * torch.randn(seen.shape, generator=draw, device=device).half()
            side[start : start + (1 << 17)] = torch.nn.functional.normalize(seen.float(), dim=1).half().cpu().numpy()
        sides.append(side)
    del points, latent, chosen
    if device == "cuda":
        torch.cuda.empty_cache()
    return measure(sides[0], sides[1], device, profile=profile)
