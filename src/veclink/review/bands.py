"""Bands of probability: the strata from which links are drawn for review, and in which answers stand for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veclink.data.links import Links

EDGES = (0.0, 0.1, 0.3, 0.7, 0.9, 0.97, 1.0)
ORDERS = ("doubtful", "even")


@dataclass(frozen=True, eq=False)
class Bands:
    """The links of a result in bands.

    of:     (n,) the band of each link. labels: what each band is called. doubtful: which bands are the uncertain ones.
    queues: for each order, the links as they come to the reviewer. Within a band the order is random, so that the
            answered links of a band are a fair sample of it, wherever the review stops.
    """

    of: np.ndarray
    labels: tuple[str, ...]
    doubtful: tuple[bool, ...]
    queues: dict[str, np.ndarray]


def banded(links: Links, *, random_state: int = 0) -> Bands:
    """Bands by probability, and one for the pairs that were given; those come last in the order "doubtful"."""
    edges = np.array(EDGES)
    of = np.clip(np.searchsorted(edges, links.probability, side="right") - 1, 0, len(edges) - 2)
    given = links.evidence.get("given")
    if given is not None:
        of = np.where(given.astype(bool), len(edges) - 1, of)
    labels = (*(f"{low:g} – {high:g}" for low, high in pairwise(EDGES)), "given")
    distance = np.abs((edges[:-1] + edges[1:]) / 2 - 0.5)
    rank = np.append(np.argsort(np.argsort(distance, kind="stable"), kind="stable"), len(distance))
    shuffled = np.random.default_rng(random_state).permutation(len(links))
    doubtful_first = shuffled[np.argsort(rank[of[shuffled]], kind="stable")]
    return Bands(
        of=of,
        labels=labels,
        doubtful=(*(low < 0.9 and high > 0.1 for low, high in pairwise(EDGES)), False),
        queues={"doubtful": doubtful_first, "even": shuffled},
    )
