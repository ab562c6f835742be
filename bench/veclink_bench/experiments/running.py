"""Running cells and keeping what they measured: in order, in several processes, going on where a run stopped."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from veclink import __version__
from veclink.errors import VeclinkError
from veclink.files.atomic import written_whole
from veclink_bench.experiments import EXPERIMENTS, WITHOUT_LINKS, load
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.versions import is_current, method_of, version_of

MOST_BREAKS = 3
SAVE_EVERY = 5.0  # seconds; what a killed run may lose
SLACK = 1.3  # a cell begins when so many times the seconds that it took before are left
Cell = dict[str, Any]
"""Settings and measurements of one cell, together."""


@dataclass(frozen=True)
class Job:
    """One cell to run."""

    experiment: str
    setup: Setup
    settings: Settings
    wall: float = 0.0  # seconds that it took before, 0 where nothing is known


def key_of(settings: Settings) -> str:
    """The name of a cell: its settings, in their order."""
    return " ".join(
        f"{name}={'-'.join(value) if isinstance(value, list) else value}" for name, value in settings.items()
    )


class Store:
    """The cells of an experiment in a JSON file, one line each."""

    def __init__(self, path: Path, name: str, setup: Setup, *, again: bool = False) -> None:
        self.path, self.name, self.setup = path, name, setup
        self.measured: dict[str, Cell] = {}
        self.unsaved, self._saved = False, time.monotonic()
        if path.exists() and not again:
            self.measured = json.loads(path.read_text())["cells"]

    def missing(self) -> list[Settings]:
        """Settings of the cells that were not measured yet with the code as it is now."""
        return [each for each in load(self.name).cells(self.setup) if not self._has(key_of(each))]

    def cells(self) -> list[Cell]:
        """What was measured of this setup, in the order of its cells."""
        every = (key_of(each) for each in load(self.name).cells(self.setup))
        return [self.measured[key] for key in every if key in self.measured]

    def jobs(self) -> list[Job]:
        """What is missing, with the seconds that each took on this device, or the most that its method took."""
        walls, most = dict[str, float](), dict[str, float]()
        for key, cell in self.measured.items():
            if cell.get("device", "cpu") == self.setup.device:
                walls[key] = cell.get("wall", 0.0)
                most[method_of(cell)] = max(most.get(method_of(cell), 0.0), walls[key])
        wanted = [(each, walls.get(key_of(each), most.get(method_of(each), 0.0))) for each in self.missing()]
        return [Job(self.name, self.setup, each, wall) for each, wall in wanted]

    def _has(self, key: str) -> bool:
        return key in self.measured and (self.name in WITHOUT_LINKS or is_current(self.measured[key]))

    def add(self, settings: Settings, measured: dict[str, Any]) -> None:
        """Take in a cell; the file is written now and then, and by `save`."""
        self.measured[key_of(settings)] = settings | measured
        self.unsaved = True
        if time.monotonic() - self._saved > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the file whole: the cells of this setup in their order, then others it held before."""
        order = [key_of(each) for each in load(self.name).cells(self.setup)]
        order = [key for key in order if key in self.measured] + [key for key in self.measured if key not in set(order)]
        kept = {key: _rounded(self.measured[key]) for key in order}
        cells = ",\n".join(f"  {json.dumps(key)}: {json.dumps(cell, ensure_ascii=False)}" for key, cell in kept.items())
        head = {"experiment": self.name, "title": EXPERIMENTS[self.name], "veclink": __version__}
        text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + f',\n "cells": {{\n{cells}\n }}\n}}\n'
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self.path) as temporary:
            temporary.write_text(text)
        self.unsaved, self._saved = False, time.monotonic()


def run_jobs(
    jobs: Iterable[Job], *, processes: int = 1, seconds: float | None = None, failed: Callable[[Job, Exception], None]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Each job with what it measured, as they end. A job that fails is told to `failed`, and the others go on.

    jobs: begun in their order. seconds: a job begins only where it is likely to end within this time, so that shorter
    ones come first towards the end; those that are still running then are given up.
    """
    end = None if seconds is None else time.monotonic() + seconds
    waiting = list(jobs)
    if processes > 1:
        yield from _run_in_pool(waiting, processes, end, failed)
        return
    while (job := _next(waiting, end)) is not None:
        yield from _ended(job, partial(_work, job), failed)


def _next(waiting: list[Job], end: float | None) -> Job | None:
    """The first job that is likely to end in time, taken out of those that wait."""
    left = math.inf if end is None else end - time.monotonic()
    place = next((place for place, job in enumerate(waiting) if left > 0 and SLACK * job.wall <= left), None)
    return None if place is None else waiting.pop(place)


def _run_in_pool(
    waiting: list[Job], processes: int, end: float | None, failed: Callable[[Job, Exception], None]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    running = dict[Future[dict[str, Any]], Job]()
    _one_thread_each()
    pool = _new_pool(processes)
    breaks = 0
    try:
        while True:
            while len(running) < processes and (job := _next(waiting, end)) is not None:
                running[pool.submit(_work, job)] = job
            if not running:
                return
            left = None if end is None else max(end - time.monotonic(), 0.0)
            done, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                return
            if any(isinstance(future.exception(), BrokenProcessPool) for future in done) and breaks < MOST_BREAKS:
                # A process was killed (for want of memory, most likely); which cell did it, nobody can tell.
                breaks += 1
                waiting[:0] = [job for future, job in running.items() if not future.done() or future.exception()]
                done = {future for future in running if future.done() and not future.exception()}
                kept = {future: running[future] for future in done}
                running.clear()
                running.update(kept)
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _new_pool(processes)
            for future in done:
                yield from _ended(running.pop(future), future.result, failed)
    finally:
        for process in list((pool._processes or {}).values()) if end is not None and running else []:
            process.terminate()  # its cell is measured anew in the next run
        pool.shutdown(wait=end is None, cancel_futures=True)


def _new_pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"))


def _ended(
    job: Job, result: Callable[[], dict[str, Any]], failed: Callable[[Job, Exception], None]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    try:
        yield job, result()
    except Exception as error:  # whatever one cell meets, the others can still be measured
        failed(job, error)


def _work(job: Job) -> dict[str, Any]:
    began = time.perf_counter()
    module = load(job.experiment)
    try:
        measured = module.run(job.setup, job.settings)
    except Exception as error:
        if job.setup.device == "cpu" or isinstance(error, VeclinkError):
            raise
        # A shared GPU can be out of memory for a moment; the CPU gives the same figures, only later.
        told = f"{type(error).__name__}: {str(error)[:300]}"
        measured = module.run(replace(job.setup, device="cpu"), job.settings) | {"device": "cpu", "gpu_error": told}
    return measured | {
        "device": measured.get("device", job.setup.device),
        "version": version_of(method_of(job.settings)),
        "wall": round(time.perf_counter() - began, 2),
        "cores": os.cpu_count(),
    }


def _one_thread_each() -> None:
    # The processes share the cores; more threads in each would only get in each other's way. They read this when numpy
    # is imported there, so it has to be set here, before they begin.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value
