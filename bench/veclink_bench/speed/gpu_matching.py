"""Exact CSLS mutual neighbours on one GPU: is it right, which tuning is quickest, and how long does all of it take.

    veclink bench gpu-matching [--rows 1180000] [--dim 384] [--k 10] [--out gpu_matching.json]

1. Rankings of 20,000 × 18,000 random and clustered rows, by the Triton kernel and by torch alone, against brute force.
2. The pass over all tiles for each tuning, on every fourth of the left rows, beside the rate of a plain product.
3. Everything, at full size, with the quickest tuning: seconds of each part, and in units of one plain product.
The result is also written to the folder $OUT, where that is set.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from veclink.matching import certify, lists, torch_backend, triton_kernel, triton_search
from veclink.matching.rankings import Ranks
from veclink.matching.triton_kernel import Tuning
from veclink_bench.arguments import parser

TUNINGS = [
    Tuning(256, 128, 64, 8, 3, 32),
    Tuning(256, 128, 64, 8, 4, 32),
    Tuning(128, 256, 64, 8, 3, 32),
    Tuning(128, 128, 64, 8, 3, 32),
    triton_kernel.SAFE,
]


def main() -> None:
    """Check, tune, measure; print a table and write JSON."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=1_180_000)
    arguments.add_argument("--dim", type=int, default=384)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu_matching.json")
    given = arguments.parse_args()
    result: dict = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, **vars(given)}
    result["out"] = None

    def save() -> None:
        given.out.write_text(json.dumps(result, indent=2) + "\n")

    began = time.perf_counter()
    result["checks"] = [
        check(kind, fused, given.dim, given.k) for kind in (random, clustered) for fused in (True, False)
    ]
    save()
    print(*result["checks"], sep="\n")

    left, right = (clustered(given.rows, given.dim, seed) for seed in (0, 1))
    result["product_tflops"] = plain_product(left, right)
    print(f"plain product: {result['product_tflops']:.0f} TFLOP/s")
    result["tunings"] = []
    for tuning in TUNINGS:
        if time.perf_counter() - began > 120:
            break
        try:
            measured = tune(left[::4].contiguous(), right, given.k, tuning)
        except Exception as error:  # a tuning that this device has no room for is a result too
            measured = {"error": traceback.format_exception_only(error)[-1].strip()[:300]}
        result["tunings"].append({**asdict(tuning), **measured})
        print(result["tunings"][-1], flush=True)
        save()
    ran = [entry for entry in result["tunings"] if "tflops" in entry]
    if ran:
        best = max(ran, key=lambda entry: entry["tflops"])
        tuning = Tuning(**{field.name: best[field.name] for field in fields(Tuning)})
        result["best"] = asdict(tuning)
        result["whole"] = {}
        for kind in (clustered, random):
            left, right = (kind(given.rows, given.dim, seed) for seed in (0, 1))
            result["whole"][kind.__name__] = whole(left, right, given.k, tuning, result["product_tflops"])
            print(kind.__name__, json.dumps(result["whole"][kind.__name__], indent=2), flush=True)
            save()
    result["seconds_in_all"] = time.perf_counter() - began
    save()


def random(rows: int, dimension: int, seed: int, device: str = "cuda") -> torch.Tensor:
    """Random directions, float16."""
    draw = torch.Generator(device=device).manual_seed(seed)
    return _unit(torch.randn((rows, dimension), generator=draw, device=device, dtype=torch.float32))


