"""Measure the cells of several studies at once, the most important first, in as many processes as there are cores.

    veclink bench together merge-sure advise --data DIR --out FILE.jsonl --jobs 16 --trials 5 --seconds 400
    veclink bench together merge-sure advise --take FILE.jsonl

Each cell is a line of FILE, written as it ends: its study, its name, the version of the code, and what was measured; a
second run goes on after the first. `--take` puts the lines that this very code measured into the committed results of
their studies, which drop what other versions measured.
"""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.places import data_folder
from veclink_bench.versions import version_of

STUDIES = {"merge-sure": "merge_sure", "advise": "advise"}
"""Studies whose modules have `cells(data, trials)` and `take(measured)`."""
Measured = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One measurement of a study: what it is called there, how soon it is wanted (0 first), and how it is made."""

    name: str
    rank: int
    measure: Callable[[], Measured]


def main() -> None:
    """Measure, or take in what was measured elsewhere."""
    options = _options()
    if options.take:
        for study in options.studies:
            take(study, lines(options.take))
        return
    known = {(line["study"], line["name"]) for line in lines(options.out) if _is_current(line)}
    wanted = [
        (study, cell)
        for study in options.studies
        for cell in _module(study).cells(data_folder(options.data), options.trials)
        if (study, cell.name) not in known and options.only in cell.name
    ]
    wanted.sort(key=lambda each: each[1].rank)
    measure_all(wanted[: options.most], options.out, options.jobs, options.seconds)


def measure_all(wanted: list[tuple[str, Cell]], out: Path, jobs: int, seconds: float) -> None:
    """Measure cells until none is left, or for so long; those that are not done then are given up."""
    ends = time.time() + seconds
    out.parent.mkdir(parents=True, exist_ok=True)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"  # before numpy is imported in the processes
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    running = [pool.submit(partial(_measured, study, cell, ends)) for study, cell in wanted]
    print(f"{len(running)} cells, {jobs} processes", flush=True)
    try:
        with out.open("a", encoding="utf-8") as file:
            for line in _as_they_end(running, seconds):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                print(f"{line['seconds']:.0f} s: {line['study']} {line['name']}", flush=True)
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


def _as_they_end(running: list[Future[Measured | None]], seconds: float) -> Iterator[Measured]:
    try:
        for future in as_completed(running, timeout=seconds):
            error = future.exception()
            if error is not None:  # whatever one cell meets, the others can still be measured
                print(f"failed: {type(error).__name__}: {error}", flush=True)
            elif (line := future.result()) is not None:
                yield line
    except TimeoutError:
        print(f"{sum(not each.done() for each in running)} cells were not done in time", flush=True)


def _measured(study: str, cell: Cell, ends: float) -> Measured | None:
    """The line of a cell; None where the time is over."""
    if time.time() > ends:
        return None
    began = time.process_time()
    found = cell.measure()
    seconds = round(time.process_time() - began, 1)
    return {"study": study, "name": cell.name, "version": version_of(study), "seconds": seconds, "measured": found}


def take(study: str, brought: list[Measured]) -> None:
    """Put another machine's cells into a study's committed results."""
    mine = [line for line in brought if line["study"] == study]
    current = {line["name"]: line["measured"] | {"version": line["version"]} for line in mine if _is_current(line)}
    if current:
        _module(study).take(current)
    print(f"{study}: {len(current)} cells taken, {len(mine) - len(current)} of other versions left")


def lines(path: Path) -> list[Measured]:
    """The lines of a file; a last one that a killed run left unfinished does not count."""
    if not path.exists():
        return []
    whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def _is_current(line: Measured) -> bool:
    return bool(line["version"] == version_of(line["study"]))


def _module(study: str) -> Any:
    return import_module(f"veclink_bench.studies.{STUDIES[study]}")


def _options() -> Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("studies", nargs="+", choices=tuple(STUDIES), metavar="STUDY", help=", ".join(STUDIES))
    arguments.add_argument("--data", default=None, help="a folder per corpus, MODEL.npy in each; else $VECLINK_DATA")
    arguments.add_argument("--out", type=Path, default=Path("cells.jsonl"), help="where the lines go")
    arguments.add_argument("--jobs", type=int, default=2, help="processes of one thread each")
    arguments.add_argument("--trials", type=int, default=5, help="trials of each case")
    arguments.add_argument("--seconds", type=float, default=600.0, help="end then")
    arguments.add_argument("--only", default="", help="cells with this in their name")
    arguments.add_argument("--most", type=int, default=None, help="so many cells at most")
    arguments.add_argument("--take", type=Path, metavar="FILE", help="bring in what was measured elsewhere")
    return arguments.parse_args()
