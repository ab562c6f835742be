"""Scoring: candidates by maps that were fitted without them, and what their neighbourhoods say about them."""

from __future__ import annotations

import numpy as np

from veclink.confidence.candidates import FOLDS, Candidates
from veclink.confidence.constants import FITTED_OF_MANY, MAX_FITTED_CANDIDATES
from veclink.linkers.span.constants import (
    FEW_LINKS,
    FOLDS_OF_MANY,
    MIN_ANCHOR_WEIGHT,
    MIN_NEARBY_LINKS,
    NEIGHBOURHOOD_LINKS,
)


def fitted_links(candidates: Candidates, rng: np.random.Generator) -> np.ndarray:
    """Positions of the mutual candidates that the calibration is fitted to: all, or of very many a sample."""
    links = candidates.mutual()
    if len(links) <= MAX_FITTED_CANDIDATES:
        return links
    return np.sort(rng.choice(links, FITTED_OF_MANY, replace=False))


def nearby_links(pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pool (m, 2), or of a very large one enough links to surround any pair."""
    if len(pool) <= NEIGHBOURHOOD_LINKS:
        return pool
    some = rng.choice(len(pool), NEIGHBOURHOOD_LINKS, replace=False)
    return pool[np.sort(some)]


def folds_of_known(links: np.ndarray) -> int:
    """Into how many folds the links (m, 2) are cut that new rows are judged by."""
    return FOLDS_OF_MANY if len(links) >= FEW_LINKS else FOLDS


def anchor_weights(probability: np.ndarray) -> np.ndarray:
    """How much each candidate counts as an anchor, (m,).

    Wrong links between near neighbours still say where things lie: none is left out.
    """
    return MIN_ANCHOR_WEIGHT + (1 - MIN_ANCHOR_WEIGHT) * probability


def likely_links(links: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Those of the links (m, 2), the surest first, that are more likely right than wrong; some in any case."""
    count = int(np.count_nonzero(probability > 0.5))
    return links[: max(MIN_NEARBY_LINKS, count)]
