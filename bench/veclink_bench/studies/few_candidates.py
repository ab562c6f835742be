"""Two calibrations of the same candidates: with the share of right ones recounted where there are few, and without.

    veclink bench few-candidates --data DIR [--trials 2] [--only TEXT] [--seconds 600] [--output FILE.json] [--table]

The cases are those of `veclink_bench.real_cases`, the same builders on other encoder pairs, and 100 to 600 rows, 45 to
300 of them among 2,700; 15 seeds. Runs are kept in results/experiments/few_candidates.json, whose 0.2.2 is the
calibration without and 0.2.3 the one with the recount; those that the output file holds are not run again (name another
file to measure all anew), and none is begun after --seconds. Runs that are "not linkable" are left out. The committed
runs are older than this command: the code that grew their candidates has changed a little since.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink.backends.cloud_pair import placed_clouds
from veclink.confidence import mixture
from veclink.data.collection import Collection
from veclink.data.judged import with_ranges
from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors, anchors_from_pairs
from veclink.linkers.options import SpanOptions
from veclink.linkers.result import links_of
from veclink.linkers.run import Run as LinkingRun
from veclink.linkers.span import linker
from veclink.linkers.span.results import Estimated
from veclink.linkers.span.task import SpanTask
from veclink.linkers.stages import NOBODY
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Builder, Case, Corpora, Pair, Problem, cases, even, unequal
from veclink_bench.studies.kept_runs import Missing, Run, measure_missing
from veclink_bench.studies.real import scores

OUTPUT = results_folder("experiments") / "few_candidates.json"
HALVES = {"choose": "to choose", "report": "to report"}
FEW_ROWS, ALL_ELSE = "few rows among 2,700", "all else"
LEFT_OUT = ("copies", "formats", "nothing")  # kinds of real_cases
WITHOUT, WITH = "0.2.2", "0.2.3"
NO_RECOUNT = (0.0, 0.0)
POOR = 65  # points of precision
SIZES = ((100, 60), (150, 45), (150, 90), (150, 150), (300, 90), (300, 180), (300, 300), (600, 180))
FEW_PAIRS = {
    "choose": (
        Pair("scifact", "minilm", "e5"),
        Pair("scifact", "mpnet", "e5"),
        Pair("scifact", "minilm", "granite"),
        Pair("scifact+reddit", "mpnet", "e5"),
        Pair("movies+reddit", "minilm", "e5"),
        Pair("scifact", "minilm", "mpnet"),
    ),
    "report": (
        Pair("papers", "minilm", "e5"),
        Pair("papers", "mpnet", "e5"),
        Pair("nfcorpus", "minilm", "e5"),
        Pair("nfcorpus", "mpnet", "granite"),
        Pair("papers+stackexchange", "minilm", "mpnet"),
    ),
}
WHAT = (
    "Two calibrations of the same candidates: 0.2.2, and with the share of right ones recounted where there are few "
    "(0.2.3). Precision as told and as it is, its range, in points."
)
HOW = (
    "Runs of the cases of veclink_bench.real_cases, of the same builders on other encoder pairs, and of 100 to 600 "
    "rows, 45 to 300 of them among 2,700; 15 seeds. The candidates of each run were calibrated both ways; runs that "
    'were "not linkable" are left out.'
)


def all_cases(trials: int) -> Iterator[tuple[str, str, Case]]:
    """The half, what kind of case it is, and the case, trial by trial."""
    for trial in range(trials):
        for half, pairs in FEW_PAIRS.items():
            for pair in pairs:
                for rows, shared in SIZES:
                    build = partial(unequal, pair, rows, shared, 2700)
                    yield half, FEW_ROWS, Case("extra", f"{rows}-{shared}", str(pair), trial, build)
            for case in cases(half, trials=trial + 1):
                if case.trial == trial and case.kind not in LEFT_OUT:
                    yield half, ALL_ELSE, case
        for kind, label, other in _more():
            yield "choose", ALL_ELSE, Case("extra", kind, label, trial, other)


def _more() -> Iterator[tuple[str, str, Builder]]:
    """The builders of the usual cases on other encoder pairs."""
    for corpus, left, right in (
        ("scifact", "minilm", "e5"),
        ("scifact", "mpnet", "e5"),
        ("reddit", "mpnet", "e5"),
        ("reddit", "minilm", "mpnet"),
    ):
        pair = Pair(corpus, left, right)
        for share in (0.3, 0.15, 0.08, 0.05):
            yield f"even {share}", str(pair), partial(even, pair, share)
    for corpus, left, right in (
        ("scifact+reddit", "mpnet", "e5"),
        ("scifact", "mpnet", "e5"),
        ("scifact", "minilm", "e5"),
        ("scifact", "minilm", "granite"),
        ("scifact+movies", "minilm", "e5"),
        ("movies+reddit", "minilm", "e5"),
        ("scifact+reddit", "minilm", "mpnet"),
    ):
        pair = Pair(corpus, left, right)
        yield "all of 150", str(pair), partial(unequal, pair, 150, 150, 5000)
        yield "half of 600", str(pair), partial(unequal, pair, 600, 300, 7000)
        yield "tenth of 2000", str(pair), partial(unequal, pair, 2000, 200, 6500)
        yield "quarter of 800", str(pair), partial(unequal, pair, 800, 200, 6500)
    for pair in (
        Pair("scifact", "mpnet", "e5"),
        Pair("reddit", "minilm", "mpnet"),
        Pair("scifact", "minilm", "e5"),
    ):
        for rows, share in ((200, 0.5), (400, 0.3), (800, 0.2)):
            yield "few", f"{pair} {rows} {share}", partial(even, pair, share, rows=rows)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Two clouds without copies, and the task of linking them."""

    a: Cloud
    b: Cloud
    anchors: Anchors
    task: SpanTask


