"""Speed and memory as ratios: matching in plain products, linking in exact passes, each measured in the same run.

`veclink bench matching` and `veclink bench linking` print these figures.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from veclink import sample
from veclink.data.collection import Collection
from veclink.data.pairs import resolve_pairs, score
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows
from veclink.linkers.linking import link
from veclink.matching import match
from veclink.stores.opening import open_collection
from veclink.threads import thread_count
from veclink_bench.speed.machine import machine_name, share_of_cores
from veclink_bench.splits import draw_seeds, split


def measure_matching(rows: int, dimension: int, *, k: int = 10, rounds: int = 5) -> dict[str, Any]:
    """Exact CSLS mutual neighbours, rows × rows: `products` (plain ones), `speedup_over_faiss`, `peak_extra_mb`.

    Products, matches and the same built on the exact searches of others (two for the densities, two over vectors with
    the density as one more dimension) take turns on the same threads; the median of each counts. The others are
    torch's product with topk and, where they are installed, faiss.IndexFlatIP and usearch. The vectors are two noisy
    views of the same clustered points, so that about every point has a partner.
    """
    quiet = share_of_cores(thread_count())
    left, right = noisy_views(rows, dimension)
    match(left[:100], right[:100], k=k)  # loads the compiled loops
    _, peak = peak_extra_mb(lambda: match(left, right, k=k))
    space = np.empty((rows, rows), dtype=np.float32)
    contenders: dict[str, Callable[[], Any]] = {
        "product": lambda: np.matmul(left, right.T, out=space),
        "match": lambda: match(left, right, k=k).mutual(),
    }
    searches = exact_searches()
    for name, search in searches.items():
        contenders[name] = partial(mutual_by, search, left, right, k)
    ours = set(map(tuple, contenders["match"]()[0].tolist()))
    differ = {name: len(ours ^ set(map(tuple, contenders[name]().tolist()))) for name in searches}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            began, cpu_began = time.perf_counter(), time.process_time()
            run()
            seconds[name].append(time.perf_counter() - began)
            cpu_seconds[name].append(time.process_time() - cpu_began)
    cpu = {name: median(times) for name, times in cpu_seconds.items()}
    wall = {name: median(times) for name, times in seconds.items()}
    speedup = {name: round(wall[name] / wall["match"], 2) for name in searches}
    cpu_speedup = {name: round(cpu[name] / cpu["match"], 2) for name in searches}
    return {
        "rows": rows,
        "dim": dimension,
        "k": k,
        "threads": thread_count(),
        "machine": machine_name(),
        "quiet": quiet,
        "rounds": rounds,
        "products": round(wall["match"] / wall["product"], 3),
        "speedup_over_faiss": speedup.get("faiss"),
        "cpu_speedup_over_faiss": cpu_speedup.get("faiss"),
        "speedup_over": speedup,
        "cpu_speedup_over": cpu_speedup,
        "pairs_that_differ": differ,  # near ties only: others sum in another order
        "peak_extra_mb": peak,
        "seconds": {name: round(value, 4) for name, value in wall.items()},
        "cpu_seconds": {name: round(value, 4) for name, value in cpu.items()},
        "all_seconds": {name: [round(value, 4) for value in values] for name, values in seconds.items()},
    }


def measure_linking(
    rows: int,
    *,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    overlap: float = 0.3,
    seeds: int = 15,
    device: str = "cpu",
    random_state: int = 0,
) -> dict[str, Any]:
    """link() of two collections of `rows` each: `passes` (in exact matching passes), `seconds`, `f1`, `peak_extra_mb`.

    data: vectors of the same objects by two models, of which as many as needed are used. Without it, each object is a
    blend of three papers of the bundled sample, in both of its models: real geometry, but easier than real objects.
    """
    objects = round(rows * 2 / (1 + overlap))
    left, right = blended_papers(objects) if data is None else (side[:objects] for side in data)
    rng = np.random.default_rng(random_state)
    cut = split(len(left), overlap, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    given = draw_seeds(cut.truth, seeds, rng) if seeds else None
    width = min(a.shape[1], b.shape[1])
    unit = [unit_rows(prepare(Collection.from_array(side)).dense()[:, :width].copy()) for side in (a, b)]
    one_pass, cpu_pass = [], []
    for _ in range(2):
        began, cpu_began = time.perf_counter(), time.process_time()
        match(*unit, device=device)
        one_pass.append(time.perf_counter() - began)
        cpu_pass.append(time.process_time() - cpu_began)
    del unit
    began, cpu_began = time.perf_counter(), time.process_time()
    links, peak = peak_extra_mb(lambda: link(a, b, seeds=given, device=device, random_state=random_state))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    scores = score(links.pairs, cut.truth)
    return {
        "rows": len(a),
        "dim": [int(a.shape[1]), int(b.shape[1])],
        "data": "given" if data is not None else "blends of the bundled sample",
        "threads": thread_count(),
        "machine": machine_name(),
        "passes": round(seconds / min(one_pass), 2),
        "cpu_passes": round(cpu_seconds / min(cpu_pass), 2),  # by the time on the cores: holds on a busy machine too
        "seconds": round(seconds, 2),
        "seconds_of_one_pass": round(min(one_pass), 2),
        "f1": round(scores.f1, 4),
        "precision": round(scores.precision, 4),
        "recall": round(scores.recall, 4),
        "estimated_precision": links.summary.precision,
        "verdict": links.summary.verdict,
        "peak_extra_mb": peak,
    }


def noisy_views(rows: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy views of the same clustered points, unit rows, in different orders."""
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((max(rows // 50, 1), dimension), dtype=np.float32)
    points = centres[draw.integers(0, len(centres), rows)] + draw.standard_normal((rows, dimension), dtype=np.float32)
    sides = []
    for _ in range(2):
        side = points[draw.permutation(rows)]
        side += 0.5 * draw.standard_normal(side.shape, dtype=np.float32)
        sides.append(unit_rows(side))
    return sides[0], sides[1]


def blended_papers(objects: int) -> tuple[np.ndarray, np.ndarray]:
    """`objects` blends of three of the 900 papers that the bundled sample has in both models, float16."""
    rng = np.random.default_rng(0)
    a, b = open_collection(sample.A), open_collection(sample.B)
    shared = resolve_pairs(sample.TRUTH, a, b)
    left, right = a.vectors[shared[:, 0]].astype(np.float32), b.vectors[shared[:, 1]].astype(np.float32)
    papers, weights = rng.integers(0, len(left), (objects, 3)), rng.dirichlet([2.0, 1.0, 0.5], objects)
    sides = []
    for model in (left, right):
        side = np.zeros((objects, model.shape[1]), np.float32)
        for place in range(3):
            side += weights[:, place, None].astype(np.float32) * model[papers[:, place]]
        sides.append(unit_rows(side).astype(np.float16))
    return sides[0], sides[1]


Search = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]
"""From a base (n, d), queries (m, d) and k: the k largest inner products of each query, and which rows they are."""


def mutual_by(search: Search, left: np.ndarray, right: np.ndarray, k: int) -> np.ndarray:
    """Mutual CSLS neighbours by four exact searches."""
    density_left, density_right = search(right, left, k)[0].mean(axis=1), search(left, right, k)[0].mean(axis=1)
    forward = search(_joined(right, -density_right / 2), _joined(left, 1), 1)[1][:, 0]
    backward = search(_joined(left, -density_left / 2), _joined(right, 1), 1)[1][:, 0]
    rows = np.flatnonzero(backward[forward] == np.arange(len(left)))
    return np.column_stack([rows, forward[rows]])


def exact_searches() -> dict[str, Search]:
    """The exact searches that are installed, by name."""
    every = {"torch": search_by_torch, "faiss": search_by_faiss, "usearch": search_by_usearch}
    return {name: search for name, search in every.items() if importlib.util.find_spec(name) is not None}


def search_by_faiss(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """faiss.IndexFlatIP."""
    import faiss

    faiss.omp_set_num_threads(thread_count())
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return index.search(queries, k)


def search_by_torch(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A product of a thousand queries at a time, and topk of each row."""
    import torch

    torch.set_num_threads(thread_count())
    others = torch.from_numpy(base).T
    found = [(block @ others).topk(k, dim=1) for block in torch.from_numpy(queries).split(1024)]
    return torch.cat([each.values for each in found]).numpy(), torch.cat([each.indices for each in found]).numpy()


def search_by_usearch(base: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """usearch.index.search, exact; it tells 1 − the inner product."""
    from usearch.index import MetricKind, search

    found = search(base, queries, k, MetricKind.IP, exact=True, threads=thread_count())
    distances = np.asarray(found.distances).reshape(len(queries), k)
    return 1 - distances, np.asarray(found.keys).reshape(len(queries), k).astype(np.int64)


def peak_extra_mb(run: Callable[[], Any]) -> tuple[Any, float | None]:
    """The result of a call, and what it added to this process's resident memory at its peak; None if not known."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")
        before = _kilobytes(status, "VmRSS")
    except OSError:
        return run(), None
    result = run()
    return result, round((_kilobytes(status, "VmHWM") - before) / 1000, 1)


def _joined(rows: np.ndarray, last: np.ndarray | int) -> np.ndarray:
    return np.column_stack([rows, np.broadcast_to(last, len(rows))]).astype(np.float32)


def _kilobytes(status: Path, field: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))
