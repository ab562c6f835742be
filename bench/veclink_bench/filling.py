"""Measure the missing cells of several tables at once, the most important first, on all cores and a GPU.

    veclink bench fill main grid --data DIR --out DIR --jobs 10 --gpu-jobs 6 --minutes 8
    veclink bench fill main grid --take DIR [DIR …]

`veclink bench NAME --jobs N` does one table after another, on one device. Here the cells of all tables wait in one
queue: of the main table and the grid, span and GEH at its best, then the first trial of all others, GEH to the letter
and GloVe, further trials of the rivals; then the other tables as they are named, each whole before the next. Methods
that a GPU is much quicker for run there, the others on a core each; a process that finds nothing of its own kind takes
what is left. Each cell is kept as it ends, and the next run goes on. `--take` brings the cells that another machine
measured with this very code into the committed results, drops those of other versions, and leaves the pages to `veclink
bench results`.
"""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.experiments.main import TRIALS
from veclink_bench.experiments.running import Cell, Job, Store, key_of, run_jobs
from veclink_bench.experiments.setup import Setup
from veclink_bench.places import data_folder, results_folder
from veclink_bench.versions import is_current, method_of, version_of

FIRST = ("span", "geh tuned")
TRIALS_OF_RIVALS = 2
GPU_METHODS = ("geh", "ugw")  # and what begins so, "geh tuned": tens of times as quick there
FIRST_TABLES = ("main", "grid")
LAST = 3  # the rank from which on cells may be cut off
# Seconds of one cell on one core, where they are many.
SECONDS = {"centroids": 27, "ao": 17, "self-learning cut": 10, "self-learning tuned": 10, "mlp": 6}
HARD = ("movies", "glove")  # corpora and models of which a cell takes several times as long


def main() -> None:
    """Measure, or take in what was measured elsewhere."""
    options = _options()
    setup = Setup(data_folder(options.data), full=True)
    if options.take:
        for name in options.tables:
            committed = Store(results_folder("experiments") / f"{name}.json", name, setup)
            brought: dict[str, Cell] = {}
            for folder in options.take:
                brought |= Store(folder / f"{name}.json", name, setup).measured
            take(committed, brought, partly=options.partly)
        return
    stores = {name: Store(options.out / f"{name}.json", name, setup) for name in options.tables}
    jobs = in_order([Job(name, setup, each) for name, store in stores.items() for each in store.missing()])
    jobs = [job for job in jobs if has_data(job)]
    told = {method: version_of(method) for method in ("span", "geh", "procrustes")}
    print(f"{len(jobs)} cells to measure with {told}", flush=True)
    lanes = [Lane(options.jobs), Lane(options.gpu_jobs, gpu=True)]
    Filling(stores, jobs).run([lane for lane in lanes if lane.processes], options.minutes * 60)
    for line in _walls(stores):
        print(line)


@dataclass(frozen=True)
class Lane:
    """Processes that take the cells of one kind first: those for a GPU, or the others."""

    processes: int
    gpu: bool = False


