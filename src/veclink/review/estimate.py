"""Which links come up for review, and what the answers say about all links: the precision, with an interval.

The links are divided into bands of probability, and within a band they come up in random order, so the answered ones
are a sample of their band, wherever the review stops. Let a band hold N links with the mean probability p̄, of which n
are answered, r of them rightly linked. The share of right ones among the other N − n is taken as

    θ ~ Beta(w·p̄ + r, w·(1 − p̄) + n − r),   w = 2:

before any answer it is what the linker thinks, with the weight of two answers; each answer moves it. The right ones
among the rest are Binomial(N − n, θ). The precision is the sum of the answered and the expected right ones over all
bands, divided by the links; the interval is from 4,000 draws of θ and of the binomials. Skipped links are not answered.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from veclink.data.links import Links

EDGES = (0.0, 0.1, 0.3, 0.7, 0.9, 0.97, 1.0)
LABELS = (*(f"{low:g} – {high:g}" for low, high in pairwise(EDGES)), "given")
DOUBTFUL = (*(low < 0.9 and high > 0.1 for low, high in pairwise(EDGES)), False)


class BandCount(NamedTuple):
    """One band: its links, their mean probability, and how many were answered right and wrong."""

    links: int
    mean: float
    right: int
    wrong: int


class Estimate(NamedTuple):
    """Precision of all links, and the interval that holds it with a probability of 95 %."""

    precision: float
    low: float
    high: float


def banded(links: Links, *, random_state: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The band (n,) of each link, by probability, or that of the given ones; and the links in each order.

    In the order "doubtful" the uncertain bands come first, the given pairs last; "even" is at random.
    """
    edges = np.array(EDGES)
    of = np.clip(np.searchsorted(edges, links.probability, side="right") - 1, 0, len(edges) - 2)
    given = links.evidence.get("given", np.zeros(len(links)))
    of = np.where(given.astype(bool), len(edges) - 1, of)
    distance = np.append(np.abs((edges[:-1] + edges[1:]) / 2 - 0.5), 1)
    rank = np.argsort(np.argsort(distance, kind="stable"), kind="stable")
    shuffled = np.random.default_rng(random_state).permutation(len(links))
    return of, {"doubtful": shuffled[np.argsort(rank[of[shuffled]], kind="stable")], "even": shuffled}


def count_bands(of: np.ndarray, probability: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> list[BandCount]:
    """The counts of all bands; right, wrong: (links,) bool, both False where a link has no answer."""
    return [
        BandCount(
            links=int(here.sum()),
            mean=float(probability[here].sum() / max(here.sum(), 1)),
            right=int(right[here].sum()),
            wrong=int(wrong[here].sum()),
        )
        for here in (of == band for band in range(len(LABELS)))
    ]


def estimate(bands: list[BandCount]) -> Estimate | None:
    """The precision that the bands' answers and probabilities come to; None without links."""
    total = sum(band.links for band in bands)
    if not total:
        return None
    rng = np.random.default_rng(0)
    expected, drawn = 0.0, np.zeros(4000)
    for band in bands:
        rest = band.links - band.right - band.wrong
        mean = min(max(band.mean, 0.005), 0.995)  # no band is certain before anyone looked
        for_it, against = 2 * mean + band.right, 2 * (1 - mean) + band.wrong
        expected += band.right + rest * for_it / (for_it + against)
        drawn += band.right + rng.binomial(rest, rng.beta(for_it, against, len(drawn)))
    low, high = np.quantile(drawn / total, [0.025, 0.975])
    return Estimate(expected / total, float(low), float(high))
