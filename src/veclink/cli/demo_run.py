"""The main job on the bundled sample, in a form a person can judge by eye."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink import sample
from veclink.confidence.explanations import in_words, typical
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.scores import Scores, score
from veclink.linkers.linking import link
from veclink.report import save_report
from veclink.stores.opening import open_collection

if TYPE_CHECKING:
    from veclink.progress import ProgressListener


SURE_ONES, DOUBTFUL_ONES = 3, 3


@dataclass(frozen=True)
class TitledLink:
    """One pair by its titles: its kind ("sure", "doubtful" or "left out"), whether the truth has it, and what speaks
    against it, in words.
    """

    kind: str
    title_a: str
    title_b: str
    probability: float
    right: bool
    doubt: str


@dataclass(frozen=True)
class Demo:
    """The links of the sample, what the truth says about them, and some pairs with titles, the surest first."""

    links: Links
    scores: Scores
    n_shared: int
    n_seeds: int
    shown: list[TitledLink]
    report: Path | None = None


def run_demo(*, progress: ProgressListener | None = None, report: Path | None = None, **options: Any) -> Demo:
    """Link the sample from its 15 seeds (`options` go to `link`), compare the result with its truth, write a report."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    links = link(a, b, seeds=sample.SEEDS, progress=progress, **options)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    if report is not None:
        save_report(report, links, a, b, truth=sample.TRUTH)
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, _titled(links, truth, a, b), report)


def _titled(links: Links, truth: np.ndarray, a: Collection, b: Collection) -> list[TitledLink]:
    """Some of the sure links, some of the doubtful ones, and the pair that came closest to being a link."""
    assert a.payload is not None and b.payload is not None, "the sample has titles"
    titles = a.payload["title"], b.payload["title"]
    right = set(map(tuple, truth.tolist()))
    source = links if links.considered is None else links.considered

    def named(column: int, row: int) -> str:
        return titles[column][row].as_py() if row >= 0 else ""

    shown = []
    for kind, i in typical(links, SURE_ONES, DOUBTFUL_ONES):
        row_a, row_b = source.pairs[i].tolist()
        rivals = [named(column, int(source.evidence[f"rival_{side}"][i])) for column, side in enumerate("ab")]
        doubt = "" if kind == "sure" else in_words(replace(source, trace=links.trace), i, *rivals)
        sure_of_it = float(source.probability[i])
        shown.append(TitledLink(kind, named(0, row_a), named(1, row_b), sure_of_it, (row_a, row_b) in right, doubt))
    return shown
