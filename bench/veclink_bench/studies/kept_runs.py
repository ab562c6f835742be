"""Results of a study as one JSON file: what was asked, a summary, and one line for each run."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from veclink import Links
from veclink_bench.arguments import resumable_parser
from veclink_bench.real_cases import Problem
from veclink_bench.studies.real import scores

Run = dict[str, Any]
Missing = Callable[[Namespace, list[Run]], Iterator[Callable[[], Run | None]]]
"""From the options and the runs so far: what makes each run that is not there; None where there is nothing to keep."""


def measure_missing(doc: str | None, output: Path, missing: Missing, heading: Callable[[list[Run]], Run]) -> None:
    """The command of a study: measure what the output file lacks, and write it after every run.

    heading: from the runs, what stands before them in the file: what was asked, and a summary.
    """
    arguments = resumable_parser(doc, output, trials=2)
    arguments.add_argument("--only", default="", help="cases whose names hold this text")
    options = arguments.parse_args()
    runs = read_runs(options.output)
    if options.table:
        print(json.dumps(heading(runs), indent=2))
        return
    ends = time.monotonic() + options.seconds
    for measure in missing(options, list(runs)):
        if time.monotonic() > ends:
            return
        run = measure()
        if run is not None:
            runs.append(run)
            write_runs(options.output, heading(runs), runs)
            print(json.dumps(run), flush=True)


def read_runs(path: Path) -> list[Run]:
    """The runs that a file holds; none where there is no file."""
    return json.loads(path.read_text())["runs"] if path.exists() else []


def write_runs(path: Path, heading: Run, runs: list[Run]) -> None:
    """Write the heading and the runs, whole or not at all."""
    head = json.dumps(heading, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(run, ensure_ascii=False)}" for run in runs)
    part = path.with_suffix(".part")
    part.write_text(f'{head},\n "runs": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    os.replace(part, path)


def best_start(links: Links) -> str:
    """The name of the start that agreed on most."""
    name, _ = max(links.trace["starts"], key=itemgetter(1))
    return name


def compared(problem: Problem, links: Links, seconds: float) -> dict[str, Any]:
    """What the links say of themselves beside what is true."""
    of_a, of_b = problem.object_a[links.pairs[:, 0]], problem.object_b[links.pairs[:, 1]]
    told = links.summary.precision
    return {
        "verdict": links.summary.verdict,
        "links": len(links),
        "right": int((of_a == of_b).sum()),
        "f1": round(100 * scores(problem, links.pairs)["f1"], 1),
        "told_precision": None if told is None else round(100 * told, 1),
        "seconds": round(seconds, 1),
    }
