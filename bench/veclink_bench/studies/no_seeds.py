"""Linking from nothing or from a few seeds, beside a run from fifteen seeds on the same split.

    veclink bench no-seeds --data DIR [--trials 5] [--only TEXT] [--from 4,8] [--seconds 600] [--processes 1] [--table]

A run has started where it finds links, with an F1 within three points of the run from fifteen seeds. Trials are kept in
results/experiments/no_seeds.json with the version of the code that made them; those that are there are not run again,
and none is begun after --seconds. `--from` measures these numbers of seeds alone, and leaves the others of a trial as
they are. `--table` prints them, one line for each pair of models.

What was tried for starts and did not help: independent components of both clouds matched by their distributions (at
most 4 of 16 come out right on reddit minilm-e5), third moments matched over random turns (a wrong turn matches better
than the right one on reddit), Laplacian eigenvectors, kernel principal components, stopping beginnings after 8 to 20
rounds (the sum says nothing yet), votes of canonical maps to refine a pool (as good as growing).

What did help: choosing turns by how they fit directions that they did not look at, and an alignment that holds its own
surest pairs and is made anew. Choosing among the carried ones halfway by their sum loses right turns, and so does
carrying on those that fit without sifting them on groups in between.

Films from 8 seeds (two splits that do not start): annealing all rows with the seeds in every cross-covariance brings
the true partner of a row from the nearest 34 % to the nearest 3 to 5 % (median), growing softly from there to 1.5 to
3 %, with 61 to 113 of 1,800 rows right, and pools of those still die. Halves of the clouds, averaged, are worse (7 to
12 %), canonical maps of all rows with a ridge of 1 to 10 and a power of .25 to 2 as good, more directions (200) too.

For the search on groups of rows (reddit with e5, four splits; 1 % of 4,000 random turns end right): groups of one mass
(0.1 %), groups by 16 directions instead of 60 (0.2 %), 20 principal directions in view instead of 16 (half as many),
power 1 (half as many), turns drawn from all of O(6) or O(8) (a third). Changed copies of the best (noise, signs, planes
turned, the first directions kept and the others redrawn) multiply what is right already, and find nothing where none of
the best is right.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veclink import link
from veclink_bench.arguments import resumable_parser
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Builder, Case, Corpora, Pair, even, nothing, unequal
from veclink_bench.studies.real import code_version, scores

OUTPUT = results_folder("experiments") / "no_seeds.json"
WITHIN = 0.03  # of the F1 from seeds: the run has started
SEEDS = 15
# What constants of the starts were set on; the rest is what nothing was chosen on.
CHOSEN_ON = ("scifact minilm-e5", "scifact mpnet-e5", "reddit", "papers mpnet-e5", "stackexchange", "movies")
FOUR, THREE = ("minilm", "mpnet", "e5", "granite"), ("minilm", "mpnet", "e5")
LONG_TEXTS = {"scifact": FOUR, "nfcorpus": FOUR, "papers": THREE}
TITLES = {"reddit": THREE, "stackexchange": THREE}
NOTHING = 0  # seeds of a run from nothing


class Study(NamedTuple):
    """What is linked: the data, the case, how to make it, and from how many seeds."""

    data: str
    case: str
    build: Builder
    seeds: tuple[int, ...] = (NOTHING, SEEDS)


def studies() -> Iterator[Study]:
    """Every case, those first of which the answer is awaited most."""
    for share in (0.15, 0.3):
        case = f"{share:.0%} of the objects shared"
        for corpus, models in (TITLES | LONG_TEXTS).items():
            for left, right in combinations(models, 2):
                pair = Pair(corpus, left, right)
                few = (4, 8) if corpus in TITLES else ()
                yield Study(str(pair), case, partial(even, pair, share), (NOTHING, *few, SEEDS))
    for corpus, left, right, n_a, shared, most in (
        ("scifact", "minilm", "e5", 500, 500, 5000),
        ("scifact", "minilm", "e5", 600, 300, 4000),
        ("papers", "minilm", "mpnet", 500, 500, 5000),
        ("papers", "minilm", "mpnet", 600, 300, 4000),
        ("nfcorpus", "minilm", "e5", 360, 360, 3600),
    ):
        pair = Pair(corpus, left, right)
        part = "all" if shared == n_a else "half"
        yield Study(str(pair), f"{part} of {n_a} rows among {most:,}", partial(unequal, pair, n_a, shared, most))
    films = Pair("movies", "minilm", "e5")
    yield Study(str(films), "30% of the objects shared", partial(even, films, 0.3), (NOTHING, 8, SEEDS))
    for pair, other in (
        (Pair("scifact", "minilm", "e5"), "reddit"),
        (Pair("nfcorpus", "mpnet", "e5"), "papers"),
        (Pair("reddit", "minilm", "mpnet"), "stackexchange"),
        (Pair("papers", "minilm", "mpnet"), "nfcorpus"),
    ):
        for how in ("same domain", "unequal", "few" if other == "papers" else "other domain"):
            yield Study(str(pair), f"nothing shared, {how}", partial(nothing, how, pair, other), (NOTHING,))


def measure(study: Study, trial: int, data: Path) -> dict[str, Any]:
    """One trial from each number of seeds, on the same split."""
    case = Case("no seeds", study.case, study.data, trial, study.build, SEEDS)
    problem = case.problem(Corpora(data))
    row: dict[str, Any] = {
        "data": study.data,
        "case": study.case,
        "trial": trial,
        "from": {},
    }
    version = code_version()
    for count in study.seeds:
        began = time.process_time()
        seeds = problem.seeds[:count] if count and problem.seeds is not None else None
        links = link(problem.a, problem.b, seeds=seeds, device="cpu", random_state=trial)
        row["from"][str(count)] = {
            "f1": round(scores(problem, links.pairs)["f1"], 4),
            "verdict": links.summary.verdict,
            "overlap": round((links.summary.overlap or 0.0) / min(len(problem.a), len(problem.b)), 3),
            "seconds": round(time.process_time() - began, 1),
            "version": version,
        }
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The trials as a table, one line for each case."""
    lines = ["| data | case | from | started | F1 | from 15 seeds |", "|---|---|---|---|---|---|"]
    for data, case in dict.fromkeys((row["data"], row["case"]) for row in rows):
        mine = [row["from"] for row in rows if (row["data"], row["case"]) == (data, case)]
        if str(SEEDS) not in mine[0]:
            wrong = sum(each[str(NOTHING)]["verdict"] == "linkable" for each in mine)
            lines.append(f"| {data} | {case} | nothing | called linkable {wrong} of {len(mine)} times | – | – |")
            continue
        counts = {int(each) for trial in mine for each in trial} - {SEEDS}
        for count in sorted(counts):
            of_count = [trial for trial in mine if str(count) in trial and str(SEEDS) in trial]
            lines.append(_line(data, case, count, of_count))
    return "\n".join(lines) + "\n"