def prepared(problem: Problem, random_state: int) -> Prepared:
    """What `link` has made of a problem before its first stage."""
    options = SpanOptions()
    run = LinkingRun(options, "cpu", None, random_state, None, {})
    a, b = run.prepared(Collection.from_array(problem.a), Collection.from_array(problem.b), skip_zero=False)
    groups = run.grouped(a, b)
    seeds = problem.seeds
    assert seeds is not None
    if groups is not None:
        (a, b), seeds = groups.clouds, groups.seeds(seeds)
    anchors = anchors_from_pairs(a, b, seeds)
    clouds = placed_clouds(a, b, "cpu", None, k=options.k, ridge=options.ridge)
    return Prepared(a, b, anchors, SpanTask(clouds, anchors, options, np.random.default_rng(random_state), NOBODY))


def measure(problem: Problem, random_state: int) -> dict[str, Any] | None:
    """Both calibrations of the candidates of one run; None where it is not linkable."""
    ready = prepared(problem, random_state)
    a, b, anchors, task = ready.a, ready.b, ready.anchors, ready.task
    unaided = estimated(task)
    if unaided is None:
        return None
    last = linker.refit(task, unaided)
    ways = {WITHOUT: _calibrated(task, last, NO_RECOUNT), WITH: _calibrated(task, last, mixture.RIGHT_OF_FEW)}
    found: dict[str, Any] = {}
    for name, way in ways.items():
        links = links_of(linker.decide(task, way), a, b, anchors, {})
        if not len(links):
            return None
        links = replace(links, summary=with_ranges(links.summary, links.probability))
        found[name] = _compared(problem, links, float(way.calibrated.probability.sum()))
    for bound in ("low", "high"):
        found[WITHOUT].pop(bound)  # ranges are wanted of the newer calibration alone
    of_a, of_b = candidates(last)
    right = problem.object_a[a.rows[of_a]] == problem.object_b[b.rows[of_b]]
    return {"candidates": len(right), "right": int(right.sum()), **found}


def candidates(way: Estimated) -> tuple[np.ndarray, np.ndarray]:
    """Rows of A and of B (n,) of the candidates that have a probability."""
    every, positions = way.scored.matched.candidates, way.calibrated.positions
    return every.rows_a[positions], every.rows_b[positions]


def estimated(task: SpanTask) -> Estimated | None:
    """The first probabilities of span linking; None where nothing grew."""
    grown = linker.grow(task, None)
    if not grown.bootstrap.converged:
        return None
    return linker.estimate(task, linker.score(task, linker.match(task, grown)))


