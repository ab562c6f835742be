"""How far the estimates may be off: ranges around precision, recall and overlap, for the links above any threshold.

The probabilities expect W = Σ(1 − p) wrong links of n. How far that is off depends most on the share s of the smaller
collection that seems to be in the other: where little is shared, the linker counts too many wrong links and too few
shared objects. In trials on real vectors nine of ten lay, up to what chance brings about, within

    true wrong links / W           exp(−1 − 0.25/s − 4/√o)    to  exp(0.5 + 4/√o)
    true recall / estimate         exp(0.15 − 0.10/s − 3/√o)  to  exp(0.06)
    true overlap / estimate        exp(−0.09 − 3/√o)          to  exp(0.11/s − 0.12 + 3/√o)

with o the estimated overlap: few links make poor maps, and all errors are larger. Of links that are surer than the
default threshold asks for, up to `caution` times as many are wrong (exp(0.5 + log caution) instead, where that is
more): probabilities are least known where they are highest, and most so where many of the judged pairs are wrong.

The numbers (`constants`) were chosen on `span.json` and `intervals.json` of bench/results, those with o and those of
sure links on the half `choose` of `veclink bench real`. How often they hold is what
`veclink bench real --table` prints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.confidence.constants import (
    FALSE_DISCOVERY_INFLATION,
    FEW_LINKS_COUNT_ERROR,
    FEW_LINKS_SHARE_ERROR,
    FEWER_SHARED,
    FEWER_WRONG,
    HIGHER_RECALL,
    LOWER_RECALL,
    MIN_SPREAD,
    MORE_SHARED,
    MORE_WRONG,
    NORMAL_90,
    SMALLEST_SHARE,
    SURER,
)
from veclink.data.links import Links


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


@dataclass(frozen=True)
class Spread:
    """How far off the estimates may be, in logarithms, where so many objects seem to be in both collections.

    Attributes
    ----------
    fewer_wrong, more_wrong, lower_recall, higher_recall, fewer_shared, more_shared : float
        exp(±spread) bounds the ratio of the truth and the estimate.
    chance : float
        Standard deviations of what chance brings about on top.
    """

    fewer_wrong: float
    more_wrong: float
    lower_recall: float
    higher_recall: float
    fewer_shared: float
    more_shared: float
    chance: float = NORMAL_90

    @classmethod
    def at(cls, overlap: float, smaller: int, caution: float = 1.0) -> Spread:
        """Where so many objects seem to be in both collections, of which the smaller has so many rows.

        caution: of links surer than the default threshold asks for, that of their summary.
        """
        share = overlap / max(smaller, 1)
        more_of_surer = np.log(np.clip(np.nan_to_num(caution), 1.0, 1 + FALSE_DISCOVERY_INFLATION))
        scarcity = 1 / np.sqrt(max(overlap, 1.0))
        of_counts = FEW_LINKS_COUNT_ERROR * scarcity
        of_shares = FEW_LINKS_SHARE_ERROR * scarcity
        return cls(
            fewer_wrong=_by_share(FEWER_WRONG, share) + of_counts,
            more_wrong=MORE_WRONG + max(of_counts, float(more_of_surer)),
            lower_recall=_by_share(LOWER_RECALL, share) + of_shares,
            higher_recall=HIGHER_RECALL,
            fewer_shared=FEWER_SHARED + of_shares,
            more_shared=_by_share(MORE_SHARED, share) + of_shares,
        )


def estimate(links: Links) -> Estimates | None:
    """Precision, recall and overlap of the links with their intervals; None where the method does not estimate them."""
    summary = links.summary
    if summary.precision is None or summary.recall is None:
        return None
    smaller = min(summary.n_a, summary.n_b)
    return estimates(links.probability, summary.overlap, smaller, summary.caution)


def estimates(
    probability: np.ndarray,
    overlap: float | None,
    smaller: int,
    caution: float = 1.0,
) -> Estimates | None:
    """The estimates for links with these probabilities (n,); None where there are no links, or no overlap is known.

    overlap: how many objects the collections seem to share; smaller: rows of the smaller collection; caution: that of
    the links' summary.
    """
    n = len(probability)
    if not n or overlap is None or overlap <= 0:
        return None
    expected_wrong = n - float(probability.sum())
    needed = caution if probability.min() > SURER else 1.0
    return ranges(n, expected_wrong, float(overlap), smaller, needed)


def ranges(n: int, expected_wrong: float, overlap: float, smaller: int, caution: float = 1.0) -> Estimates:
    """The estimates for n links.

    Parameters
    ----------
    n : int
    expected_wrong : float
        How many of the links the probabilities expect to be wrong.
    overlap : float
        How many objects the collections seem to share.
    smaller : int
        Rows of the smaller collection.
    caution : float
        Of links surer than the default threshold asks for, that of their summary.
    """
    wrong = wrong_links(expected_wrong, n, Spread.at(overlap, smaller, caution))
    precision = Interval(
        1 - wrong.value / n,
        1 - wrong.high / n,
        1 - wrong.low / n,
    )
    return Estimates(
        precision,
        recall=found_share(n - expected_wrong, overlap, smaller),
        overlap=shared_objects(overlap, smaller),
    )


def wrong_links(expected: float, n: int, spread: Spread) -> Interval:
    """How many of n links are wrong, when the probabilities expect so many."""
    chance = spread.chance * np.sqrt(max(expected, 0.0))
    fewer = expected * (1 - np.exp(-spread.fewer_wrong))
    more = expected * (np.exp(spread.more_wrong) - 1)
    low = expected - _together(fewer, chance)
    high = expected + _together(more, chance)
    return Interval(
        expected,
        float(np.clip(low, 0, n)),
        float(np.clip(high, 0, n)),
    )


def found_share(right: float, overlap: float, smaller: int) -> Interval:
    """Recall: how large a part so many right links are of the shared objects."""
    spread = Spread.at(overlap, smaller)
    value = min(1.0, right / overlap)
    chance = spread.chance * np.sqrt((1 - value) / max(right, 1.0))
    low = value * np.exp(-_together(spread.lower_recall, chance))
    high = value * np.exp(_together(spread.higher_recall, chance))
    return Interval(value, float(low), float(min(1.0, high)))


def shared_objects(overlap: float, smaller: int) -> Interval:
    """How many objects are in both collections, of which the smaller has so many rows."""
    spread = Spread.at(overlap, smaller)
    chance = spread.chance / (2 * np.sqrt(max(overlap, 1.0)))
    low = overlap * np.exp(-_together(spread.fewer_shared, chance))
    high = overlap * np.exp(_together(spread.more_shared, chance))
    return Interval(
        overlap,
        float(low),
        float(max(overlap, min(high, smaller))),
    )


def _by_share(line: tuple[float, float], share: float) -> float:
    """slope/share + start: how far off, in logarithms, an estimate may be at this share."""
    slope, start = line
    known_share = max(share, SMALLEST_SHARE)
    return max(MIN_SPREAD, slope / known_share + start)


def _together(error: float, chance: float) -> float:
    """What two independent causes come to."""
    return float(np.hypot(error, chance))
