"""How far the estimates may be off: ranges around precision, recall and overlap above any threshold; and thresholds.

One number is uncertain above all: how many of the judged pairs are right. The log odds of their share are taken to be
off by a standard deviation of

    σ = √(0.4² + 10²/R)

where R of them seem to be right: few links make poor maps. All else follows from it. `caution` is e^{1.645·σ}: nine
times in ten there are at most so many times as many wrong links as the probabilities expect, and `Links.at` counts that
many for a wanted precision. How many objects are shared depends on a second share, that of the true pairs which are
mutual candidates: given pairs that are left out of every map, and come back or do not, are draws from it. Without given
pairs it may be anything that was seen between two models and two ways of writing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.confidence.constants import COUNT_ERROR, FEW_RIGHT_ERROR, LEAST_MUTUAL_SHARE, MUTUAL_SHARE, NORMAL_90
from veclink.confidence.logistic import logit, sigmoid
from veclink.data.links import Links
from veclink.data.summary import Summary

TABLED_PRECISIONS = (0.99, 0.95, 0.90)
"""Wanted precisions that a summary says the price of."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and the range that holds the truth about nine times in ten."""

    value: float
    low: float
    high: float

    @property
    def range(self) -> tuple[float, float]:
        """From where to where."""
        return self.low, self.high


@dataclass(frozen=True)
class Estimates:
    """What is thought of a set of links as a whole."""

    precision: Interval
    recall: Interval
    overlap: Interval


def caution_of(right: float) -> float:
    """How many times as many wrong links there may be as the probabilities expect, where so many pairs seem right."""
    return float(np.exp(NORMAL_90 * np.hypot(COUNT_ERROR, FEW_RIGHT_ERROR / np.sqrt(max(right, 1.0)))))


def mutual_share(given: int, found: int) -> Interval:
    """Which share of the true pairs are mutual candidates, by how many of the given ones come back when left out.

    The posterior of a binomial share under Jeffreys' prior; without given pairs, what is usual for one corpus.
    """
    if not given:
        return Interval(MUTUAL_SHARE, LEAST_MUTUAL_SHARE, 1.0)
    # Beta(found + ½, given − found + ½), as the density of t where the share is sin² t
    t = np.linspace(0.0, np.pi / 2, 4001)[1:-1]
    log_density = 2 * found * np.log(np.sin(t)) + 2 * (given - found) * np.log(np.cos(t))
    below = np.cumsum(np.exp(log_density - log_density.max()))
    low, high = np.interp((0.05, 0.95), below / below[-1], np.sin(t) ** 2)
    return Interval((found + 0.5) / (given + 1), float(low), float(high))


def shared_objects(probability: np.ndarray, given: int, found: int, smaller: int) -> Interval:
    """How many objects are in both collections, of which the smaller has so many rows.

    Parameters
    ----------
    probability : (n,)
        Of all mutual candidates.
    given, found : int
        Given pairs, and how many of them are candidates when they are left out.
    """
    n, right = len(probability), float(probability.sum())
    if not right > 0:
        return Interval(0.0, 0.0, 0.0)
    share, error = mutual_share(given, found), np.log(caution_of(right))
    least, most = (n * float(sigmoid(logit(right / n) + shift)) for shift in (-error, error))
    value = right / share.value
    low = value * np.exp(-np.hypot(np.log(right / least), np.log(share.high / share.value)))
    high = value * np.exp(np.hypot(np.log(most / right), np.log(share.value / share.low)))
    return Interval(min(value, smaller), min(float(low), smaller), min(float(high), smaller))


def estimate(links: Links) -> Estimates | None:
    """Precision, recall and overlap of the links with their intervals; None where the method does not estimate them."""
    summary = links.summary
    if summary.precision is None or summary.recall is None:
        return None
    return estimates(links.probability, summary)


def estimates(probability: np.ndarray, summary: Summary) -> Estimates | None:
    """The estimates for links with these probabilities (n,); None where there are no links, or no overlap is known.

    summary: of the run that they are from, for its overlap and its caution.
    """
    n = len(probability)
    if not n or not summary.overlap:
        return None
    caution = float(np.clip(np.nan_to_num(summary.caution), 1.0, 100.0))  # one that does no harm, whatever a file says
    right, shared = float(probability.sum()), float(summary.overlap)
    wrong = wrong_links(n - right, n, caution)
    # of files of 0.1, and of new rows, only as much is known as caution says
    most = max(shared, min(summary.n_a, summary.n_b))
    least, most = summary.overlap_range or (shared / caution, min(shared * caution, most))
    overlap = Interval(shared, min(max(least, n - wrong.high), shared), max(most, shared))  # right links are shared
    recall = Interval(
        min(1.0, right / shared),
        min(1.0, (n - wrong.high) / max(overlap.high, 1e-9)),
        min(1.0, (n - wrong.low) / max(overlap.low, 1e-9)),
    )
    return Estimates(Interval(1 - wrong.value / n, 1 - wrong.high / n, 1 - wrong.low / n), recall, overlap)


def wrong_links(expected: float, n: int, caution: float) -> Interval:
    """How many of n links are wrong, when the probabilities expect so many."""
    chance = NORMAL_90 * np.sqrt(max(expected, 0.0))
    low = expected - np.hypot(expected * (1 - 1 / caution), chance)
    high = expected + np.hypot(expected * (caution - 1), chance)
    return Interval(expected, float(np.clip(low, 0, n)), float(np.clip(high, 0, n)))


# Thresholds: how many of the surest pairs are links


@dataclass(frozen=True)
class Threshold:
    """What a wanted precision costs: how many links `Links.at` keeps for it, and their estimated recall."""

    precision: float
    n_links: int
    recall: float | None


def thresholds(links: Links) -> tuple[Threshold, ...]:
    """A line for each of TABLED_PRECISIONS; none where the method does not estimate precision."""
    if links.summary.precision is None:
        return ()
    lines = []
    for precision in TABLED_PRECISIONS:
        summary = links.at(precision=precision).summary
        lines.append(Threshold(precision, summary.n_links, summary.recall))
    return tuple(lines)


def best_threshold(probability: np.ndarray, overlap: float) -> int:
    """How many of the pairs, sorted by falling probability (n,), to keep for the largest expected F1.

    Of the first m, Σp are right; expected F1 = 2·Σp / (m + overlap). overlap: the estimated number of shared objects.
    """
    if not len(probability):
        return 0
    return int(np.argmax(expected_f1(probability, overlap))) + 1


def expected_f1(probability: np.ndarray, overlap: float) -> np.ndarray:
    """Of the first 1, 2, … n pairs, sorted by falling probability (n,): (n,)."""
    kept = np.arange(1, len(probability) + 1)
    return 2 * np.cumsum(probability) / (kept + max(overlap, 1.0))