def _calibrated(task: SpanTask, last: Estimated, recount: tuple[float, float]) -> Estimated:
    """The same candidates calibrated with another recount."""
    with patch.object(mixture, "RIGHT_OF_FEW", recount):
        again = linker.estimate(task, last.scored)
    return replace(again, unaided=last.unaided)


def _compared(problem: Problem, links: Links, counted: float) -> dict[str, Any]:
    """What the links say of themselves beside what is true, in points."""
    summary, true = links.summary, scores(problem, links.pairs)
    assert summary.precision is not None and summary.precision_range is not None
    low, high = summary.precision_range
    points = {"told": summary.precision, "low": low, "high": high, "true": true["precision"], "f1": true["f1"]}
    rounded = {name: round(100 * value, 1) for name, value in points.items()}
    return {"counted": round(counted, 1), "links": len(links), **rounded}


def summary(runs: list[Run]) -> dict[str, Any]:
    """How far the told precision is off, half by half, and how many of the poor runs may be below a half."""
    figures = {}
    for half in HALVES.values():
        for what in (FEW_ROWS, ALL_ELSE):
            mine = [run for run in runs if (run["half"], run["what"]) == (half, what)]
            if mine:
                figures[f"{half}, {what}"] = _figures(mine)
    return figures


def _figures(runs: list[Run]) -> dict[str, Any]:
    poor = [run for run in runs if run[WITH]["true"] < POOR]
    others = [run for run in runs if run[WITH]["true"] >= POOR]
    held = [run[WITH]["low"] <= run[WITH]["true"] <= run[WITH]["high"] for run in runs]
    return {
        "runs": len(runs),
        **{way: _means([run[way] for run in runs]) for way in (WITHOUT, WITH)},
        "within the range": sum(held),
        f"precision below {POOR}": _doubtful(poor),
        f"precision of {POOR} and more": _doubtful(others),
    }


def _means(ways: list[dict[str, float]]) -> dict[str, float]:
    errors = [abs(way["told"] - way["true"]) for way in ways]
    f1 = [way["f1"] for way in ways]
    return {"f1": round(float(np.mean(f1)), 1), "mean error of precision": round(float(np.mean(errors)), 1)}


def _doubtful(runs: list[Run]) -> dict[str, int]:
    return {"runs": len(runs), "may be below a half": sum(run[WITH]["low"] < 50 for run in runs)}


def heading(runs: list[Run]) -> dict[str, Any]:
    """What was asked, and a summary of the runs."""
    return {"what": WHAT, "how": HOW, "summary": summary(runs)}


def main() -> None:
    """Measure what the output file lacks."""
    measure_missing(__doc__, OUTPUT, _missing, heading)


def _missing(options: Namespace, runs: list[Run]) -> Iterator[Callable[[], Run | None]]:
    corpora = Corpora(options.data)
    known = {run["case"] for run in runs}
    for half, what, case in all_cases(options.trials):
        name = case.name.removeprefix("extra/")
        if name not in known and options.only in name:
            yield partial(_run, {"half": HALVES[half], "what": what, "case": name}, case, corpora)


def _run(head: Run, case: Case, corpora: Corpora) -> Run | None:
    found = measure(case.problem(corpora), case.trial)
    return None if found is None else head | found


def missing_to_choose(
    measured: Callable[[Problem, int], Run | None],
    is_wanted: Callable[[str], bool],
) -> Missing:
    """Runs of another study, of the cases to choose on that are of a wanted kind."""

    def run(case: Case, corpora: Corpora) -> Run | None:
        found = measured(case.problem(corpora), case.trial)
        return None if found is None else {"case": case.name, "kind": case.kind, **found}

    def missing(options: Namespace, runs: list[Run]) -> Iterator[Callable[[], Run | None]]:
        corpora = Corpora(options.data)
        known = {each["case"] for each in runs}
        for half, _, case in all_cases(options.trials):
            wanted = half == "choose" and is_wanted(case.kind) and options.only in case.name
            if wanted and case.name not in known:
                yield partial(run, case, corpora)

    return missing
