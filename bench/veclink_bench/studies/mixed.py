"""Large collections of several kinds, linked from seeds: with the start that asks all rows, and without it.

    veclink bench mixed --data DIR [--trials 2] [--seconds 600] [--output FILE.json] [--table]

Six corpora joined, 15 % of all objects on both sides: 13,730 rows each, more than are asked in full at first. Runs are
kept in results/experiments/mixed_large.json; those that the output file holds are not run again (name another file to
measure all anew), and none is begun after --seconds.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink import Links, link
from veclink.linkers.span import attempts
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Corpora, Pair, Problem, even, seeded
from veclink_bench.studies.kept_runs import Run, best_start, compared, measure_missing

OUTPUT = results_folder("experiments") / "mixed_large.json"
MIXED = Pair("scifact+nfcorpus+papers+reddit+stackexchange+movies", "minilm", "e5")
SHARED, SEEDS = 0.15, 30
WHAT = (
    "Large collections of several kinds, linked from 30 seeds. f1 in points, seconds of one core; "
    '"without" is the same run with the start that asks all rows left out.'
)
HOW = (
    "scifact, nfcorpus, papers, reddit, stackexchange and movies joined, by minilm and by e5; an even split with 15 % "
    "of all objects on both sides; link(a, b, seeds=...) with default options."
)


def measure(split: int, corpora: Corpora) -> Run:
    """One run, and the same without the start that asks all rows."""
    rng = np.random.default_rng([5, split])
    problem = seeded(even(MIXED, SHARED, corpora, rng), SEEDS, rng)
    links, seconds = linked(problem)
    run = {
        "split": split,
        "rows": len(problem.a),
        "shared": len(problem.shared),
        "start": best_start(links),
        **compared(problem, links, seconds),
    }
    with patch.object(attempts, "ASKED_IN_FULL", 0):
        links, seconds = linked(problem)
    return run | {"without": compared(problem, links, seconds)}


def linked(problem: Problem) -> tuple[Links, float]:
    """The links from the seeds, and the seconds of one core that they took."""
    began = time.process_time()
    links = link(problem.a, problem.b, seeds=problem.seeds, device="cpu")
    return links, time.process_time() - began


def heading(_: list[Run]) -> dict[str, Any]:
    """What was asked."""
    return {"what": WHAT, "how": HOW}


def main() -> None:
    """Measure what the output file lacks."""
    measure_missing(__doc__, OUTPUT, _missing, heading)


def _missing(options: Namespace, runs: list[Run]) -> Iterator[Callable[[], Run]]:
    corpora = Corpora(options.data)
    known = {run["split"] for run in runs}
    for split in range(options.trials):
        if split not in known:
            yield partial(measure, split, corpora)


if __name__ == "__main__":
    main()
