"""An alignment that teaches itself: its surest pairs are held while the same clouds are aligned once more.

Where an alignment is nearly right, a tenth or more of its surest pairs are. The others are wrong in all directions, so
that the cross-covariance of them all points the right way; a plan that holds it ends nearer, and its surest pairs are
better ones. Where none of them is right, nothing is gained.
"""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Sides, both, rows_of
from veclink.linkers.span.annealing import Schedule, anneal, turned
from veclink.linkers.span.constants import (
    SHARED_DIRECTIONS,
)
from veclink.linkers.span.directions import agreement, cross_covariance
from veclink.linkers.span.nearness import csls_of_all, mutual_pairs
from veclink.linkers.span.samples import Sampled
from veclink.linkers.span.search_constants import (
    ANNEALED_POWER,
    TAUGHT,
    TAUGHT_PAIRS,
    TAUGHT_PASSES,
    TAUGHT_RISE,
    TAUGHT_SHARE,
    TAUGHT_WEIGHT,
)


def taught(sampled: Sampled, joint: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """The cross-covariance (r, r) of whitened rows that another one leads to, when its surest pairs are held.

    known: (r, r), what is held in any case.
    """
    schedule = Schedule(*TAUGHT)
    agreed = 0.0
    for _ in range(TAUGHT_PASSES):
        surest = rows_of(sampled.rows, _surest(sampled, joint))
        held = cross_covariance(surest, TAUGHT_WEIGHT)
        if known is not None:
            held = held + known
        joint = anneal(sampled.rows, held, schedule, known=held)
        before, agreed = agreed, float(agreement(joint - held))
        if agreed < TAUGHT_RISE * before:
            break
    return joint


def _surest(sampled: Sampled, joint: np.ndarray) -> Sides:
    """Where the mutual neighbours are among the sampled rows that stand out most, (p,) of either side."""
    seen = turned(sampled.rows, joint, SHARED_DIRECTIONS, ANNEALED_POWER)
    pairs, _ = mutual_pairs(csls_of_all(seen))
    fewest, most = TAUGHT_PAIRS
    smaller = min(both(len, sampled.rows))
    count = np.clip(round(TAUGHT_SHARE * smaller), fewest, most)
    return pairs[:count, 0], pairs[:count, 1]
