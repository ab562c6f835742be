"""The main job on the bundled sample, in a form that a person can check by eye."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veclink import sample
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.scores import Scores, score
from veclink.linkers.linking import link
from veclink.report import save_report
from veclink.report.content import Example, examples
from veclink.stores.opening import open_collection

if TYPE_CHECKING:
    from veclink.progress import ProgressListener


SURE_ONES, DOUBTFUL_ONES = 3, 3


@dataclass(frozen=True)
class Demo:
    """The links of the sample, what the truth says about them, and some pairs with titles, the surest first."""

    links: Links
    scores: Scores
    n_shared: int
    n_seeds: int
    shown: list[Example]
    report: Path | None = None


def run_demo(*, progress: ProgressListener | None = None, report: Path | None = None, **options: Any) -> Demo:
    """Link the sample from its 15 seeds (`options` go to `link`), compare the result with its truth, write a report."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    links = link(a, b, seeds=sample.SEEDS, progress=progress, **options)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    if report is not None:
        save_report(report, links, a, b, truth=sample.TRUTH)
    shown = examples(links, a, b, truth, sure=SURE_ONES, doubtful=DOUBTFUL_ONES)
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, shown, report)
