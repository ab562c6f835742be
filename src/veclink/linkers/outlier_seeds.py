"""Which of the given pairs look wrong: the one rule by which linking leaves them out and a probe names them.

A right pair is near as seen from links that were found without it; a wrong one lies anywhere. Vectors are centred rows
of unit length, and a pair is seen along the span signatures of anchors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.span.constants import OUTLIER_ANCHORS, OUTLIER_SAMPLE, OUTLIER_SHARE

SampleRows = Callable[[str, int], np.ndarray]  # rows of one cloud ("a" or "b"), at most so many


def find_outlier_seeds(
    pairs: Sides,
    anchors: Sides,
    sample: SampleRows,
    ridge: float,
) -> np.ndarray:
    """Positions of the pairs that are far apart as seen from the anchors.

    Parameters
    ----------
    pairs : ndarrays of shape (m, d1) and (m, d2)
        The vectors of the given pairs.
    anchors : ndarrays of shape (n, d1) and (n, d2)
        The two ends of links, the best first, of which none is one of the pairs; the first 256 are used.
    sample : callable
        Gives random rows of one cloud.
    ridge : float
        λ of the span signature.
    """
    left, right = anchors
    seen_from = left[:OUTLIER_ANCHORS], right[:OUTLIER_ANCHORS]
    projections = span_projections(seen_from, ridge)
    clouds = sample("a", OUTLIER_SAMPLE), sample("b", OUTLIER_SAMPLE)
    signatures = both(projected, clouds, projections)
    shares = shares_nearer(signatures, pairs, projections)
    return np.flatnonzero(shares > OUTLIER_SHARE)


def held_out_shares(
    pairs: Sides,
    kept: np.ndarray,
    clouds: Sides,
    ridge: float,
) -> np.ndarray:
    """For each pair, the share of either cloud that is nearer to it than its partner, before anything is linked.

    A pair is seen from the kept ones but itself: as an anchor it would place itself well. Some pairs alone show little:
    this puts pairs in an order, and says how far the typical one is off, but it names none.
    """
    left, right = pairs
    shares = np.empty(len(left))
    for i in range(len(left)):
        others = kept[kept != i]
        projections = span_projections((left[others], right[others]), ridge)
        signatures = both(projected, clouds, projections)
        own = left[i, None], right[i, None]
        shares[i] = shares_nearer(signatures, own, projections)[0]
    return shares


def shares_nearer(signatures: Sides, pairs: Sides, projections: Sides) -> np.ndarray:
    """For pairs (left, right): the share of B nearer to left than right is, and of A to right; their geometric mean.

    signatures: those of the clouds along the projections.
    """
    of_a, of_b = signatures
    left, right = both(projected, pairs, projections)
    own = np.einsum("ij,ij->i", left, right)[:, None]
    in_b = _share_above(left @ of_b.T, own)
    in_a = _share_above(right @ of_a.T, own)
    return np.sqrt(in_a * in_b)


def _share_above(cosine: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The share of each row's cosines above its own; one more is counted, so that it is never 0."""
    above = np.sum(cosine > own, axis=1)
    return (above + 1) / (cosine.shape[1] + 1)
