"""The threshold: how many of the surest pairs are links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.links import Links

TABLED_PRECISIONS = (0.99, 0.95, 0.90)
"""Wanted precisions that a summary says the price of."""


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
