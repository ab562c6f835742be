"""The result of any linker: a `Decision` about pairs of rows of two clouds, and the `Links` it becomes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.confidence.intervals import caution_of
from veclink.data.collection import digest, fingerprint
from veclink.data.links import Links
from veclink.data.links_files import row_evidence
from veclink.data.summary import Summary, judged_anew, shares, with_ranges
from veclink.data.words import Reason, texts_of
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import no_pairs
from veclink.linkers.copies import Grouped
from veclink.linkers.verdict import Verdict

SHOWN_SEEDS = 5  # of those that look wrong, whose texts are told


@dataclass(frozen=True, eq=False)
class Decision:
    """What a linker decided: pairs of rows of two clouds, of which the first `kept` are links."""

    method: str
    verdict: Verdict
    pairs: np.ndarray = field(default_factory=no_pairs)  # (n, 2) rows of A and of B
    probability: np.ndarray = field(default_factory=lambda: np.empty(0))  # (n,); falling, where precision is estimated
    evidence: dict[str, np.ndarray] = field(default_factory=dict)  # (n,) each: the columns that explain each pair
    kept: int = 0
    overlap: float | None = None  # estimated number of shared objects; None where the method estimates nothing
    overlap_range: tuple[float, float] | None = None
    wrong_seeds: np.ndarray = field(default_factory=no_pairs)  # (w, 2) given pairs that look wrong
    rounds: int = 0
    trace: dict[str, Any] = field(default_factory=dict)  # how it came about, as plain values


def links_of(
    found: Decision, a: Cloud, b: Cloud, groups: Grouped | None, options: dict[str, Any], began: float, **known: Any
) -> Links:
    """The links of two collections, from a decision about their clouds.

    Parameters
    ----------
    found : Decision
        What was decided.
    a, b : Cloud
        Where its rows come from.
    groups : Grouped, optional
        The copies that are linked like the rows that stand for them.
    options : dict
        Options of the method, as plain values.
    began : float
        When the run began, by `time.perf_counter`.
    **known
        What else the summary says.
    """
    evidence = dict(found.evidence)
    for name, column in evidence.items():
        if side := row_evidence(name):  # rows of a cloud become those of a collection
            rows = (a if side == "a" else b).rows
            evidence[name] = np.where(column >= 0, rows[np.maximum(column, 0)], -1)
    pairs, probability, kept = _rows(found.pairs, a, b), found.probability, found.kept
    if groups is not None:
        pairs, source = groups.expanded(pairs)
        probability, kept = probability[source], int(np.count_nonzero(source < kept))
        evidence = {name: column[source] for name, column in evidence.items()}
    left, right = a.collection, b.collection
    rows_a, rows_b = pairs.T
    wrong, texts = _rows(found.wrong_seeds, a, b), texts_of(left, right)
    known["why"] = _with_texts(known["why"], texts.of(wrong[:SHOWN_SEEDS], {}), len(wrong))
    summary = Summary(
        method=found.method,
        n_a=len(left),
        n_b=len(right),
        n_links=kept,
        verdict=found.verdict.name,
        wrong_seeds=wrong.tolist(),
        calibration=CALIBRATION_VERSION,
        iterations=found.rounds,
        vectors=(fingerprint(left), fingerprint(right)),
        **_estimates(found, (len(a), len(b)), known["copies"]),
        **known,
    )
    trace, hubs = dict(found.trace), found.trace.get("hubs")
    if hubs:
        trace["hubs"] = {
            side: [[int(cloud.rows[row]), count] for row, count in hubs[side]] for side, cloud in (("a", a), ("b", b))
        }
    links = Links(
        pairs,
        probability,
        summary,
        evidence,
        left.ids_at(rows_a),
        right.ids_at(rows_b),
        options=options,
        trace=trace,
        texts=texts,
    )
    every = links.considered
    summary = replace(
        summary,
        agreement=links.agreement_with(left, right),
        found=digest(every.pairs, every.probability),
        seconds=time.perf_counter() - began,
    )
    return links.told(judged_anew(with_ranges(summary, links.probability)))


def _with_texts(why: list[Reason], texts: dict[str, np.ndarray], wrong: int) -> list[Reason]:
    """The reasons, with what the payload calls the first of so many seeds that look wrong, where both sides say it."""
    if len(texts) < 2:
        return why
    hardly = "more_pairs_hardly_help"
    why = [Reason(hardly, texts=True) if each.code == hardly else each for each in why]
    return [*why, Reason("texts_of_wrong_seeds", pairs=np.column_stack([*texts.values()]).tolist())] if wrong else why


def _rows(pairs: np.ndarray, a: Cloud, b: Cloud) -> np.ndarray:
    """Pairs of rows of two clouds (n, 2) as rows of their collections: the two differ where zeros were skipped."""
    return np.column_stack([a.rows[pairs[:, 0]], b.rows[pairs[:, 1]]])


def _estimates(found: Decision, sizes: tuple[int, int], copies: tuple[int, int]) -> dict[str, Any]:
    """Precision, recall and overlap of the links, and the caution that `Links.at` uses.

    sizes: rows of both sides without so many copies, which may be objects of their own: the range holds both.
    """
    if found.overlap is None or not len(found.probability):
        return {}
    caution = {"caution": caution_of(float(found.probability.sum()))}
    if not found.kept:
        return caution
    precision, recall = shares(found.probability[: found.kept], found.overlap)
    least, most = found.overlap_range or (found.overlap, found.overlap)
    more = min(np.add(sizes, copies)) - min(sizes)
    overlap = {"overlap": found.overlap, "overlap_range": (least, float(most + more))}
    return {"precision": precision, "recall": recall, **overlap, **caution}
