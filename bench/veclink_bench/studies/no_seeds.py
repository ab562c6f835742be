"""Linking from nothing: whether it starts, and what it gives beside a run from fifteen seeds on the same split.

    veclink bench no-seeds --data DIR [--trials 5] [--only TEXT] [--seconds 600] [--table]

A run has started where its F1 is within three points of the run from fifteen seeds. Trials are kept in
results/experiments/no_seeds.json with the version of the code that made them; those that are there are not run again,
and none is begun after --seconds. `--table` prints them as the page on linking without seeds has them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink import link
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Builder, Case, Corpora, Pair, even, nothing, unequal
from veclink_bench.studies.real import code_version, scores

OUTPUT = results_folder("experiments") / "no_seeds.json"
WITHIN = 0.03  # of the F1 from seeds: the run has started
SEEDS = 15
# What constants of the starts were set on; the rest is what nothing was chosen on.
CHOSEN_ON = ("scifact minilm-e5", "scifact mpnet-e5", "reddit", "papers mpnet-e5")


def builders() -> Iterator[tuple[str, str, Builder]]:
    """What is linked: the data, the case, and how to make it."""
    for corpus, models, share in (
        ("papers", "mpnet-e5", 0.15),
        ("nfcorpus", "mpnet-e5", 0.3),
        ("nfcorpus", "minilm-granite", 0.15),
        ("reddit", "minilm-mpnet", 0.3),
        ("reddit", "minilm-mpnet", 0.15),
        ("reddit", "minilm-e5", 0.3),
        ("stackexchange", "minilm-mpnet", 0.3),
        ("stackexchange", "minilm-mpnet", 0.15),
        ("stackexchange", "mpnet-e5", 0.3),
    ):
        pair = Pair(corpus, *models.split("-"))
        yield str(pair), f"{share:.0%} of the objects shared", partial(even, pair, share)
    for corpus, models, n_a, shared, most in (
        ("scifact", "minilm-e5", 500, 500, 5000),
        ("scifact", "minilm-e5", 600, 300, 4000),
        ("papers", "minilm-mpnet", 500, 500, 5000),
        ("nfcorpus", "minilm-e5", 360, 360, 3600),
    ):
        pair = Pair(corpus, *models.split("-"))
        part = "all" if shared == n_a else "half"
        yield str(pair), f"{part} of {n_a} rows among {most:,}", partial(unequal, pair, n_a, shared, most)
    for corpus, models, other in (("scifact", "minilm-e5", "reddit"), ("nfcorpus", "mpnet-e5", "papers")):
        pair = Pair(corpus, *models.split("-"))
        yield str(pair), "nothing shared", partial(nothing, "same domain", pair, other)


def measure(case: Case, corpora: Corpora) -> dict[str, Any]:
    """One trial from nothing, and one from seeds on the same split."""
    problem = case.problem(corpora)
    row: dict[str, Any] = {"data": case.label, "case": case.kind, "trial": case.trial, "version": code_version()}
    for name, seeds in (("nothing", None), ("seeds", problem.seeds)):
        if name == "seeds" and not len(problem.shared):
            continue
        began = time.process_time()
        links = link(problem.a, problem.b, seeds=seeds, device="cpu", random_state=case.trial)
        row[name] = {
            "f1": round(scores(problem, links.pairs)["f1"], 4),
            "verdict": links.summary.verdict,
            "seconds": round(time.process_time() - began, 1),
        }
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The trials as a table, one line for each case."""
    lines = ["| data | case | started | F1 from nothing | from 15 seeds |", "|---|---|---|---|---|"]
    for data, case in dict.fromkeys((row["data"], row["case"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["case"]) == (data, case)]
        found = ", ".join(f"{100 * row['nothing']['f1']:.1f}" for row in mine)
        seeded = [row["seeds"]["f1"] for row in mine if "seeds" in row]
        if not seeded:
            wrong = sum(row["nothing"]["verdict"] == "linkable" for row in mine)
            lines.append(f"| {data} | {case} | called linkable {wrong} of {len(mine)} times | – | – |")
            continue
        started = sum(row["nothing"]["f1"] >= row["seeds"]["f1"] - WITHIN for row in mine)
        chosen = " *" if data.startswith(CHOSEN_ON) else ""
        lines.append(f"| {data}{chosen} | {case} | {started} of {len(mine)} | {found} | {100 * np.mean(seeded):.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what the output file lacks, and write it after every trial."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--trials", type=int, default=5, help="trials of each case")
    arguments.add_argument("--only", default="", help="cases whose names hold this text")
    arguments.add_argument("--seconds", type=float, default=600.0, help="begin no trial after this time")
    arguments.add_argument("--output", type=Path, default=OUTPUT)
    arguments.add_argument("--table", action="store_true", help="print what is there, measure nothing")
    options = arguments.parse_args()
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    if options.table:
        print(table(rows), end="")
        return
    ends, corpora = time.monotonic() + options.seconds, Corpora(options.data)
    done = {(row["data"], row["case"], row["trial"]) for row in rows if row["version"] == code_version()}
    for trial in range(options.trials):
        for data, kind, build in builders():
            case = Case("no seeds", kind, data, trial, build, SEEDS)
            if (data, kind, trial) in done or options.only not in f"{data} {kind}" or time.monotonic() > ends:
                continue
            rows.append(measure(case, corpora))
            part = options.output.with_suffix(".part")
            part.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
            os.replace(part, options.output)
            print(rows[-1], flush=True)
