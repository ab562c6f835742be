"""The main job on the bundled sample, in a form a person can judge by eye."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink import sample
from veclink.anchors import resolve_pairs
from veclink.collection import Collection, open_collection
from veclink.evaluation import Scores, score
from veclink.linking import link
from veclink.links import Links
from veclink.report import save_report

if TYPE_CHECKING:
    from veclink.progress import ProgressListener


@dataclass(frozen=True)
class TitledLink:
    """One link by its titles, and whether the truth has it."""

    title_a: str
    title_b: str
    probability: float
    right: bool


@dataclass(frozen=True)
class Demo:
    """The links of the sample, what the truth says about them, and some of them with titles, the surest first."""

    links: Links
    scores: Scores
    n_shared: int
    n_seeds: int
    shown: list[TitledLink]
    report: Path | None = None


def run_demo(
    *, shown: int = 12, progress: ProgressListener | None = None, report: Path | None = None, **options: Any
) -> Demo:
    """Link the sample from its 15 seeds (`options` go to `link`), compare the result with its truth, write a report."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    links = link(a, b, seeds=sample.SEEDS, progress=progress, **options)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    if report is not None:
        save_report(report, links, a, b, truth=sample.TRUTH)
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, _titled(links, truth, a, b, shown), report)


def _titled(links: Links, truth: np.ndarray, a: Collection, b: Collection, count: int) -> list[TitledLink]:
    assert a.payload is not None and b.payload is not None, "the sample has titles"
    right = set(map(tuple, truth.tolist()))
    # Evenly over the whole ranking: the surest links alone would look better than the result is.
    places = np.unique(np.linspace(0, len(links) - 1, min(count, len(links))).round().astype(int))
    return [
        TitledLink(
            a.payload["title"][row_a].as_py(),
            b.payload["title"][row_b].as_py(),
            float(links.probability[place]),
            (row_a, row_b) in right,
        )
        for place in places.tolist()
        for row_a, row_b in [links.pairs[place].tolist()]
    ]