def clustered(rows: int, dimension: int, seed: int, device: str = "cuda") -> torch.Tensor:
    """Noisy views of the same clustered points, float16, sorted by cluster: the sides differ by the noise only."""
    draw = torch.Generator(device=device).manual_seed(99)
    centres = torch.randn((max(1, rows // 200), dimension), generator=draw, device=device)
    points = centres[torch.randint(len(centres), (rows,), generator=draw, device=device).sort().values]
    points += 0.8 * torch.randn((rows, dimension), generator=draw, device=device)
    noise = torch.Generator(device=device).manual_seed(seed)
    return _unit(points + 0.5 * torch.randn((rows, dimension), generator=noise, device=device))


def check(kind: Callable[[int, int, int], torch.Tensor], fused: bool, dimension: int, k: int) -> dict:
    """How many rankings differ from brute force in float64."""
    left, right = kind(20_000, dimension, 0), kind(18_000, dimension, 1)
    cosine = (left.double() @ right.double().T).float()
    density = [side.topk(k, dim=1).values.double().mean(dim=1).float().double() for side in (cosine, cosine.T)]
    forward = (2 * cosine.double() - density[1]).argmax(dim=1).cpu()
    backward = (2 * cosine.T.double() - density[0]).argmax(dim=1).cpu()
    found = torch_backend.match(left, right, Ranks(k), device="cuda", fused=fused)
    return {
        "data": kind.__name__,
        "fused": fused,
        "forward_differ": int((torch.from_numpy(found.forward.index[:, 0]) != forward).sum()),
        "backward_differ": int((torch.from_numpy(found.backward.index[:, 0]) != backward).sum()),
        "density_error": float((torch.from_numpy(found.forward.density) - density[0].float().cpu()).abs().max()),
    }


def plain_product(left: torch.Tensor, right: torch.Tensor) -> float:
    """TFLOP/s of torch's own float16 product with float16 output, in tiles of 16,384 × 131,072."""
    left, right = left[:16384], right[:131072].T.contiguous().T
    space = torch.empty((len(left), len(right)), dtype=torch.float16, device="cuda")
    seconds = min(_seconds(lambda: torch.mm(left, right.T, out=space)) for _ in range(6))
    return 2e-12 * len(left) * len(right) * left.shape[1] / seconds


def tune(left: torch.Tensor, right: torch.Tensor, k: int, tuning: Tuning) -> dict:
    """Rate of the pass over all tiles, with its floors made beforehand."""
    n1, n2, width = len(left), len(right), Ranks(k, 1).list_width
    padded_left = triton_kernel.padded(left, tuning.rows, tuning.step)
    padded_right = triton_kernel.padded(right, tuning.columns * tuning.tiles, tuning.step)
    arguments = (padded_left, n1, padded_right, n2, width, tuning, triton_kernel.SAMPLE)
    floors = triton_kernel._floors(*arguments)  # compiles
    floor_seconds = _seconds(lambda: triton_kernel._floors(*arguments))
    few = padded_left[: tuning.rows]
    triton_kernel._survivors(few, padded_right, floors[0][: tuning.rows], floors[1], tuning)  # compiles
    kept: list = []
    seconds = _seconds(lambda: kept.append(triton_kernel._survivors(padded_left, padded_right, *floors, tuning)))
    survivors = int(kept[0][1].sum())
    tflops = 2e-12 * n1 * n2 * left.shape[1] / seconds
    return {
        "tflops": tflops,
        "seconds": seconds,
        "floor_seconds": floor_seconds,
        "survivors_per_row": survivors / n1,
    }


def whole(left: torch.Tensor, right: torch.Tensor, k: int, tuning: Tuning, product_tflops: float) -> dict:
    """Seconds of each part of match(), from tensors on the device to mutual pairs on the host."""
    triton_kernel.TUNED = {"": tuning}
    parts: dict[str, float] = {}
    for module, name in (
        (triton_kernel, "_floors"),
        (triton_kernel, "_survivors"),
        (triton_kernel, "_unpacked"),
        (triton_kernel, "_lists"),
        (lists.Nearest, "complete"),
        (triton_search, "inner_products"),
        (torch_backend, "likely_pairs"),
        (certify, "_density"),
        (certify, "_ranking"),
    ):
        _clocked(module, name, parts)
    seconds, pairs = [], 0
    for _ in range(2):
        parts.clear()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        pairs = len(torch_backend.match(left, right, Ranks(k), device="cuda").mutual()[0])
        seconds.append(time.perf_counter() - start)
    one_product = 2e-12 * len(left) * len(right) * left.shape[1] / product_tflops
    return {
        "seconds": min(seconds),
        "all_seconds": seconds,
        "products": min(seconds) / one_product,
        "parts": {name: round(value, 4) for name, value in parts.items()},
        "mutual": pairs,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def _clocked(owner: object, name: str, parts: dict[str, float]) -> None:
    """Makes a function add its seconds to `parts`; parts that call each other overlap."""
    plain = getattr(owner, name)
    plain = getattr(plain, "plain", plain)

    def clocked(*arguments: Any, **options: Any) -> Any:
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = plain(*arguments, **options)
        torch.cuda.synchronize()
        parts[name] = parts.get(name, 0.0) + time.perf_counter() - start
        parts[f"{name} calls"] = parts.get(f"{name} calls", 0) + 1
        if name == "likely_pairs":
            parts["rows searched again"] = parts.get("rows searched again", 0) + len(arguments[2].rows)
        return result

    vars(clocked)["plain"] = plain
    setattr(owner, name, clocked)


def _seconds(run: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def _unit(rows: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(rows, dim=1).half()
