"""Linking from outside anchors, with the start along their own map and without it.

    veclink bench anchored --data DIR [--trials 2] [--only TEXT] [--seconds 600] [--output FILE.json] [--table]

Some rows of a corpus by one model, some of them among about 2,200 by another, and pairs in neither as anchors: 400 of
the same corpus, or 300 of another. Runs are kept in results/experiments/anchored.json; those that the output file holds
are not run again (name another file to measure all anew), and none is begun after --seconds. The committed runs are
older than this command, of splits that were drawn by other random numbers.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink import Links, link
from veclink.backends.cloud_pair import CloudPair
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_vectors
from veclink.linkers.span import mapped
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Corpora, Pair, Problem
from veclink_bench.studies.kept_runs import Run, best_start, compared, measure_missing

OUTPUT = results_folder("experiments") / "anchored.json"
MOST = 2_200  # rows of the larger side
OWN, FOREIGN = 400, 300  # anchors of the same corpus, and of another
NEVER = 10**9  # anchors from which their map is tried: more than there are
PAIRS = (
    Pair("papers", "minilm", "e5"),
    Pair("nfcorpus", "mpnet", "e5"),
    Pair("papers", "minilm", "mpnet"),
    Pair("scifact", "minilm", "mpnet"),
)
SIZES = ((150, 60), (150, 150), (300, 120), (600, 0), (1000, 300))
FOREIGN_CASES = (
    (Pair("papers", "minilm", "e5"), "scifact", 1000, 300),
    (Pair("stackexchange", "minilm", "mpnet"), "papers", 700, 250),
    (Pair("papers", "minilm", "e5"), "reddit", 1000, 300),
    (Pair("papers", "minilm", "e5"), "reddit", 600, 0),
)
WHAT = (
    "Linking from outside anchors: 400 of the same corpus, or 300 of another. f1 in points, the share of the smaller "
    'side that the anchors told, seconds of one core; "without" is the same run with the start along the map of the '
    "anchors left out."
)
HOW = (
    "Rows of a corpus by two models, some of them among about 2,200, anchors in neither; link(a, b, anchors=...) with "
    "default options."
)


@dataclass(frozen=True)
class Case:
    """So many rows, of which so many are shared, and where the anchors come from."""

    pair: Pair
    anchors: str
    rows: int
    shared: int
    split: int

    @property
    def count(self) -> int:
        """How many anchors there are."""
        return OWN if self.anchors == self.pair.corpus else FOREIGN

    @property
    def name(self) -> dict[str, Any]:
        """What tells its run from others."""
        return {
            "corpus": self.pair.corpus,
            "models": [self.pair.left, self.pair.right],
            "anchors": self.anchors,
            "n_anchors": self.count,
            "rows": self.rows,
            "shared": self.shared,
            "split": self.split,
        }


def cases(splits: int) -> Iterator[Case]:
    """All cases, split by split; those with anchors of another corpus on the first split."""
    for split in range(splits):
        for pair in PAIRS:
            for rows, shared in SIZES:
                yield Case(pair, pair.corpus, rows, shared, split)
    for pair, other, rows, shared in FOREIGN_CASES:
        yield Case(pair, other, rows, shared, 0)


def measure(case: Case, corpora: Corpora) -> Run:
    """One run, and the same without the map of the anchors where they are of the same corpus."""
    problem, anchors = parts(case, corpora)
    links, seconds = linked(problem, anchors, case.split)
    run = {
        **case.name,
        "among": len(problem.b),
        "told_share": round(told_share(problem, anchors), 3),
        "start": best_start(links),
        **compared(problem, links, seconds),
    }
    if case.anchors == case.pair.corpus:
        with patch.object(mapped, "MIN_MAPPED_ANCHORS", NEVER):
            links, seconds = linked(problem, anchors, case.split)
        run["without"] = compared(problem, links, seconds)
    return run


def parts(case: Case, corpora: Corpora) -> tuple[Problem, tuple[np.ndarray, np.ndarray]]:
    """The two collections of a case, and the anchors of both sides: rows in neither."""
    rng = np.random.default_rng([case.split, case.rows, case.shared])
    left, right = case.pair.sides(corpora)
    ends = replace(case.pair, corpus=case.anchors).sides(corpora)
    order = rng.permutation(len(left))
    drawn = rng.permutation(len(ends[0]))[: case.count]
    if case.anchors == case.pair.corpus:
        drawn, order = order[: case.count], order[case.count :]
    rows_a = rng.permutation(order[: case.rows])
    among = np.concatenate([order[: case.shared], order[case.rows :]])
    rows_b = rng.permutation(among[:MOST])
    problem = Problem(left[rows_a], right[rows_b], rows_a, rows_b)
    return problem, (ends[0][drawn], ends[1][drawn])


def linked(problem: Problem, anchors: tuple[np.ndarray, np.ndarray], split: int) -> tuple[Links, float]:
    """The links from the anchors, and the seconds of one core that they took."""
    began = time.process_time()
    links = link(problem.a, problem.b, anchors=anchors, device="cpu", random_state=split)
    return links, time.process_time() - began


def told_share(problem: Problem, anchors: tuple[np.ndarray, np.ndarray]) -> float:
    """The share of the smaller side that has a partner, by the anchors."""
    a, b = (prepare(Collection.from_array(side)) for side in (problem.a, problem.b))
    left, right = (Collection.from_array(side) for side in anchors)
    given = anchors_from_vectors(a, b, left, right)
    return mapped.shared_share(CloudPair(a.dense(), b.dense()), given)


def summary(runs: list[Run]) -> dict[str, dict[str, float]]:
    """Means of the runs with anchors of the same corpus, size by size."""
    means = {}
    for rows, shared in SIZES:
        mine = [run for run in runs if "without" in run and (run["rows"], run["shared"]) == (rows, shared)]
        if mine:
            means[f"{rows} rows, {shared} shared"] = {
                "runs": len(mine),
                "f1": _mean(run["f1"] for run in mine),
                "f1 without": _mean(run["without"]["f1"] for run in mine),
                "told share": _mean(100 * run["told_share"] for run in mine),
                "seconds": _mean(run["seconds"] for run in mine),
                "seconds without": _mean(run["without"]["seconds"] for run in mine),
            }
    return means


def _mean(values: Iterator[float]) -> float:
    return round(float(np.mean(list(values))), 1)


def heading(runs: list[Run]) -> dict[str, Any]:
    """What was asked, and a summary of the runs."""
    return {"what": WHAT, "how": HOW, "summary of anchors of the same corpus": summary(runs)}


def main() -> None:
    """Measure what the output file lacks."""
    measure_missing(__doc__, OUTPUT, _missing, heading)


def _missing(options: Namespace, runs: list[Run]) -> Iterator[Callable[[], Run]]:
    corpora = Corpora(options.data)
    for case in cases(options.trials):
        is_known = any(case.name.items() <= run.items() for run in runs)
        if not is_known and options.only in str(case.pair):
            yield partial(measure, case, corpora)
