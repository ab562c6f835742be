"""Centring anew: on what is shared, where that is of another kind than the rest of a cloud.

Both clouds are centred before anything else, since a common mean makes all cosines alike. But the means of two clouds
are those of the same objects only where the rest of each is like what they share. With films beside the abstracts in B
alone, B's mean lies between the two, and the same abstracts no longer look alike in A and in B. So the means are taken
again over what is near the given pairs, and over the links of a pool once there is one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veclink.backends import CloudPair
from veclink.geometry.arrays import Sides, both
from veclink.geometry.clouds import uncentred
from veclink.geometry.nearest import largest
from veclink.linkers.anchors import Anchors
from veclink.linkers.span.constants import CENTRED_NEAREST, MOVED_MEAN

Means = Sides


def means_near(clouds: CloudPair, pairs: np.ndarray) -> Means | None:
    """The means of the rows nearest to the given pairs (m, 2), where they differ from those of the clouds."""
    near_a = _nearest(clouds.all_rows("a"), pairs[:, 0])
    near_b = _nearest(clouds.all_rows("b"), pairs[:, 1])
    return moved_means(clouds, near_a, near_b)


def moved_means(clouds: CloudPair, some_a: np.ndarray, some_b: np.ndarray) -> Means | None:
    """The means of some rows of both clouds (m, d), before centring; None where those of the clouds do as well."""
    mean_a, mean_b = old = clouds.means
    if clouds.centred_on is None or clouds.large:
        return None
    if mean_a is None or mean_b is None:
        return None
    new = both(_mean, (some_a, some_b), old)
    moved = both(_moved, old, new)
    return None if max(moved) < MOVED_MEAN else new


def centred(clouds: CloudPair, means: Means) -> CloudPair:
    """The same clouds with other means subtracted."""
    assert clouds.centred_on is not None, "moved_means gives none where it cannot be done"
    return clouds.centred_on(*means)


def anchors_on(clouds: CloudPair, anchors: Anchors) -> Anchors:
    """Anchors that are rows, as these clouds have them."""
    left, right = clouds.vectors(anchors.rows)
    return replace(anchors, left=left, right=right)


def _nearest(rows: np.ndarray, to: np.ndarray) -> np.ndarray:
    """The rows (m, d) nearest to those at these positions, these included, each once."""
    count = min(CENTRED_NEAREST, len(rows))
    cosine = rows[to] @ rows.T
    near = np.unique(largest(cosine, count))
    return rows[near]


def _mean(rows: np.ndarray, old: np.ndarray) -> np.ndarray:
    as_they_were = uncentred(rows, old)
    return as_they_were.mean(axis=0).astype(np.float32)


def _moved(old: np.ndarray, new: np.ndarray) -> float:
    """How far a mean of unit vectors moved, squared, in units of their variance."""
    step = new - old
    variance = 1.0 - float(old @ old)
    return float(step @ step) / max(variance, 1e-6)