class Filling:
    """Cells that wait, and the stores that what they measured goes to; shared by the threads of the lanes."""

    def __init__(self, stores: dict[str, Store], jobs: list[Job]) -> None:
        self.stores, self.waiting, self.total = stores, jobs, len(jobs)
        self._lock, self._began, self._ended = Lock(), time.monotonic(), 0
        self._gpu = False

    def run(self, lanes: list[Lane], seconds: float) -> None:
        """Measure until no cell is left, or for so long; keep what was measured either way."""
        self._gpu = any(lane.gpu for lane in lanes)
        threads = [Thread(target=self._measure, args=(lane, seconds)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for store in self.stores.values():
            if store.measured:
                store.save()

    def _measure(self, lane: Lane, seconds: float) -> None:
        for job, measured in run_jobs(
            self._taken_by(lane), processes=lane.processes, seconds=seconds, failed=self._failed
        ):
            with self._lock:
                self._keep(job, {"device": job.setup.device} | measured)

    def _taken_by(self, lane: Lane) -> Iterator[Job]:
        while True:
            with self._lock:
                if not self.waiting:
                    return
                own = (job for job in self.waiting if self._on_gpu(job) == lane.gpu)
                job = next(own, self.waiting[0])
                self.waiting.remove(job)
                device = "cuda" if self._on_gpu(job) else "cpu"
            yield replace(job, setup=replace(job.setup, device=device))

    def _on_gpu(self, job: Job) -> bool:
        # Seconds are compared there, so all methods have the same device.
        return self._gpu and (_method(job).startswith(GPU_METHODS) or job.experiment == "scalability")

    def _keep(self, job: Job, measured: dict[str, Any]) -> None:
        failure = measured.pop("gpu_error", None)
        if failure:
            print(f"on a core, as the GPU failed: {failure}", flush=True)
        self.stores[job.experiment].add(job.settings, measured)
        self._ended += 1
        seconds = time.monotonic() - self._began
        told = f"{measured['device']} {measured['wall']} s, F1 {measured.get('f1', float('nan')):.1f}"
        print(f"{self._ended}/{self.total} {seconds:.0f} s: {_name(job)}: {told}", flush=True)

    def _failed(self, job: Job, reason: str) -> None:
        print(f"failed: {_name(job)}: {reason}", flush=True)
        if job.setup.device != "cpu":
            # What fails there would fail for every cell; from now on all run on cores.
            with self._lock:
                self._gpu = False
                self.waiting.insert(0, job)


def in_order(jobs: list[Job]) -> list[Job]:
    """The cells that are wanted, the most important first.

    Of equally important ones the longest are first, so that no process waits for one at the end; of those that may be
    cut off the shortest, so that most of them are done.
    """
    wanted = [job for job in jobs if _trials(job) > job.settings.get("state", 0)]
    tables = list(dict.fromkeys(job.experiment for job in wanted))

    def place(job: Job) -> tuple[int, float]:
        rank = _rank(job, tables)
        return rank, _seconds(job) * (1 if rank >= LAST else -1)

    return sorted(wanted, key=place)


def _trials(job: Job) -> float:
    """Trials of a cell's method: all there are of span and GEH, and of everything in most tables; fewer of rivals."""
    if job.experiment not in FIRST_TABLES:
        return math.inf
    return TRIALS if method_of(job.settings) in ("span", "geh") else TRIALS_OF_RIVALS


def _rank(job: Job, tables: list[str]) -> int:
    """Span and GEH at its best; the first trial of all others, so that no row is empty; GEH; rivals; other tables.

    A table half of which is of another version cannot be shown, so that each of those is finished before the next.
    """
    method, state = _method(job), job.settings.get("state", 0)
    if job.experiment in FIRST_TABLES:
        if method in FIRST:
            return 0
        if state == 0:
            return 1
        return 2 if method == "geh" else LAST
    return 2 if job.experiment == "glove" else LAST + 1 + tables.index(job.experiment)


def _seconds(job: Job) -> float:
    """About how long a cell takes, for the order alone."""
    hard = any(name in HARD for name in job.settings.get("pair", ()))
    return SECONDS.get(_method(job), 1) * (5 if hard else 1)


def _method(job: Job) -> str:
    return str(job.settings.get("links_by") or job.settings.get("method") or "")


def has_data(job: Job) -> bool:
    """Whether the vectors that a cell is measured on are there."""
    corpus, *models = job.settings.get("pair") or job.settings["collections"]
    joined = corpus.split("+")
    corpora = {*joined, job.settings.get("outside", joined[0])}
    return all((job.setup.data / each / f"{model}.npy").exists() for each in corpora for model in models)


def _name(job: Job) -> str:
    return f"{job.experiment} {key_of(job.settings)}"


def _walls(stores: dict[str, Store]) -> list[str]:
    """Cells measured so far and their mean seconds, by method and device; those missing."""
    walls: dict[tuple[str, str], list[float]] = {}
    for store in stores.values():
        for cell in filter(is_current, store.measured.values()):
            kind = str(cell.get("links_by") or cell.get("method")), str(cell.get("device"))
            walls.setdefault(kind, []).append(cell["wall"])
    means = [f"{name}, {device}: {len(own)} × {sum(own) / len(own):.1f} s" for (name, device), own in walls.items()]
    left = {
        name: len(in_order([Job(name, store.setup, each) for each in store.missing()]))
        for name, store in stores.items()
    }
    return [*means, f"missing: {left}"]


def take(committed: Store, brought: dict[str, Cell], *, partly: bool = False) -> None:
    """Put another machine's cells into the committed ones, and drop all that are of another version.

    partly: even where some cell then has no trial at all; else the table is left as it is.
    """
    kept = {key: cell for key, cell in (committed.measured | brought).items() if is_current(cell)}
    wanted = in_order(
        [Job(committed.name, committed.setup, each) for each in load(committed.name).cells(committed.setup)]
    )
    missing = [job for job in wanted if key_of(job.settings) not in kept]
    without = [job for job in missing if job.settings.get("state", 0) == 0]
    other = {method_of(cell): cell.get("version") for cell in brought.values() if not is_current(cell)}
    told = f"{len(brought)} brought, {len(kept)} of this version, {len(missing)} missing"
    print(f"{committed.name}: {told}; brought of other versions: {other}")
    if not brought or (without and not partly):
        print(f"{committed.name}: left as it is; {len(without)} cells would have no trial (--partly takes the others).")
        return
    committed.measured = kept
    committed.save()


def _options() -> Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("tables", nargs="+", choices=tuple(EXPERIMENTS), metavar="TABLE", help="main, grid, …")
    arguments.add_argument("--data", default=None, help="a folder per corpus, MODEL.npy in each; else $VECLINK_DATA")
    arguments.add_argument("--out", type=Path, default=results_folder("experiments"), help="where the JSON goes")
    arguments.add_argument("--jobs", type=int, default=2, help="processes of one thread each")
    arguments.add_argument("--gpu-jobs", type=int, default=0, help="processes that share the GPU")
    arguments.add_argument("--minutes", type=float, default=8.0, help="stop then")
    arguments.add_argument("--take", type=Path, nargs="+", metavar="DIR", help="bring in what was measured elsewhere")
    arguments.add_argument("--partly", action="store_true", help="take in a table of which some cells are missing")
    return arguments.parse_args()
