"""How far the estimates may be off: ranges around precision, recall and overlap, for the links above any cut.

The probabilities expect W = Σ(1 − p) wrong links of n. In trials on real vectors the true number was mostly between
W·exp(−1.8) and W·exp(0.5), and the true overlap between exp(−1.5·W/n) and exp(5·W/n) times the estimate, both on top of
what chance brings about: the linker is rather too modest, above all where little is shared. These numbers were chosen
on the trials of `experiments/results/span.json` and on draws 0 and 1 in `results/intervals.json`; draw 2 there is the
check of them (`python experiments/intervals.py --data DIR`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.links import Links

FEWER_WRONG, MORE_WRONG = 1.8, 0.5
FEWER_SHARED, MORE_SHARED = 1.5, 5.0
CHANCE = 1.645  # of a normal distribution: 90 % lie within


@dataclass(frozen=True)
class Interval:
    """An estimate, and the range that holds the truth about nine times in ten."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimates:
    """What is thought of a set of links as a whole."""

    precision: Interval
    recall: Interval
    overlap: Interval


def estimate(links: Links) -> Estimates | None:
    """Precision, recall and overlap of the links with their intervals; None where the method does not estimate them."""
    summary, n = links.summary, len(links)
    if summary.precision is None or summary.recall is None or not summary.overlap or not n:
        return None
    wrong = n - float(links.probability.sum())
    return ranges(n, wrong, summary.overlap, default_doubt(links), min(summary.n_a, summary.n_b))


def ranges(n: int, expected_wrong: float, overlap: float, doubt: float, smaller: int) -> Estimates:
    """The estimates for n links of which so many are expected to be wrong, between collections of which the smaller
    has so many rows; doubt: the expected share of wrong links at the default cut.
    """
    wrong = wrong_links(expected_wrong, n)
    shared = shared_objects(overlap, doubt, smaller)
    right = Interval(n - wrong.value, n - wrong.high, n - wrong.low)
    return Estimates(
        precision=Interval(right.value / n, right.low / n, right.high / n),
        recall=Interval(*(min(1.0, share) for share in (
            right.value / shared.value, right.low / shared.high, right.high / shared.low
        ))),
        overlap=shared,
    )  # fmt: skip


def wrong_links(expected: float, n: int) -> Interval:
    """How many of n links are wrong, when the probabilities expect so many."""
    chance = CHANCE * np.sqrt(max(expected, 0.0))
    low, high = expected * np.exp(-FEWER_WRONG) - chance, expected * np.exp(MORE_WRONG) + chance
    return Interval(expected, float(np.clip(low, 0, n)), float(np.clip(high, 0, n)))


def shared_objects(overlap: float, doubt: float, most: int) -> Interval:
    """How many objects are in both collections, from the estimate and the expected share of wrong links."""
    chance = CHANCE / np.sqrt(max(overlap, 1.0))
    low, high = (overlap * np.exp(by) for by in (-FEWER_SHARED * doubt - chance, MORE_SHARED * doubt + chance))
    return Interval(overlap, float(low), float(min(high, most)))


def default_doubt(links: Links) -> float:
    """The expected share of wrong links at the cut of largest F1: how hard the pair is, whatever cut was chosen."""
    source = links if links.considered is None else links.considered
    p = source.probability
    if not len(p):
        return 0.0
    kept = np.arange(1, len(p) + 1)
    best = int(np.argmax(2 * np.cumsum(p) / (kept + max(links.summary.overlap or 0.0, 1.0)))) + 1
    return float(1 - p[:best].mean())
