"""Which of the given pairs look wrong: the one rule by which linking leaves them out and a probe names them.

A right pair is near as seen from links that were found without it; a wrong one lies anywhere. Vectors are centred rows
of unit length, and a pair is seen along the span signatures of anchors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veclink.backends.cloud_pair import Projections
from veclink.geometry.clouds import LARGE
from veclink.geometry.signatures import span_projection, unit_rows

RANKED = LARGE  # rows of a cloud that a given pair is ranked among
ANCHORS = 256  # links that it is seen from
SUSPECT = 0.02  # of the cloud is nearer to a wrong pair than its partner in 98 of 100, to a right one in 0 to 3 of 100

Sampled = Callable[[str, int], np.ndarray]  # rows of one cloud ("a" or "b"), at most so many


def suspects(
    left: np.ndarray, right: np.ndarray, anchors: tuple[np.ndarray, np.ndarray], sample: Sampled, ridge: float
) -> np.ndarray:
    """Positions of the pairs (left, right) that are far apart as seen from the anchors.

    anchors: the two ends of links, the best first, of which none is one of the pairs; the first 256 are used.
    """
    axes = span_projection(anchors[0][:ANCHORS], ridge), span_projection(anchors[1][:ANCHORS], ridge)
    clouds = sample("a", RANKED), sample("b", RANKED)
    seen = unit_rows(clouds[0] @ axes[0]), unit_rows(clouds[1] @ axes[1])
    return np.flatnonzero(shares_nearer(*seen, left, right, axes) > SUSPECT)


def apart(pairs: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Those of the pairs (n, 2) that share no row with a given one: only they can judge the given ones."""
    known = np.isin(pairs[:, 0], given[:, 0]) | np.isin(pairs[:, 1], given[:, 1])
    return pairs[~known]


def held_out_shares(
    left: np.ndarray, right: np.ndarray, kept: np.ndarray, clouds: tuple[np.ndarray, np.ndarray], ridge: float
) -> np.ndarray:
    """For each pair, the share of either cloud that is nearer to it than its partner, before anything is linked.

    A pair is seen from the kept ones but itself: as an anchor it would place itself well. Some pairs alone show little:
    this puts pairs in an order, and says how far the typical one is off, but it names none.
    """
    far = np.empty(len(left))
    for place in range(len(left)):
        others = kept[kept != place]
        axes = span_projection(left[others], ridge), span_projection(right[others], ridge)
        seen = unit_rows(clouds[0] @ axes[0]), unit_rows(clouds[1] @ axes[1])
        far[place] = shares_nearer(*seen, left[place, None], right[place, None], axes)[0]
    return far


def shares_nearer(
    of_a: np.ndarray, of_b: np.ndarray, left: np.ndarray, right: np.ndarray, axes: Projections
) -> np.ndarray:
    """For pairs (left, right): the share of b nearer to left than right is, and of a to right; their geometric mean.

    of_a, of_b: the signatures of the clouds along the axes.
    """
    z_left, z_right = unit_rows(left @ axes[0]), unit_rows(right @ axes[1])
    own = np.einsum("ij,ij->i", z_left, z_right)[:, None]
    in_b = (np.sum(z_left @ of_b.T > own, axis=1) + 1) / (len(of_b) + 1)
    in_a = (np.sum(z_right @ of_a.T > own, axis=1) + 1) / (len(of_a) + 1)
    return np.sqrt(in_a * in_b)
