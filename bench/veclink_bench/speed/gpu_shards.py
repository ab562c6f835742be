"""Exact matching shared out over several GPUs, run as several shards on one: is it the same, and what does it cost.

    veclink bench gpu-shards [--shards 2] [--rows 1180000] [--dim 384] [--k 10] [--device cuda:0] [--out FILE]

1. Rankings of some ten thousand rows, sides of equal and of unequal size, by the Triton kernels and by torch alone: how
   many entries differ between one shard and several.
2. The same at full size, with the seconds of both. On one GPU the shards take turns, so that several of them are no
   quicker than one: the difference is what dividing and merging cost. `shard_seconds` are those of the lists of each
   shard when it runs alone, which several GPUs would make at the same time.
The result is also written to the folder $OUT, where that is set. Where there are several GPUs, `--device cuda:0,cuda:1`
takes these instead of shards.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from veclink.matching import Matches, torch_backend, torch_shards
from veclink.matching.certify import Ranks
from veclink_bench.arguments import parser
from veclink_bench.speed.gpu_matching import clustered, random

FEW = ((20_000, 18_000), (4_000, 50_000), (50_000, 4_000))
RUNS = 2  # the first one compiles
Result = TypeVar("Result")


def main() -> None:
    """Compare few rows, then many; print and write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("--shards", type=int, default=2)
    arguments.add_argument("--rows", type=int, default=1_180_000)
    arguments.add_argument("--dim", type=int, default=384)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--device", default="cuda:0")
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu_shards.json")
    given = arguments.parse_args()
    names = given.device.split(",")
    names = names * given.shards if len(names) == 1 else names
    on_cuda = names[0].startswith("cuda")
    result: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if on_cuda else "CPU",
        "torch": torch.__version__,
        "devices": names,
        "rows": given.rows,
        "dim": given.dim,
        "k": given.k,
        "few": [],
        "many": {},
    }
    for kind in (random, clustered):
        for sizes in FEW:
            for fused in (True, False) if on_cuda else (False,):
                result["few"].append(few(kind, sizes, names, fused, given.dim, given.k))
                print(result["few"][-1], flush=True)
        result["many"][kind.__name__] = many(kind, given.rows, names, given.dim, given.k)
        print(kind.__name__, json.dumps(result["many"][kind.__name__], indent=2), flush=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n")


def few(
    kind: Callable[..., torch.Tensor], sizes: tuple[int, int], names: list[str], fused: bool, dimension: int, k: int
) -> dict[str, Any]:
    """How many of the three best partners differ between one shard and several; all three are proven."""
    left, right = (kind(n, dimension, seed, names[0]) for seed, n in enumerate(sizes))
    one, several = (
        torch_backend.match(left, right, Ranks(k, depth=3), device=device, fused=fused)
        for device in (names[0], ",".join(names))
    )
    return {"data": kind.__name__, "sizes": sizes, "fused": fused, **differences(one, several)}


def many(kind: Callable[..., torch.Tensor], rows: int, names: list[str], dimension: int, k: int) -> dict[str, Any]:
    """Differences and seconds at full size, and the seconds of each shard's lists alone."""
    left, right = (kind(rows, dimension, seed, names[0]) for seed in (0, 1))
    # Of few rows all cosines would be held at once, on one device; None leaves it to the matcher, as when linking.
    fused = None if rows * rows > torch_backend.torch_dense.MOST_COSINES else False
    ranks = Ranks(k)
    matched = partial(torch_backend.match, left, right, ranks, fused=fused)
    one, alone = timed(partial(matched, device=names[0]), names)
    several, together = timed(partial(matched, device=",".join(names)), names)
    places = [torch.device(name) for name in names]
    shards = torch_shards.shards_of(left, right, places, fused=fused)
    listed = [timed(partial(shard.listed, ranks), names)[1] for shard in shards]
    return {
        "one": alone,
        "several": together,
        "shard_seconds": [each["seconds"] for each in listed],
        "mutual": len(one.mutual()[0]),
        **differences(one, several),
    }


def differences(one: Matches, several: Matches) -> dict[str, int]:
    """Entries of the rankings, and mutual pairs, that are not the same."""
    pairs = [set(map(tuple, found.mutual()[0].tolist())) for found in (one, several)]
    return {
        "forward_differ": int(np.sum(one.forward.index != several.forward.index)),
        "backward_differ": int(np.sum(one.backward.index != several.backward.index)),
        "pairs_differ": len(pairs[0] ^ pairs[1]),
    }


def timed(run: Callable[[], Result], names: list[str]) -> tuple[Result, dict[str, Any]]:
    """What it gives, its seconds in each of RUNS runs, and the most memory that it took on the first device."""
    seconds = []
    for _ in range(RUNS):
        _wait_for(names, reset=True)
        start = time.perf_counter()
        result = run()
        _wait_for(names)
        seconds.append(time.perf_counter() - start)
    on_cuda = names[0].startswith("cuda")
    peak = torch.cuda.max_memory_allocated(names[0]) / 1e9 if on_cuda else None
    return result, {"seconds": min(seconds), "all_seconds": seconds, "peak_gb": peak}


def _wait_for(names: list[str], *, reset: bool = False) -> None:
    for name in names:
        if name.startswith("cuda"):
            torch.cuda.synchronize(name)
            if reset:
                torch.cuda.reset_peak_memory_stats(name)
