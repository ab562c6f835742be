"""link() on a machine that does other work too: beside 0, 1 and 4 processes that never rest, on two cores.

    veclink bench busy [--rows 3400] [--cores 2] [--busy 0 1 4] [--rounds 3] [--vectors FA FB] [--out FILE]

This process and those beside it share the first cores that it may use, so that a larger machine measures the same.
The cases take turns, the median of each counts, and `slowdown` is against no process beside it. A fair share of c cores
for t threads beside p processes is c·t/(t + p): `fair` is the slowdown that it makes of work on all cores.
`quiet` is the share of those cores that a loop gets before anything starts: below 1, others were at work there, and
the figures say little. Vectors: two .npy files, row i of both the same object; else blends of the bundled sample.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.linkers.linking import link
from veclink.threads import cores as cpu_cores
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.speed.cpu import blended_papers
from veclink_bench.speed.machine import machine_name, share_of_cores
from veclink_bench.splits import draw_seeds, split

OVERLAP = 0.3
SEEDS = 15


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=3_400)
    arguments.add_argument("--cores", type=int, default=2)
    arguments.add_argument("--busy", type=int, nargs="+", default=[0, 1, 4])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--vectors", type=Path, nargs=2, metavar=("FA", "FB"))
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "busy.json")
    given = arguments.parse_args()
    result = measure(given.rows, given.cores, given.busy, given.rounds, given.vectors)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def measure(
    rows: int,
    cores: int,
    busy: list[int],
    rounds: int,
    vectors: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """Seconds of link() beside so many busy processes, and the slowdown against the first of `busy`."""
    run, found = _linking(rows, vectors)
    with bound_to(cores) as bound:
        timed = _timed(run, busy, rounds, bound)
    return {**found, "cores": bound, "rounds": rounds, "machine": machine_name(), **timed}


def _timed(run: Callable[[], Links], busy: list[int], rounds: int, cores: int) -> dict[str, Any]:
    quiet = share_of_cores(cores)
    run()  # loads the compiled loops
    seconds: dict[int, list[float]] = {count: [] for count in busy}
    cpu: dict[int, list[float]] = {count: [] for count in busy}
    links = set()
    for _ in range(rounds):
        for count in busy:
            with busy_processes(count):
                began, cpu_began = time.perf_counter(), time.process_time()
                links.add(_fingerprint(run()))
                seconds[count].append(round(time.perf_counter() - began, 3))
                cpu[count].append(round(time.process_time() - cpu_began, 3))
    middle = {count: statistics.median(times) for count, times in seconds.items()}
    alone = middle[busy[0]]
    return {
        "quiet": quiet,
        "seconds": {str(count): value for count, value in middle.items()},
        "slowdown": {str(count): round(value / alone, 2) for count, value in middle.items()},
        "fair": {str(count): round((cores + count) / cores, 2) for count in busy},
        "all_links_the_same": len(links) == 1,
        "all_seconds": {str(count): values for count, values in seconds.items()},
        "cpu_seconds": {str(count): values for count, values in cpu.items()},
    }


@contextmanager
def bound_to(cores: int) -> Iterator[int]:
    """This process and those that it starts on its first cores; how many they are."""
    before = os.sched_getaffinity(0)
    chosen = sorted(before)[:cores]
    os.sched_setaffinity(0, chosen)
    cpu_cores.cache_clear()
    try:
        yield len(chosen)
    finally:
        os.sched_setaffinity(0, before)
        cpu_cores.cache_clear()


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that compute without rest, on the same cores as this one."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    if processes:
        time.sleep(1.0)  # until all of them have started
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _spin() -> None:
    while True:
        pass


def _linking(rows: int, vectors: tuple[Path, Path] | None) -> tuple[Callable[[], Links], dict[str, Any]]:
    """What runs, and on what."""
    objects = round(rows * 2 / (1 + OVERLAP))
    left, right = blended_papers(objects) if vectors is None else (np.load(each)[:objects] for each in vectors)
    rng = np.random.default_rng(0)
    cut = split(len(left), OVERLAP, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    seeds = draw_seeds(cut.truth, SEEDS, rng)
    data = "blends of the bundled sample"
    if vectors is not None:
        data = f"{vectors[0].parent.name}: {vectors[0].stem}, {vectors[1].stem}"
    return partial(link, a, b, seeds=seeds, device="cpu"), {"rows": [len(a), len(b)], "data": data}


def _fingerprint(links: Links) -> str:
    return hashlib.sha256(links.pairs.tobytes() + links.probability.tobytes()).hexdigest()
