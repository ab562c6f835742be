"""Which of the given pairs look wrong, and whether they come back: what given pairs say as seen from other links.

A right pair is near as seen from links that were found without it; a wrong one lies anywhere. Vectors are centred rows
of unit length, and a pair is seen along the span signatures of anchors. What counts is the share of a cloud that is
nearer than the partner, as a geometric mean s of both sides. Of a pair drawn at random both shares are uniform:
P(s ≤ x) = x²(1 − 2 ln x). How near right pairs are differs by data (two shops: 20 % of them have s > 0.02), so a pair
looks wrong where it stands out from the other given ones.
"""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import projected, span_projections
from veclink.linkers.span.constants import FAR_SHARE, NEAR_SHARE


def outliers(shares: np.ndarray) -> np.ndarray:
    """How sure it is that each pair is wrong, by their shares (m,), 0 up to a half; 1 where the typical one is far off.

    Two components, by expectation–maximisation: right pairs, of which ln s is normal, and wrong ones as at random.
    """
    x = np.log(shares)
    of_wrong = np.maximum(-4 * shares**2 * x, 1e-12)  # the density of ln s
    wrong = np.where(shares > NEAR_SHARE, 0.5, 0.05)
    for _ in range(50):
        right = 1 - wrong
        mean = float(right @ x / right.sum())
        deviation = max(1.0, float(np.sqrt(right @ (x - mean) ** 2 / right.sum())))
        prior = float(np.clip(wrong.sum() / (len(x) + 1), 1e-3, 1 - 1e-3))
        of_right = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        wrong = prior * of_wrong / (prior * of_wrong + (1 - prior) * of_right)
        wrong = np.where(x <= mean, 0.0, wrong)
    if mean > np.log(FAR_SHARE):
        return np.ones(len(x))
    return np.where(wrong > 0.5, wrong, 0.0)


def held_out_shares(pairs: Sides, kept: np.ndarray, clouds: Sides, ridge: float) -> np.ndarray:
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
    left, right = both(projected, pairs, projections)
    own = np.einsum("ij,ij->i", left, right)[:, None]
    cosines = right @ signatures[0].T, left @ signatures[1].T
    # one more is counted, so that no share is 0
    of_a, of_b = ((np.sum(near > own, axis=1) + 1) / (near.shape[1] + 1) for near in cosines)
    return np.sqrt(of_a * of_b)