def _line(data: str, case: str, count: int, trials: list[dict[str, Any]]) -> str:
    found = [each[str(count)]["f1"] for each in trials]
    seeded = [each[str(SEEDS)]["f1"] for each in trials]
    started = sum(f1 > 0 and f1 >= reference - WITHIN for f1, reference in zip(found, seeded, strict=True))
    chosen = " *" if data.startswith(CHOSEN_ON) else ""
    said = f"{count} seeds" if count else "nothing"
    scored = ", ".join(f"{100 * f1:.1f}" for f1 in found)
    return f"| {data}{chosen} | {case} | {said} | {started} of {len(found)} | {scored} | {100 * np.mean(seeded):.1f} |"


def main() -> None:
    """Measure what the output file lacks, and write it after every trial."""
    arguments = resumable_parser(__doc__, OUTPUT, trials=5)
    arguments.add_argument("--only", default="", help="cases whose names hold this text")
    arguments.add_argument("--from", dest="counts", default="", help="numbers of seeds to measure, by commas")
    arguments.add_argument("--processes", type=int, default=1, help="trials at a time")
    options = arguments.parse_args()
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    if options.table:
        print(table(rows), end="")
        return
    ends = time.monotonic() + options.seconds
    counts = {int(each) for each in options.counts.split(",") if each}
    kept = {(row["data"], row["case"], row["trial"]): row for row in rows}
    wanted = [
        (study, trial)
        for trial in range(options.trials)
        for study in map(partial(_asked, counts), studies())
        if options.only in f"{study.data} {study.case}" and not _is_measured(study, kept.get((*study[:2], trial)))
    ]
    for row in _measured(wanted, options.data, options.processes, ends):
        known = row["data"], row["case"], row["trial"]
        before = kept.get(known, {"from": {}})
        kept[known] = row | {"from": before["from"] | row["from"]}
        part = options.output.with_suffix(".part")
        part.write_text(json.dumps({"rows": list(kept.values())}, indent=1) + "\n")
        os.replace(part, options.output)
        print(json.dumps(row), flush=True)


def _asked(counts: set[int], study: Study) -> Study:
    """A study from these numbers of seeds alone; from all of its own where none is named."""
    return study._replace(seeds=tuple(each for each in study.seeds if not counts or each in counts))


def _is_measured(study: Study, row: dict[str, Any] | None) -> bool:
    """Whether this version of the code has made all that is asked."""
    found = row["from"] if row is not None else {}
    version = code_version()
    return all(found.get(str(count), {}).get("version") == version for count in study.seeds)


def _measured(wanted: list[tuple[Study, int]], data: Path, processes: int, ends: float) -> Iterator[dict[str, Any]]:
    """Trials as they are done, in so many processes; none is begun after the end."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(measure, study, trial, data) for study, trial in wanted[:processes]}
        left = wanted[processes:]
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                if left and time.monotonic() < ends:
                    study, trial = left.pop(0)
                    running.add(pool.submit(measure, study, trial, data))
                yield each.result()
