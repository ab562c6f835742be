"""How far the estimates may be off: intervals around precision, recall and overlap, for the links above any cut.

The probabilities expect W = Σ(1 − p) wrong links. In the trials of `experiments/results/span.json` the true number was
nearly always within a factor of exp(0.35) of W, on top of what chance alone brings about (1.64·√W); the true overlap
was within a factor of exp(1.25·W/n) of the estimate, n being the number of links. `experiments/intervals.py` checks how
often intervals made so hold the truth on corpora that these two numbers were not chosen on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.links import Links

WRONG = 0.35
OVERLAP = 1.25
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
    wrong = wrong_links(n - float(links.probability.sum()), n)
    overlap = shared_objects(summary.overlap, default_doubt(links), min(summary.n_a, summary.n_b))
    right = Interval(n - wrong.value, n - wrong.high, n - wrong.low)
    precision = Interval(right.value / n, right.low / n, right.high / n)
    recall = Interval(
        min(1.0, right.value / overlap.value), min(1.0, right.low / overlap.high), min(1.0, right.high / overlap.low)
    )
    return Estimates(precision, recall, overlap)


def wrong_links(expected: float, n: int) -> Interval:
    """How many of n links are wrong, when the probabilities expect so many."""
    chance = CHANCE * np.sqrt(max(expected, 0.0))
    low, high = expected * np.exp(-WRONG) - chance, expected * np.exp(WRONG) + chance
    return Interval(expected, float(np.clip(low, 0, n)), float(np.clip(high, 0, n)))


def shared_objects(overlap: float, doubt: float, most: int) -> Interval:
    """How many objects are in both collections, from the estimate and the expected share of wrong links."""
    spread = OVERLAP * doubt + CHANCE / np.sqrt(max(overlap, 1.0))
    return Interval(overlap, float(overlap * np.exp(-spread)), float(min(overlap * np.exp(spread), most)))


def default_doubt(links: Links) -> float:
    """The expected share of wrong links at the cut of largest F1: how hard the pair is, whatever cut was chosen."""
    source = links if links.considered is None else links.considered
    p = source.probability
    if not len(p):
        return 0.0
    kept = np.arange(1, len(p) + 1)
    best = int(np.argmax(2 * np.cumsum(p) / (kept + max(links.summary.overlap or 0.0, 1.0)))) + 1
    return float(1 - p[:best].mean())
