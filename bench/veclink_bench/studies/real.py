"""Collections as users have them (`real_cases`): what links say of themselves beside what is true, trial by trial.

    veclink bench real --data DIR [--half report] [--trials 5] [--seeds 15] [--part 1/16] [--only TEXT]

Results are kept in results/experiments/real-HALF.PART.jsonl, one line for each trial, with the behaviour that made it
(`versions`); trials of the behaviour that the code has now are not run again. `--part 3/16` runs the third of sixteen
parts, for as many processes. `--table` prints the means of what is kept, kind by kind, with how often the ranges hold
the truth.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink_bench.arguments import parser
from veclink_bench.places import data_folder, results_folder
from veclink_bench.real_cases import Case, Corpora, Problem, cases
from veclink_bench.real_table import kinds_table
from veclink_bench.versions import version_of

RESULTS = results_folder("experiments")
WANTED_PRECISIONS = (0.9, 0.95, 0.99)
Line = dict[str, Any]


def trial(case: Case, corpora: Corpora, **options: Any) -> Line:
    """One trial: what the links say, what is true of them, and the seconds of one core that it took."""
    problem = case.problem(corpora)
    began = time.process_time()
    links = link(problem.a, problem.b, seeds=problem.seeds, device="cpu", random_state=case.trial, **options)
    seconds = time.process_time() - began
    head = {"case": case.name, "kind": case.kind, "label": case.label, "version": version_of("span")}
    return head | {"seconds": round(seconds, 2), **measured(problem, links)}


def measured(problem: Problem, links: Links) -> dict[str, Any]:
    """What the links say of themselves beside what is true."""
    summary = links.summary
    return {
        "n_a": len(problem.a),
        "n_b": len(problem.b),
        "shared": len(problem.shared),
        "verdict": summary.verdict,
        "links": len(links),
        "start": links.trace.get("started_from"),
        "starts": [name for name, _ in links.trace.get("starts", [])],
        "copies": list(summary.copies),
        "estimated": {"precision": summary.precision, "recall": summary.recall, "overlap": summary.overlap},
        "ranges": {
            "precision": summary.precision_range,
            "recall": summary.recall_range,
            "overlap": summary.overlap_range,
        },
        "true": scores(problem, links.pairs),
        "at": {str(wanted): _at(problem, links, wanted) for wanted in WANTED_PRECISIONS},
    }


def scores(problem: Problem, pairs: np.ndarray) -> dict[str, float]:
    """Precision of the pairs (n, 2), recall of the shared objects, F1: a copy counts as right, an object once."""
    if not len(pairs):
        return {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    left = problem.object_a[pairs[:, 0]]
    right = problem.object_b[pairs[:, 1]]
    hit = left == right
    precision = float(hit.mean())
    recall = len(np.unique(left[hit])) / max(len(problem.shared), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"precision": precision, "recall": recall, "f1": f1}


def main() -> None:
    """Run the trials that are missing, or print the table of those that are there."""
    options = _options()
    if options.table:
        print(kinds_table(kept_trials(options.half)))
        return
    path = RESULTS / f"real-{options.half}.{options.part.replace('/', '-of-')}.jsonl"
    known = {line["case"] for line in read_lines(path) if line["version"] == version_of("span")}
    corpora = Corpora(data_folder(options.data))
    asked_for = cases(options.half, trials=options.trials, seeds=tuple(options.seeds))
    for case in part_of([case for case in asked_for if options.only in case.name], options.part):
        if case.name not in known:
            add_line(path, trial(case, corpora))


def part_of(jobs: list[Any], part: str) -> list[Any]:
    """The jobs of one of several processes: of "3/16" the third, and every sixteenth after it."""
    number, parts = (int(each) for each in part.split("/"))
    return jobs[number - 1 :: parts]


def add_line(path: Path, line: Line) -> None:
    """Append a line to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def kept_trials(half: str) -> list[Line]:
    """The trials that are kept of a half."""
    return last_of_each(*sorted(RESULTS.glob(f"real-{half}.*.jsonl")))


def last_of_each(*paths: Path) -> list[Line]:
    """Of each case the trial that was measured last."""
    return list({line["case"]: line for path in paths for line in read_lines(path)}.values())


def _at(problem: Problem, links: Links, wanted: float) -> dict[str, Any]:
    some = links.at(precision=wanted)
    return {"links": len(some), "range": some.summary.precision_range, **scores(problem, some.pairs)}


def read_lines(path: Path) -> list[Line]:
    """What is kept in a file of JSON lines; nothing where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _options() -> Namespace:
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--half", choices=("choose", "report"), default="report")
    add_case_options(arguments)
    return arguments.parse_args()


def add_case_options(arguments: ArgumentParser) -> None:
    """Which cases are measured, in how many trials and from how many seeds, and whether the results are printed."""
    arguments.add_argument("--trials", type=int, default=5)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[15])
    arguments.add_argument("--part", default="1/1")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--table", action="store_true")
