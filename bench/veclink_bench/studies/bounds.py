"""How far maps go where every link is known: real cases linked from a pool that is the truth.

    veclink bench bounds --data DIR [--half report] [--trials 5] [--only TEXT] [--part 1/16]

Growing is replaced by the true pairs, all of them; the stages after it are the product's. Maps are still fitted without
the pair that they score, so that this is what a perfect start could give: what is missing from 100 is not lost in
growing, and what `veclink bench real` has less is. "best" is the F1 of the best threshold, by labels.

That bounds maps that are fitted to links, and not what the vectors hold. An alignment of all rows, most of them without
a partner (annealed with 15 seeds in every cross-covariance, 200 directions; scifact mpnet-e5, α = .05, two splits), has
a best F1 of 62.6 and 58.6 by its csls alone, where the product has 57.6 and 52.7 with all its evidence; minilm-mpnet
65.8 and 65.3 against 65.6 and 71.5; at α = .15 it is 6 to 12 points below the product. It was not tried as evidence.

Results are kept in results/experiments/bounds-HALF.jsonl; `--table` prints their means beside those of `real`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink import Links, link
from veclink.data.pairs import pair_keys
from veclink.linkers.anchors import no_pairs
from veclink.linkers.span import linker
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.results import Grown
from veclink.linkers.span.starts import Bootstrap
from veclink.linkers.span.task import SpanTask
from veclink.linkers.stages import Stage
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Case, Corpora, Problem, cases
from veclink_bench.studies.real import Line, cases_parser, kept_trials, measure_cases, read_lines, scores

RESULTS = results_folder("experiments")
Lines = list[Line]
KINDS = ("even 0.3", "even 0.15", "even 0.05", "half of 600", "tenth of 2000", "all of 150", "100 in 3000", "titles")


def bound(case: Case, corpora: Corpora) -> dict[str, Any]:
    """F1 of the links that a perfect pool gives: at the product's threshold, and at the best one."""
    problem = case.problem(corpora)
    with grown_to(true_pairs(problem)):
        links = link(
            problem.a, problem.b, seeds=problem.seeds, device="cpu", random_state=case.trial, group_copies=False
        )
    return {
        "shared": len(problem.shared),
        "verdict": links.summary.verdict,
        "f1": scores(problem, links.pairs)["f1"],
        "best": best_f1(problem, links.considered or links),
    }


def true_pairs(problem: Problem) -> np.ndarray:
    """The rows of every shared object, (m, 2)."""
    _, rows_a, rows_b = np.intersect1d(problem.object_a, problem.object_b, return_indices=True)
    return np.column_stack([rows_a, rows_b])


def best_f1(problem: Problem, judged: Links) -> float:
    """The F1 of the best of all thresholds."""
    right = np.isin(pair_keys(judged.pairs, len(problem.b)), pair_keys(true_pairs(problem), len(problem.b)))
    found = np.cumsum(right)
    kept = np.arange(1, len(right) + 1)
    return float(np.max(2 * found / (kept + len(problem.shared)), initial=0.0))


@contextmanager
def grown_to(pairs: np.ndarray) -> Iterator[None]:
    """The product's stages with these links (m, 2) as what growing ends with."""

    def grow(task: SpanTask, _: None) -> Grown:
        certain = np.ones(len(pairs))
        pool = Pool(pairs, share=certain, score=certain, agreed=len(pairs), views=1, extent=len(pairs))
        return Grown(Bootstrap(pool, "truth", 1.0, np.empty(0, np.int64)), pairs, no_pairs())

    _, *later = linker.STAGES
    with patch.object(linker, "STAGES", (Stage(grow), *later)):
        yield


def main() -> None:
    """Run the trials that are missing, or print the table of those that are there."""
    options = cases_parser(__doc__).parse_args()
    if options.table:
        print(table(kept_bounds(options.half), kept_trials(options.half)))
        return
    wanted = (case for case in cases(options.half, trials=options.trials) if case.kind in KINDS)
    measure_cases(options, _path(options.half), wanted, bound)


def table(bounds: Lines, linked: Lines, *, of: tuple[str, ...] = ("kind", "label")) -> str:
    """Mean F1 from the seeds, with every link known, and at the best threshold, of cases that both know, as Markdown.

    of: by what the cases are put together in a row.
    """
    from_seeds = {line["case"]: line["true"]["f1"] for line in linked}
    groups: dict[str, Lines] = {}
    for line in bounds:
        if line["case"] in from_seeds:
            name = ", ".join(line[part] for part in of)
            groups.setdefault(name, []).append(line)
    rows = ["| | trials | F1 from 15 seeds | every link known | and the best threshold |", "|---|---|---|---|---|"]
    for name, lines in sorted(groups.items()):
        found = [from_seeds[line["case"]] for line in lines]
        known = [line["f1"] for line in lines]
        best = [line["best"] for line in lines]
        means = " | ".join(f"{100 * np.mean(values):.1f}" for values in (found, known, best))
        rows.append(f"| {name} | {len(lines)} | {means} |")
    return "\n".join(rows)


def kept_bounds(half: str) -> Lines:
    """What is kept of a half."""
    return read_lines(_path(half))


def _path(half: str) -> Path:
    return RESULTS / f"bounds-{half}.jsonl"


if __name__ == "__main__":
    main()
