"""How far the estimates may be off: ranges around precision, recall and overlap, for the links above any cut.

The probabilities expect W = Σ(1 − p) wrong links of n. How far that is off depends most on the share s of the smaller
collection that seems to be in the other: where little is shared, the linker counts too many wrong links and too few
shared objects. In trials on real vectors nine of ten lay, up to what chance brings about, within

    true wrong links / W           exp(−0.6 − 0.25/s)  to  exp(0.5)
    true recall / estimate         exp(0.15 − 0.10/s)  to  exp(0.06)
    true overlap / estimate        exp(−0.09)          to  exp(0.11/s − 0.12)

The numbers were chosen on `experiments/results/span.json` and `results/intervals.json`; how often they hold, there and
in the further trials of `results/probe.json`, is what `python experiments/coverage.py` prints. The 0.15 was 0.12
before those were seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.links import Links

FEWER_WRONG, MORE_WRONG = (0.25, 0.6), 0.5  # (by 1/s, and as it is); in logarithms, as all of these
LESS_FOUND, MORE_FOUND = (0.10, -0.15), 0.06
FEWER_SHARED, MORE_SHARED = 0.09, (0.11, -0.12)
LEAST = 0.04  # a range is at least so wide to either side, whatever is shared
SMALLEST_SHARE = 1 / 15  # that trials say anything about
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
    return ranges(n, wrong, summary.overlap, min(summary.n_a, summary.n_b))


def ranges(n: int, expected_wrong: float, overlap: float, smaller: int) -> Estimates:
    """The estimates for n links of which so many are expected to be wrong, between collections that seem to share
    `overlap` objects and of which the smaller has so many rows.
    """
    wrong = wrong_links(expected_wrong, n, overlap / smaller)
    return Estimates(
        precision=Interval(1 - wrong.value / n, 1 - wrong.high / n, 1 - wrong.low / n),
        recall=found_share(n - expected_wrong, overlap, smaller),
        overlap=shared_objects(overlap, smaller),
    )


def wrong_links(expected: float, n: int, share: float) -> Interval:
    """How many of n links are wrong, when the probabilities expect so many. share: of the smaller side, in both."""
    chance = CHANCE * np.sqrt(max(expected, 0.0))
    low = expected - _together(expected * (1 - np.exp(-by_share(FEWER_WRONG, share))), chance)
    high = expected + _together(expected * (np.exp(MORE_WRONG) - 1), chance)
    return Interval(expected, float(np.clip(low, 0, n)), float(np.clip(high, 0, n)))


def found_share(right: float, overlap: float, smaller: int) -> Interval:
    """Recall: how large a part so many right links are of the shared objects."""
    value = min(1.0, right / overlap)
    chance = CHANCE * np.sqrt((1 - value) / max(right, 1.0))
    low = value * np.exp(-_together(by_share(LESS_FOUND, overlap / smaller), chance))
    return Interval(value, float(low), float(min(1.0, value * np.exp(_together(MORE_FOUND, chance)))))


def shared_objects(overlap: float, smaller: int) -> Interval:
    """How many objects are in both collections, of which the smaller has so many rows."""
    chance = CHANCE / (2 * np.sqrt(max(overlap, 1.0)))
    low = overlap * np.exp(-_together(FEWER_SHARED, chance))
    high = overlap * np.exp(_together(by_share(MORE_SHARED, overlap / smaller), chance))
    return Interval(overlap, float(low), float(max(overlap, min(high, smaller))))


def by_share(line: tuple[float, float], share: float) -> float:
    """How far off, in logarithms, an estimate may be where so large a share of the smaller collection is in both."""
    slope, start = line
    return max(LEAST, slope / max(share, SMALLEST_SHARE) + start)


def _together(error: float, chance: float) -> float:
    """What two independent causes come to."""
    return float(np.hypot(error, chance))
