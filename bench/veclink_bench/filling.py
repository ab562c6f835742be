"""Measure the missing cells of several tables at once, the most important first, on all cores and a GPU.

    veclink bench fill main grid --data DIR --out DIR --jobs 12 --gpu-jobs 4 --minutes 8
    veclink bench fill main grid --take DIR

`veclink bench NAME --jobs N` does one table after another, on one device. Here the cells of all tables wait in one
queue: span and GEH at its best, then the first trial of all others, GEH to the letter, further trials of the rivals.
The processes of the GPU take GEH's cells only, whichever is quicker taking more of them. Each cell is kept as it ends,
and the next run goes on. `--take` brings the cells that another machine measured with this very code into the committed
results, drops those of other versions, and leaves the pages to `veclink bench results`.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.experiments import EXPERIMENTS
from veclink_bench.experiments.main import TRIALS
from veclink_bench.experiments.running import Cell, Job, Store, run_jobs
from veclink_bench.experiments.setup import Setup
from veclink_bench.places import data_folder, results_folder
from veclink_bench.versions import is_current, method_of, version_of

FIRST = ("span", "geh tuned")
TRIALS_OF_RIVALS = 2
GPU_METHODS = ("geh", "geh tuned")


def main() -> None:
    """Measure, or take in what was measured elsewhere."""
    options = _options()
    setup = Setup(data_folder(options.data), full=True)
    if options.take:
        for name in options.tables:
            committed = Store(results_folder("experiments") / f"{name}.json", name, setup)
            take(committed, Store(options.take / f"{name}.json", name, setup).measured)
        return
    stores = {name: Store(options.out / f"{name}.json", name, setup) for name in options.tables}
    jobs = in_order([Job(name, setup, each) for name, store in stores.items() for each in store.missing()])
    jobs = [job for job in jobs if _has_data(job)]
    told = {method: version_of(method) for method in ("span", "geh", "procrustes")}
    print(f"{len(jobs)} cells to measure with {told}", flush=True)
    lanes = [Lane("cpu", options.jobs), Lane("cuda", options.gpu_jobs)]
    Filling(stores, jobs).run([lane for lane in lanes if lane.processes], options.minutes * 60)


@dataclass(frozen=True)
class Lane:
    """Processes of one device."""

    device: str
    processes: int

    def takes(self, job: Job) -> bool:
        """Whether a cell is for this device: a GPU is worth it for GEH's many views."""
        return self.device == "cpu" or job.settings["method"] in GPU_METHODS


class Filling:
    """Cells that wait, and the stores that what they measured goes to; shared by the threads of the lanes."""

    def __init__(self, stores: dict[str, Store], jobs: list[Job]) -> None:
        self.stores, self.waiting, self.total = stores, jobs, len(jobs)
        self._lock, self._began, self._ended = Lock(), time.monotonic(), 0
        self._closed = set[str]()

    def run(self, lanes: list[Lane], seconds: float) -> None:
        """Measure until no cell is left, or for so long; keep what was measured either way."""
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
                self._keep(job, {"device": lane.device} | measured)

    def _taken_by(self, lane: Lane) -> Iterator[Job]:
        while lane.device not in self._closed:
            with self._lock:
                job = next((each for each in self.waiting if lane.takes(each)), None)
                if job is None:
                    return
                self.waiting.remove(job)
            yield replace(job, setup=replace(job.setup, device=lane.device))

    def _keep(self, job: Job, measured: dict[str, Any]) -> None:
        self.stores[job.experiment].add(job.settings, measured)
        self._ended += 1
        seconds = time.monotonic() - self._began
        told = f"{measured['device']} {measured['wall']} s, F1 {measured['f1']:.1f}"
        print(f"{self._ended}/{self.total} {seconds:.0f} s: {_name(job)}: {told}", flush=True)

    def _failed(self, job: Job, reason: str) -> None:
        print(f"failed: {_name(job)}: {reason}", flush=True)
        if job.setup.device != "cpu":
            # What fails there would fail for every cell, and leave none to the CPU.
            self._closed.add(job.setup.device)
            self.waiting.insert(0, job)


def in_order(jobs: list[Job]) -> list[Job]:
    """The cells that are wanted, the most important first."""
    wanted = [job for job in jobs if _trials(job) > job.settings["state"]]
    return sorted(wanted, key=_rank)


def _trials(job: Job) -> int:
    """Trials of a cell's method: all there are of span and GEH, fewer of rivals."""
    return TRIALS_OF_RIVALS if method_of(job.settings) not in ("span", "geh") else TRIALS


def _rank(job: Job) -> int:
    """Span and GEH at its best, table by table; the first trial of all others, so that no row is empty; GEH; rivals."""
    method, state = job.settings["method"], job.settings["state"]
    if method in FIRST:
        return 0
    if state == 0:
        return 1
    return 2 if method == "geh" else 3


def _has_data(job: Job) -> bool:
    corpus, *models = job.settings["pair"]
    return all((job.setup.data / corpus / f"{model}.npy").exists() for model in models)


def _name(job: Job) -> str:
    settings = job.settings
    parts = (*settings["pair"], settings["overlap"], settings["seeds"], settings["method"], settings["state"])
    return f"{job.experiment} {' '.join(map(str, parts))}"


def take(committed: Store, brought: dict[str, Cell]) -> None:
    """Put another machine's cells into the committed ones, and drop all that are of another version."""
    if not brought:
        print(f"{committed.name}: nothing was brought.")
        return
    kept = {key: cell for key, cell in (committed.measured | brought).items() if is_current(cell)}
    other = {method_of(cell): cell.get("version") for cell in brought.values() if not is_current(cell)}
    committed.measured = kept
    committed.save()
    jobs = [Job(committed.name, committed.setup, each) for each in committed.missing()]
    told = f"{len(brought)} brought, {len(kept)} kept, {len(in_order(jobs))} missing"
    print(f"{committed.name}: {told}; brought of other versions: {other}")


def _options() -> Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("tables", nargs="+", choices=tuple(EXPERIMENTS), metavar="TABLE", help="main, grid, …")
    arguments.add_argument("--data", default=None, help="a folder per corpus, MODEL.npy in each; else $VECLINK_DATA")
    arguments.add_argument("--out", type=Path, default=results_folder("experiments"), help="where the JSON goes")
    arguments.add_argument("--jobs", type=int, default=2, help="processes of one thread each")
    arguments.add_argument("--gpu-jobs", type=int, default=0, help="processes that share the GPU")
    arguments.add_argument("--minutes", type=float, default=8.0, help="stop then")
    arguments.add_argument("--take", type=Path, metavar="DIR", help="bring in what was measured elsewhere")
    return arguments.parse_args()
