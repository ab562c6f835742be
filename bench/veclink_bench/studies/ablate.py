"""Span linking without one of its parts: what each start, schedule, fold, correction and piece of evidence is worth.

    veclink bench ablate --data DIR [--trials 1] [--seeds 15] [--part 1/16] [--only TEXT] [--without PART]

Runs the cases of `veclink bench real --half choose` whole, then without each part in turn. What was measured of the
code as it behaves now, in any of results/experiments/ablate.PART.jsonl, is not measured again; what the whole run had
no use for is not taken away. `--table` prints what changes without each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink.confidence.constants import FOLDS
from veclink.confidence.evidence import REGISTRY, model_evidence
from veclink.geometry.clouds import LARGE
from veclink.geometry.signatures import rules_of
from veclink.linkers.options import GrowthSchedule
from veclink.linkers.span.attempt import Attempt
from veclink.linkers.span.constants import FEW_ROWS
from veclink.linkers.span.growing import Pool
from veclink_bench.arguments import parser
from veclink_bench.places import data_folder
from veclink_bench.real_cases import Corpora, cases
from veclink_bench.real_table import f1, mean, recall_at_95
from veclink_bench.studies import real
from veclink_bench.studies.real import Line
from veclink_bench.versions import version_of

WHOLE = ""
SPAN, CONFIDENCE = "veclink.linkers.span", "veclink.confidence"


@dataclass(frozen=True)
class Part:
    """One part of span linking: the options and values without it, and which whole runs, by their line, used it."""

    options: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    used: Callable[[Line], bool] = lambda line: True


def _start(name: str, function: str, instead: Callable[..., Any]) -> Part:
    values = {f"{SPAN}.starts.{function}": instead}
    return Part(values=values, used=lambda line: any(name in each for each in line["starts"]))


def _no_attempt(search: Any, *_: Any) -> Attempt:
    """An attempt that counts for nothing, like that of outside anchors which place no row."""
    empty = Pool(np.empty((0, 2), np.int64), np.empty(0), np.empty(0), extent=1)
    return Attempt("left out", empty, search, mark=1.0)


def _evidence(*names: str) -> Part:
    others = tuple(replace(each, in_model=each.in_model and each.name not in names) for each in REGISTRY)
    return Part(values={f"{CONFIDENCE}.evidence.REGISTRY": others})


PARTS = {
    "start: given": _start("", "_given", _no_attempt),
    "start: softly": _start("softly", "_softly", lambda *_: iter(())),
    "start: centred on the anchors": _start("centred", "_centred_on_anchors", lambda *_: None),
    "start: aligned": _start("aligned", "_aligned", _no_attempt),
    "start: searched": _start("searched", "_searched", _no_attempt),
    "start: vouched for by seeds that come back": _start("softly", "_come_back", lambda *_: False),
    "start: all but the given": Part({"fallbacks": False}, used=lambda line: len(line["starts"]) > 1),
    "start: compared with a second": Part(values={f"{SPAN}.starts.COMPARED_STARTS": 1}),
    "growth: careful with few rows": Part(
        values={f"{SPAN}.attempt.FEW_ROWS_SCHEDULE": GrowthSchedule()},
        used=lambda line: min(line["n_a"], line["n_b"]) <= FEW_ROWS,
    ),
    "growth: votes out of bag": Part({"out_of_bag": False}),
    "growth: seeds that look wrong": Part({"trust_seeds": True}),
    "growth: widening": Part(
        values={f"{SPAN}.linker.widen": lambda clouds, pool, rng: pool.pairs},
        used=lambda line: max(line["n_a"], line["n_b"]) > LARGE,
    ),
    "centring": Part({"centred": False}),
    "centring on the pool": Part(values={f"{SPAN}.starts.centred_on_pool": lambda attempt: attempt}),
    "copies as one": Part({"group_copies": False}, used=lambda line: any(line["copies"])),
    "maps: cross-fitted": Part({"crossfitted": False}),
    "maps: more folds of few links": Part(values={f"{SPAN}.linker.FOLDS_OF_FEW": FOLDS}),
    "maps: several joined": Part(values={f"{CONFIDENCE}.candidates.rules_of": lambda weights: rules_of(weights)[:1]}),
    "refits": Part({"refits": 0}),
    "refits: the second": Part({"refits": 1}),
    "refits: more folds": Part(values={f"{SPAN}.linker.FOLDS_OF_REFIT": FOLDS}),
    "count: by the regression": Part(values={f"{CONFIDENCE}.mixture.REGRESSION_ERROR": (np.inf, np.inf)}),
    "count: by the rate of decoys": Part(values={f"{CONFIDENCE}.mixture.RATE_ERROR": 1e9}),
    "count: a higher rate than decoys have": Part(values={f"{CONFIDENCE}.mixture.DECOY_RATE_INFLATION": 0.0}),
    "count: by two normals": Part(values={f"{CONFIDENCE}.mixture.MIN_CANDIDATES_FOR_NORMALS": np.inf}),
    "decoys: of doubtful links too": Part(values={f"{CONFIDENCE}.decoys.DECOY_BASE_WEIGHT": 0.0}),
    "decoys: beside the candidates' own doubt": Part(values={f"{CONFIDENCE}.mixture.OWN_DOUBT_SHARE": 0.0}),
    "evidence: single maps": _evidence(*(each.name for each in REGISTRY if "_map" in each.name)),
    "evidence: neighbourhoods": _evidence(*(each.name for each in REGISTRY if each.of_neighbourhoods)),
    **{f"evidence: {each.name}": _evidence(each.name) for each in model_evidence()},
}


def main() -> None:
    """Run what is missing, or print the table of what is there."""
    arguments = parser(__doc__, data=True)
    real.add_case_options(arguments)
    arguments.add_argument("--without", default="", metavar="TEXT", help="parts whose names hold this text")
    options = arguments.parse_args()
    if options.table:
        print(table(kept()))
        return
    listed = cases("choose", trials=options.trials, seeds=tuple(options.seeds))
    chosen = [case for case in listed if options.only in case.name]
    names = [name for name in PARTS if options.without in name]
    jobs = [(case, WHOLE) for case in chosen] + [(case, name) for case in chosen for name in names]
    path = real.RESULTS / f"ablate.{options.part.replace('/', '-of-')}.jsonl"
    corpora = Corpora(data_folder(options.data))
    real.trial(chosen[0], corpora)  # compiles, which the seconds of the others are not to hold
    for case, name in real.part_of(jobs, options.part):
        known, part = kept(version_of("span")), PARTS.get(name, Part())
        whole = known.get((case.name, WHOLE))
        if (case.name, name) in known or (whole is not None and not part.used(whole)):
            continue
        with ExitStack() as without:
            for place, value in part.values.items():
                without.enter_context(patch(place, value))
            real.add_line(path, real.trial(case, corpora, **part.options) | {"without": name})


def kept(version: str | None = None) -> dict[tuple[str, str], Line]:
    """What is kept of each case without each part, of one behaviour or the last of any."""
    lines = [line for path in sorted(real.RESULTS.glob("ablate.*.jsonl")) for line in real.read_lines(path)]
    return {(line["case"], line["without"]): line for line in lines if version in (None, line["version"])}


def table(lines: dict[tuple[str, str], Line]) -> str:
    """What changes without each part, over the cases of which both are known, as Markdown; first the whole."""
    whole = {case: line for (case, without), line in lines.items() if without == WHOLE}
    kinds = list(dict.fromkeys(line["kind"] for line in whole.values() if line["shared"]))
    figures = ["F1 of all kinds", "error of the estimate", "recall at 0.95", *kinds]
    rows = [["without", "runs", "changed", "no longer start", "linked, nothing shared", "seconds", *figures]]
    rows += [["---"] * len(rows[0]), ["(nothing)", str(len(whole)), *[""] * 4, *_told(_figures(whole.values(), kinds))]]
    for name, part in PARTS.items():
        pairs = [(line, lines.get((case, name), None if part.used(line) else line)) for case, line in whole.items()]
        known = [(line, other) for line, other in pairs if other is not None]
        if not known:
            continue
        before, after = zip(*known, strict=True)
        changed = sum(line["true"] != other["true"] for line, other in known)
        lost = sum(line["links"] > 0 == other["links"] for line, other in known if line["shared"])
        wrong = sum(other["links"] > 0 for other in after if not other["shared"])
        seconds = sum(other["seconds"] for other in after) / sum(line["seconds"] for line in before)
        apart = _told(_figures(after, kinds) - _figures(before, kinds), "+.1f")
        rows.append([name, *map(str, (len(known), changed, lost, wrong)), f"× {seconds:.2f}", *apart])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _figures(lines: Iterable[Line], kinds: list[str]) -> np.ndarray:
    """Mean F1, size of the error of the estimated precision and recall at 0.95, kinds counting alike; F1 of each."""
    of_kinds = [[line for line in lines if line["kind"] == kind] for kind in kinds]
    f1s, recalls = ([measure(some) if some else np.nan for some in of_kinds] for measure in (f1, recall_at_95))
    linked = [[line for line in some if line["links"]] for some in of_kinds]
    errors = [mean(abs(line["estimated"]["precision"] - line["true"]["precision"]) for line in some) for some in linked]
    return np.array([np.nanmean(f1s), np.mean(errors), np.nanmean(recalls), *f1s])


def _told(figures: np.ndarray, form: str = ".1f") -> list[str]:
    return ["–" if np.isnan(each) else format(each, form) for each in figures]
