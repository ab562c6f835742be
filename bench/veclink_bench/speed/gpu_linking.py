"""Linking millions of vectors on one GPU, from arrays in host memory to links.

    veclink bench gpu-linking TITLES [--sizes 200000 600000 1817862] [--few 40000] [--fever] [--seeds 30]
        [--out gpu_linking.json]

TITLES holds titles.minilm.npy and titles.e5.npy, row i of both being the same title. For each size: the first so many
titles, overlap 0.3, 30 seeds (`--seeds 0`: none); seconds of each stage, precision, recall and F1, beside the
estimates. The exponent says how the time until the pool is grown rises with the size. `--few` links so many titles, all
of them among 1.2M others.
`--fever` links 3.5M × 1,024 with 3.5M × 1,536 made vectors (clustered points seen through two random maps): a test of
throughput alone. `--profile DIR` keeps what cProfile saw of each run; with CUDA_LAUNCH_BLOCKING=1 in the
environment, the seconds stand where the work is asked for, and not where its result is waited for.
"""

from __future__ import annotations

import cProfile
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veclink import link
from veclink.data.pairs import score
from veclink.progress import Progress
from veclink_bench.arguments import parser
from veclink_bench.splits import Split, draw_seeds, split
from veclink_bench.versions import version_of

OVERLAP, SEEDS = 0.3, 30
MANY = 1_200_000
WARM_UP = 60_000  # objects: more cosines than are held at once, so that the kernels of large collections are compiled
FEVER_DIMENSIONS = 1024, 1536


def main() -> None:
    """Measure each size, print as it goes, write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("titles", type=Path)
    arguments.add_argument("--sizes", type=int, nargs="*", default=[200_000, 600_000, 1_817_862])
    arguments.add_argument("--few", type=int)
    arguments.add_argument("--fever", action="store_true")
    arguments.add_argument("--rows", type=int, default=3_500_000)
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--memory", help="of link(), such as 40GB")
    arguments.add_argument("--profile", type=Path)
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu_linking.json")
    given = arguments.parse_args()
    watched = Watched(given.device, given.memory, given.profile, given.seeds)
    name = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    result: dict[str, Any] = {"device": name, "torch": torch.__version__, "version": version_of("span"), "runs": []}

    def save(measured: dict[str, Any]) -> None:
        print(json.dumps(measured), flush=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n")

    if given.sizes or given.few:
        titles = np.load(given.titles / "titles.minilm.npy"), np.load(given.titles / "titles.e5.npy")
        warm_up = np.random.default_rng(0).permutation(len(titles[0]))[:WARM_UP]
        watched.link(*even(titles[0][warm_up], titles[1][warm_up]))  # loads libraries, compiles kernels
    for size in given.sizes:
        result["runs"].append(watched.link(*even(*(side[:size] for side in titles))))
        save(result["runs"][-1])
    if len(result["runs"]) > 1:
        result["bootstrapping_exponent"] = exponent(result["runs"][0], result["runs"][-1])
    if given.few:
        result["few_among_many"] = watched.link(*few_among_many(*titles, given.few))
        save(result["few_among_many"])
    if given.fever:
        watched.link(*fever(round(WARM_UP * (1 + OVERLAP) / 2), given.device))
        result["fever_shape"] = watched.link(*fever(given.rows, given.device))
        save(result["fever_shape"])


def exponent(first: dict[str, Any], last: dict[str, Any]) -> float:
    """To which power of the number of objects the time until the pool is grown rises."""
    growth = last["stages"]["growing"] / first["stages"]["growing"]
    return round(math.log(growth) / math.log(last["objects"] / first["objects"]), 2)


class Watched:
    """Runs of link() with the seconds of their stages."""

    def __init__(
        self,
        device: str,
        memory: str | None = None,
        profile: Path | None = None,
        n_seeds: int = SEEDS,
    ) -> None:
        self.device, self.memory, self.profile, self.n_seeds = device, memory, profile, n_seeds

    def link(self, a: np.ndarray, b: np.ndarray, cut: Split, *, state: int = 0) -> dict[str, Any]:
        """One run of link() from seeds, or from nothing."""
        seeds = draw_seeds(cut.truth, self.n_seeds, np.random.default_rng(state)) if self.n_seeds else None
        stages: dict[str, float] = {}
        peaks: dict[str, float] = {}
        watch = cProfile.Profile()
        self._peak()
        began = last = time.perf_counter()
        stage = "preparing"

        def listen(now: Progress) -> None:
            nonlocal last, stage
            moment = time.perf_counter()
            stages[stage] = stages.get(stage, 0.0) + moment - last
            peaks[stage] = max(peaks.get(stage, 0.0), self._peak())
            last, stage = moment, now.stage

        if self.profile is not None:
            watch.enable()
        links = link(
            a, b, seeds=seeds, device=self.device, memory=self.memory, random_state=state, progress=listen
        )  # fmt: skip
        watch.disable()
        stages[stage] = stages.get(stage, 0.0) + time.perf_counter() - last
        seconds = time.perf_counter() - began
        peaks[stage] = max(peaks.get(stage, 0.0), self._peak())
        if self.profile is not None:
            watch.dump_stats(self.profile / f"{len(a)}-{len(b)}.pstats")
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


def even(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, Split]:
    """The objects split in two collections of the same size, 30 % of them in both."""
    cut = split(len(left), OVERLAP, np.random.default_rng(0))
    return left[cut.rows_a], right[cut.rows_b], cut


def few_among_many(left: np.ndarray, right: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray, Split]:
    """So many rows, all of them among MANY (or all that there are) on the other side."""
    rng = np.random.default_rng(0)
    rows_b = rng.permutation(len(right))[:MANY]
    place = rng.permutation(len(rows_b))[:few]
    rows_a = rows_b[place]
    truth = np.column_stack([np.arange(len(place)), place])
    return left[rows_a], right[rows_b], Split(rows_a, rows_b, truth)


def fever(rows: int, device: str) -> tuple[np.ndarray, np.ndarray, Split]:
    """FEVER's shape, 1,024 against 1,536 dimensions, of clustered points seen through two random maps with noise."""
    cut = split(round(rows * 2 / (1 + OVERLAP)), OVERLAP, np.random.default_rng(0))
    objects = len(cut.rows_a) + len(cut.rows_b) - len(cut.truth)
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
    for dimension, held in zip(FEVER_DIMENSIONS, (cut.rows_a, cut.rows_b), strict=True):
        axes = torch.randn((256, dimension), generator=draw, device=device).half() / 16
        side = np.empty((len(held), dimension), np.float16)
        for start in range(0, len(held), 1 << 17):
            here = points[torch.from_numpy(held[start : start + (1 << 17)]).to(device)]
            seen = here @ axes
            seen = seen + 0.1 * torch.randn(seen.shape, generator=draw, device=device).half()
            side[start : start + (1 << 17)] = torch.nn.functional.normalize(seen.float(), dim=1).half().cpu().numpy()
        sides.append(side)
    del points, latent, chosen
    if device == "cuda":
        torch.cuda.empty_cache()
    return sides[0], sides[1], cut
