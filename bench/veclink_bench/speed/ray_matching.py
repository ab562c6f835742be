"""The exact pass in Ray tasks on one machine, against one process there.

    veclink bench ray-matching [--rows 30000] [--dimension 384] [--workers 1 2] [--rounds 3] [--out FILE]

One process matches with one thread, then with as many threads as there are workers; then so many workers of a cluster
on this machine do, one thread each. They take turns, and the median of each counts. `efficiency` is the time of one
thread, divided by the workers and by their time: 1 where nothing is lost. `put_seconds` is what it takes to put the
rows into the object store, once for a run; `stored_mb` what they take there. `quiet` is the share of the cores that a
loop gets before anything starts.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from veclink.backends import ray_clouds
from veclink.backends.ray_clouds import Cluster, Stored, connected
from veclink.errors import needed
from veclink.matching import match
from veclink.matching.rankings import Ranks
from veclink.threads import computing
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.speed.cpu import noisy_views
from veclink_bench.speed.machine import share_of_cores

NEIGHBOURS = 10
Sides = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=30_000)
    arguments.add_argument("--dimension", type=int, default=384)
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "ray_matching.json")
    given = arguments.parse_args()
    result = measure(noisy_views(given.rows, given.dimension), given.workers, given.rounds)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def measure(sides: Sides, workers: list[int], rounds: int) -> dict[str, Any]:
    """Seconds of one exact pass by one thread, and for each number of workers by as many threads and by tasks."""
    quiet = share_of_cores(max(workers))
    alone = _median(_by_threads(sides, 1), rounds)
    counts = []
    for count in workers:
        by_threads = _median(_by_threads(sides, count), rounds)
        with workers_here(count) as cluster:
            began = time.perf_counter()
            stored = _put(cluster, sides[0]), _put(cluster, sides[1])
            put = time.perf_counter() - began
            by_tasks = _median(_by_tasks(cluster, stored), rounds)
        counts.append(
            {
                "workers": count,
                "threads_seconds": round(by_threads, 2),
                "tasks_seconds": round(by_tasks, 2),
                "efficiency": round(alone / (count * by_tasks), 3),
                "put_seconds": round(put, 2),
                "stored_mb": round((sides[0].nbytes + sides[1].nbytes) / 1e6),
            }
        )
    rows, dimension = sides[0].shape
    return {
        "rows": rows,
        "dimension": dimension,
        "rounds": rounds,
        "cores": os.cpu_count(),
        "quiet": quiet,
        "one_thread_seconds": round(alone, 2),
        "by_workers": counts,
    }


@contextmanager
def workers_here(count: int) -> Iterator[Cluster]:
    """A cluster on this machine with so many workers, while the block lasts."""
    ray: Any = needed("ray", "A cluster")
    ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False)
    try:
        with connected("auto", "cpu") as cluster:
            yield cluster
    finally:
        ray.shutdown()


def _put(cluster: Cluster, rows: np.ndarray) -> Stored:
    size = ray_clouds.BLOCK
    blocks = [cluster.ray.put(rows[start : start + size]) for start in range(0, len(rows), size)]
    return Stored(blocks, size, (rows.shape[0], rows.shape[1]))


def _by_threads(sides: Sides, threads: int) -> Callable[[], Any]:
    def run() -> Any:
        with computing(threads):
            return match(*sides, k=NEIGHBOURS)

    return run


def _by_tasks(cluster: Cluster, stored: tuple[Stored, Stored]) -> Callable[[], Any]:
    return lambda: ray_clouds.match(*stored, cluster, Ranks(NEIGHBOURS, 1, None))


def _median(run: Callable[[], Any], rounds: int) -> float:
    """The median of some runs, after one that loads and compiles what they need."""
    run()
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
