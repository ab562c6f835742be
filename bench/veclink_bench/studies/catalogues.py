"""Two catalogues of the same objects, written differently and embedded by different models: from few pairs to many.

    veclink bench catalogues --data DIR [--trials 5] [--part 1/16] [--only TEXT]

Two shops (abt-buy) and two bibliographies (dblp-acm), each side by either model; all partners there, or 30 to 60 % of
those on one side removed. Beside span: maps from the same pairs, and one model on both sides, which is the most that
these vectors allow. Catalogues of other things, which share nothing, are to be refused, also with 30 wrong pairs.
What somebody with the texts would use, splink, is measured by `bench/splink_catalogues.py`.

Results are kept in results/experiments/catalogues.PART.jsonl as those of `veclink bench real` are; `--part 3/16` runs
the third of sixteen parts, for as many processes, and `--table` prints the tables of what is kept. DIR holds the
folders `catalogues`, and `scifact` and `papers` for anchors from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.geometry.signatures import unit_rows
from veclink.matching import match
from veclink_bench.arguments import parser
from veclink_bench.baselines import link_by
from veclink_bench.experiments.tables import Table, grouped, mean_std
from veclink_bench.places import data_folder
from veclink_bench.real_cases import Case, Corpora, Problem, catalogue
from veclink_bench.real_table import Trials, kinds_table
from veclink_bench.studies import real
from veclink_bench.studies.real import Line
from veclink_bench.versions import is_current, method_of, version_of

MODELS = ("minilm", "e5")
WAYS = (MODELS, MODELS[::-1])
OUTSIDE = {"abt-buy": "scifact", "dblp-acm": "papers"}  # where anchors come from that are in neither catalogue
NOTHING = (("abt-buy.a", "dblp-acm.b"), ("abt-buy.b", "dblp-acm.a"), ("abt-buy.b", "dblp-acm.b"))
REMOVED = (0.3, 0.375, 0.45, 0.525, 0.6)  # shares of the partners, a trial each
SEEDS = (0, 10, 15, 30, 60, 100, 200)
ANCHORS, WRONG, KEPT = 500, 30, 0.8
RIVALS = ("linear tuned", "procrustes tuned")  # "linear tuned" is a ridge map
ONE_MODEL = "one model"
PAGE_KINDS = {
    "abt-buy": "two shops",
    "abt-buy cut": "two shops, 30 to 60 % of the partners removed",
    "dblp-acm": "two bibliographies",
    "dblp-acm cut": "two bibliographies, 30 to 60 % of the partners removed",
}
PAGE_METHODS = {
    "span": "veclink",
    "linear tuned": "ridge map of the pairs",
    "procrustes tuned": "Procrustes of the pairs",
    ONE_MODEL: "one model on both sides, best threshold",
}


@dataclass(frozen=True)
class Cell(Case):
    """One trial of one method; `anchors` is the corpus of those from outside, "" for none."""

    method: str = "span"
    anchors: str = ""

    @property
    def name(self) -> str:
        """The key of its result."""
        return f"{self.method}/{self.kind}/{self.label}/{self.start}/{self.trial}"

    @property
    def start(self) -> str:
        """What linking starts from."""
        return f"{ANCHORS} anchors" if self.anchors else f"{self.seeds} pairs"


def cells(trials: int) -> list[Cell]:
    """All cells, trial by trial, so that some of them already say something; the slow ones spread over the parts."""
    found: list[Cell] = []
    for trial in range(trials):
        of_trial = [*_shared(trial, REMOVED[trial % len(REMOVED)]), *_nothing(trial)]
        found += sorted(of_trial, key=lambda cell: (cell.method, cell.kind, cell.start))
    return found


def _shared(trial: int, removed: float) -> Iterator[Cell]:
    for name, corpus in OUTSIDE.items():
        for kind, share in ((name, 0.0), (f"{name} cut", removed)):
            for left, right in WAYS:
                cell = Cell("catalogues", kind, f"{left}-{right}", trial, partial(catalogue, name, left, right, share))
                given = [replace(cell, seeds=count) for count in SEEDS if count]
                given.append(replace(cell, seeds=0, anchors=corpus))
                yield from (replace(cell, seeds=0), *given)
                yield from (replace(each, method=rival) for each in given for rival in RIVALS)
                one = partial(catalogue, name, left, left, share)
                yield Cell("catalogues", kind, f"{left}-{left}", trial, one, 0, ONE_MODEL)


def _nothing(trial: int) -> Iterator[Cell]:
    for left, right in NOTHING:
        for one, other in WAYS:
            sides = f"{left}.{one}", f"{right}.{other}"
            for count in (0, WRONG):
                yield Cell("catalogues", "nothing", "-".join(sides), trial, partial(unrelated, *sides), count)


def unrelated(left: str, right: str, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """One side of each of two catalogues that have no object in common, in part; seeds are wrong then."""
    a, b = (corpora.vectors("catalogues", side) for side in (left, right))
    a, b = (side[rng.permutation(len(side))[: round(KEPT * len(side))]] for side in (a, b))
    return Problem(a, b, np.arange(len(a)), 100_000 + np.arange(len(b)))


def trial(cell: Cell, corpora: Corpora) -> Line:
    """One draw: what was found, what the links say of themselves, and what is true."""
    problem = cell.problem(corpora)
    head: Line = {"case": cell.name, "kind": cell.kind, "label": cell.label, "method": cell.method, "from": cell.start}
    head |= {"version": version_of(method_of(head))}
    if cell.method == ONE_MODEL:
        return head | {"true": ceiling(problem)}
    given: dict[str, Any] = {"seeds": problem.seeds}
    if cell.anchors:
        both = [corpora.vectors(cell.anchors, model) for model in cell.label.split("-")]
        rows = np.random.default_rng(cell.trial).choice(len(both[0]), ANCHORS, replace=False)
        given = {"anchors": (both[0][rows], both[1][rows])}
    if cell.method != "span":
        links = link_by(cell.method, problem.a, problem.b, random_state=cell.trial, **given)
        return head | {"true": real.scores(problem, links.pairs), "new": new_scores(problem, links)}
    links = link(problem.a, problem.b, device="cpu", random_state=cell.trial, **given)
    head |= {"seconds": links.summary.seconds, "right_called_wrong": right_called_wrong(problem, links)}
    return head | {**real.measured(problem, links), "new": new_scores(problem, links)}


def new_scores(problem: Problem, links: Links) -> dict[str, float]:
    """Scores of the links that were not given, of what was left to find."""
    if problem.seeds is None:
        return real.scores(problem, links.pairs)
    given = problem.object_a[problem.seeds[:, 0]]
    rest_a, rest_b = ~np.isin(problem.object_a, given), ~np.isin(problem.object_b, given)
    pairs = links.pairs[rest_a[links.pairs[:, 0]] & rest_b[links.pairs[:, 1]]]
    hit = problem.object_a[pairs[:, 0]] == problem.object_b[pairs[:, 1]]
    precision, recall = (
        float(hit.sum()) / max(len(pairs), 1),
        float(hit.sum()) / max(len(problem.shared) - len(given), 1),
    )
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / max(precision + recall, 1e-9)}


def right_called_wrong(problem: Problem, links: Links) -> int:
    """How many right seeds were named as wrong, or as contradicting others."""
    named = np.array(links.summary.wrong_seeds + links.summary.contradicting_seeds, np.int64).reshape(-1, 2)
    return int((problem.object_a[named[:, 0]] == problem.object_b[named[:, 1]]).sum())


def ceiling(problem: Problem, k: int = 10) -> dict[str, float]:
    """The best F1 that any threshold on csls gives the mutual nearest neighbours of two sides by one model."""
    pairs, csls = match(*map(unit_rows, (problem.a, problem.b)), k=k).mutual()
    pairs = pairs[np.argsort(-csls, kind="stable")]
    right = np.cumsum(problem.object_a[pairs[:, 0]] == problem.object_b[pairs[:, 1]])
    best = int(np.argmax(right / (np.arange(1, len(right) + 1) + len(problem.shared))))
    return real.scores(problem, pairs[: best + 1])


def tables(trials: Trials) -> str:
    """F1 of every method by what it starts from, what span says of itself, and what was refused, as Markdown."""
    nothing = [each for each in trials if each["kind"] == "nothing"]
    shared = [each for each in trials if each["kind"] != "nothing"]
    parts = [
        f1_table(kind, own, which).markdown()
        for (kind,), own in grouped(shared, "kind").items()
        for which in ("true", "new")
    ]
    spans = [each for each in shared if each["method"] == "span"]
    by_start = [each | {"kind": f"{each['kind']}, {each['from']}"} for each in spans]
    *_, total = (
        line for line in kinds_table(each | {"kind": "all"} for each in spans).splitlines() if "| all |" in line
    )
    parts.append(kinds_table(by_start).replace("\n\n", f"\n{total}\n\n", 1))
    wrong, given = (sum(counts) for counts in zip(*map(_called_wrong, spans), strict=True))
    parts.append(f"Right seeds called wrong: {wrong} of {given}.")
    refused = sum(each["verdict"] == "not linkable" for each in nothing)
    parts.append(
        f"Nothing shared, without pairs and with {WRONG} wrong ones: “not linkable” {refused} of {len(nothing)} times."
    )
    return "\n\n".join(parts)


def f1_table(kind: str, trials: Trials, which: str) -> Table:
    """Means and deviations of F1, by method and models, over what linking starts from."""
    top = [each for each in trials if each["method"] == ONE_MODEL]
    linked = [each for each in trials if each["method"] != ONE_MODEL]
    starts = list(dict.fromkeys(each["from"] for each in sorted(linked, key=_start_order)))
    rows = []
    for (method, label), own in grouped(linked, "method", "label").items():
        by = grouped(own, "from")
        rows.append([f"{method}, {label}", *(mean_std(_f1(by.get((start,), []), which)) for start in starts)])
    ends = ", ".join(f"{label} {mean_std(_f1(own, 'true'))}" for (label,), own in grouped(top, "label").items())
    links = "all links" if which == "true" else "new links, given pairs left out"
    return Table(
        f"{kind}: F1 of {links}", ["", *starts], rows, f"One model on both sides, best threshold: {ends or '–'}."
    )


def page_table(trials: Trials) -> str:
    """Mean F1 of new links of every method, both ways round and all draws together, as Markdown."""
    starts = list(dict.fromkeys(each["from"] for each in sorted(trials, key=_start_order) if "new" in each))
    of = grouped(trials, "kind", "method", "from")
    rows = [["catalogues", "F1 of new links", *starts], ["---", "---"] + ["--:"] * len(starts)]
    for kind, name in PAGE_KINDS.items():
        for method, words in PAGE_METHODS.items():
            start, which = ("0 pairs", "true") if method == ONE_MODEL else (None, "new")  # needs no pairs
            found = [_f1(of.get((kind, method, start or each), []), which) for each in starts]
            rows.append([name, words, *(f"{f1.mean():.1f}" if len(f1) else "–" for f1 in found)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) if starts else "Not measured."


def _start_order(trial: Line) -> tuple[bool, int]:
    return "anchors" in trial["from"], int(trial["from"].split()[0])


def _f1(trials: Trials, which: str) -> np.ndarray:
    return np.array([100 * each[which]["f1"] for each in trials])


def _called_wrong(trial: Line) -> tuple[int, int]:
    start = trial["from"]
    return trial["right_called_wrong"], 0 if "anchors" in start else int(start.split()[0])


def kept() -> Trials:
    """The trials that are kept; of one that several versions made, the last."""
    return real.last_of_each(*sorted(real.RESULTS.glob("catalogues.*.jsonl")))


def main() -> None:
    """Run the cells that are missing, or print the tables of those that are there."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--trials", type=int, default=5)
    arguments.add_argument("--part", default="1/1")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--table", action="store_true")
    options = arguments.parse_args()
    if options.table:
        print(tables(kept()))
        return
    path = real.RESULTS / f"catalogues.{options.part.replace('/', '-of-')}.jsonl"
    known = {line["case"] for line in real.read_lines(path) if is_current(line)}
    corpora = Corpora(data_folder(options.data))
    for cell in real.part_of([cell for cell in cells(options.trials) if options.only in cell.name], options.part):
        if cell.name not in known:
            real.add_line(path, trial(cell, corpora))
