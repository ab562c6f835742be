"""One trial: split a corpus, draw a start, link by any method, and compare with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.linkers.linking import METHODS, link
from veclink_bench.baselines import BASELINES, link_by
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.splits import Split, draw_anchors, draw_seeds, split

# GEH's best settings. Chosen on the first 2,000 rows of papers (minilm–mpnet at α = 0.15, mpnet–e5 at 0.3) and nfcorpus
# (minilm–e5 at 0.3), two trials each (`veclink bench tuning`).
GEH_TUNED: dict[str, Any] = {"own_votes": False, "centred": True, "view_choice": "random"}
# GEH as a rival: to the letter, tuned, and by its local path, as it is and with out-of-bag votes and centring.
GEH_METHODS: dict[str, dict[str, Any]] = {
    "geh": {},
    "geh tuned": GEH_TUNED,
    "geh local": {"path": "local"},
    "geh local tuned": {"path": "local", "own_votes": False, "centred": True},
}
LINKERS = (*GEH_METHODS, "span")
ALL_METHODS = (*BASELINES, *LINKERS)
QUICK_ITERATIONS = 25


@dataclass(frozen=True, eq=False)
class Case:
    """Two collections split from one corpus, the truth, and what linking starts from (`seeds` or `anchors`)."""

    a: np.ndarray
    b: np.ndarray
    cut: Split
    start: dict[str, Any]


def draw_case(setup: Setup, settings: Settings, *, unshared: np.ndarray | None = None) -> Case:
    """The case of a cell, drawn from its random state.

    pair: [corpus, model A, model B]; overlap; seeds; state; how: the way the seeds are chosen; outside: the corpus that
    anchors come from instead; rows: the first of the corpus only. unshared: marks objects that are on one side only.
    """
    corpus, *models = settings["pair"]
    left, right = (setup.vectors(corpus, model)[: settings.get("rows")] for model in models)
    rng = np.random.default_rng(settings["state"])
    cut = split(len(left), settings["overlap"], rng, unshared=unshared)
    a, b = left[cut.rows_a], right[cut.rows_b]
    if settings.get("outside", corpus) != corpus:
        others = [setup.vectors(settings["outside"], model) for model in models]
        return Case(a, b, cut, {"anchors": draw_anchors(others[0], others[1], settings["seeds"], rng)})
    how = settings.get("how", "uniform")
    seeds = draw_seeds(cut.truth, settings["seeds"], rng, how=how, vectors=a[cut.truth[:, 0]])
    return Case(a, b, cut, {"seeds": seeds})


def links_of(setup: Setup, settings: Settings, case: Case) -> Links:
    """The links of a case by the method of a cell, with its `options`."""
    method, options = settings["method"], dict(settings.get("options", {}))
    told: dict[str, Any] = {"device": setup.device, "random_state": settings["state"], **case.start}
    if method in GEH_METHODS:
        method, options = "geh", GEH_METHODS[method] | options
    if method in METHODS:
        if method == "geh" and not setup.full:
            options = {"max_iterations": QUICK_ITERATIONS} | options
        return link(case.a, case.b, method=method, **told, **options)
    return link_by(method, case.a, case.b, overlap=len(case.cut.truth), **told, **options)


def links_or_seeds(setup: Setup, settings: Settings, case: Case) -> Links | np.ndarray:
    """What a use of links gets from the linker of `links_by`: its links, or the seeds where it finds fewer."""
    found = links_of(setup, settings | {"method": settings["links_by"]}, case)
    return found if len(found) >= len(case.start["seeds"]) else case.start["seeds"]


def measured(links: Links, truth: np.ndarray) -> dict[str, Any]:
    """Precision, recall and F1 in percent, and `f1_oracle`: the best F1 that any threshold could give.

    The oracle knows the truth. It is there for the methods without a threshold of their own.
    """
    scores = score(links.pairs, truth)
    return {
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "f1": 100 * scores.f1,
        "f1_oracle": 100 * best_cut_f1(links.considered, truth),
        "links": len(links),
        "verdict": links.summary.verdict,
        "iterations": links.summary.iterations,
        "seconds": links.summary.seconds,
    }


def best_cut_f1(links: Links, truth: np.ndarray) -> float:
    """The largest F1 of the first n links, the surest first, over all n."""
    if not len(links):
        return 0.0
    width = max(int(links.pairs[:, 1].max()), int(truth[:, 1].max())) + 1
    right = np.isin(links.pairs @ [width, 1], truth @ [width, 1])
    return float((2 * np.cumsum(right) / (np.arange(1, len(right) + 1) + len(truth))).max())


def run_trial(setup: Setup, settings: Settings) -> dict[str, Any]:
    """What one cell measured."""
    case = draw_case(setup, settings)
    return measured(links_of(setup, settings, case), case.cut.truth)
