"""Exact CSLS mutual neighbours on the CPU, in units of one plain product of the same size in the same run.

    python benchmarks/matching.py [--rows 20000] [--dim 384] [--k 10] [--rounds 5] [--json]

Products, matches and, where faiss-cpu is installed, CSLS built on faiss.IndexFlatIP (two searches for the densities,
two over vectors with the density as one more dimension for the best partners) take turns on the same threads; the
quickest of each counts. `products` is match / product, `speedup_over_faiss` is faiss / match. The vectors are made
here: two noisy views of the same clustered points, so that about every point has a partner.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from veclink.matching import match
from veclink.matching.threads import thread_count


def main() -> None:
    """Measure, print and write the result."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--dim", type=int, default=384)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", action="store_true", help="print JSON only")
    arguments.add_argument("--out", type=Path, default=None)
    given = arguments.parse_args()
    result = measure(given.rows, given.dim, given.k, given.rounds)
    text = json.dumps(result, indent=2)
    if given.out:
        given.out.write_text(text + "\n")
    if given.json:
        print(text)
        return
    print(f"{given.rows:,} × {given.rows:,}, {given.dim} dimensions, k = {given.k}, {thread_count()} threads")
    for name, seconds in result["seconds"].items():
        print(f"  {name:8} {seconds:8.3f} s  {seconds / result['seconds']['product']:6.2f} products")
    print(f"  memory beyond the inputs: {result['peak_extra_mb']} MB")


def measure(rows: int, dimension: int, k: int, rounds: int) -> dict:
    """Seconds of each contender and their ratios; fails if the results of match and faiss differ."""
    left, right = views(rows, dimension)
    match(left[:100], right[:100], k=k)  # loads the compiled loops
    peak = peak_extra_mb(left, right, k)
    space = np.empty((rows, rows), dtype=np.float32)
    contenders: dict[str, Callable[[], object]] = {
        "product": lambda: np.matmul(left, right.T, out=space),
        "match": lambda: match(left, right, k=k).mutual(),
    }
    try:
        import faiss
    except ImportError:
        pass
    else:
        faiss.omp_set_num_threads(thread_count())
        contenders["faiss"] = lambda: mutual_by_faiss(left, right, k)
        ours, theirs = contenders["match"](), contenders["faiss"]()
        differ = len(set(map(tuple, ours[0])) ^ set(map(tuple, theirs)))  # faiss rounds sums otherwise: near ties only
        assert differ <= rows // 1000, f"{differ} pairs differ"
    seconds = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    return {
        "rows": rows,
        "dim": dimension,
        "k": k,
        "threads": thread_count(),
        "machine": f"{platform.machine()} {platform.system()}",
        "products": round(best["match"] / best["product"], 3),
        "speedup_over_faiss": round(best["faiss"] / best["match"], 2) if "faiss" in best else None,
        "peak_extra_mb": peak,
        "seconds": {name: round(value, 4) for name, value in best.items()},
        "all_seconds": {name: [round(value, 4) for value in values] for name, values in seconds.items()},
    }


def views(rows: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy views of the same clustered points, unit rows, in different orders."""
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((max(rows // 50, 1), dimension), dtype=np.float32)
    points = centres[draw.integers(0, len(centres), rows)] + draw.standard_normal((rows, dimension), dtype=np.float32)
    sides = []
    for _ in range(2):
        side = points[draw.permutation(rows)]
        side += 0.5 * draw.standard_normal(side.shape, dtype=np.float32)
        sides.append(side / np.linalg.norm(side, axis=1, keepdims=True))
    return sides[0], sides[1]


def mutual_by_faiss(left: np.ndarray, right: np.ndarray, k: int) -> np.ndarray:
    """Mutual CSLS neighbours by four exact searches."""
    density_left, density_right = _search(right, left, k)[0].mean(axis=1), _search(left, right, k)[0].mean(axis=1)
    forward = _search(_joined(right, -density_right / 2), _joined(left, 1), 1)[1][:, 0]
    backward = _search(_joined(left, -density_left / 2), _joined(right, 1), 1)[1][:, 0]
    rows = np.flatnonzero(backward[forward] == np.arange(len(left)))
    return np.column_stack([rows, forward[rows]])


def _search(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return index.search(queries, k)


def _joined(rows: np.ndarray, last: np.ndarray | int) -> np.ndarray:
    return np.column_stack([rows, np.broadcast_to(last, len(rows))]).astype(np.float32)


def peak_extra_mb(left: np.ndarray, right: np.ndarray, k: int) -> float | None:
    """What one match adds to the resident memory of this process at its peak; None where the system cannot tell."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")
        before = _kilobytes(status, "VmRSS")
        match(left, right, k=k)
        return round((_kilobytes(status, "VmHWM") - before) / 1000, 1)
    except OSError:
        return None


def _kilobytes(status: Path, field: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    main()
