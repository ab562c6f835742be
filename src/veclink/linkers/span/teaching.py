"""An alignment that teaches itself: its surest pairs are held while the same clouds are aligned once more.

Where an alignment is nearly right, a tenth or more of its surest pairs are. The others are wrong in all directions, so
that the cross-covariance of them all points the right way; a plan that holds it ends nearer, and its surest pairs are
better ones. Where none of them is right, nothing is gained.
"""

from __future__ import annotations

import numpy as np

from veclink.geometry.sides import both
from veclink.linkers.span.annealing import Schedule, anneal, turned
from veclink.linkers.span.constants import (
    ANNEALED_POWER,
    SHARED_DIRECTIONS,
    TAUGHT,
    TAUGHT_PAIRS,
    TAUGHT_PASSES,
    TAUGHT_RISE,
    TAUGHT_SHARE,
    TAUGHT_WEIGHT,
)
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.nearness import csls_of_all, mutual_pairs
from veclink.linkers.span.samples import Sampled


def taught(sampled: Sampled, joint: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """The cross-covariance (r, r) of whitened rows that another one leads to, when its surest pairs are held.

    known: (r, r), what is held in any case.
    """
    schedule = Schedule(*TAUGHT)
    agreed = 0.0
    for _ in range(TAUGHT_PASSES):
        held = _cross_covariance(sampled, _surest(sampled, joint))
        if known is not None:
            held = held + known
        joint = anneal(sampled.rows, held, schedule, known=held)
        before, agreed = agreed, float(agreement(joint - held))
        if agreed < TAUGHT_RISE * before:
            break
    return joint


def _surest(sampled: Sampled, joint: np.ndarray) -> np.ndarray:
    """The mutual neighbours (p, 2) among the sampled rows that stand out most."""
    seen = turned(sampled.rows, joint, SHARED_DIRECTIONS, ANNEALED_POWER)
    pairs, _ = mutual_pairs(csls_of_all(seen))
    fewest, most = TAUGHT_PAIRS
    smaller = min(both(len, sampled.rows))
    count = np.clip(round(TAUGHT_SHARE * smaller), fewest, most)
    return pairs[:count]


def _cross_covariance(sampled: Sampled, pairs: np.ndarray) -> np.ndarray:
    """Of pairs (p, 2) of sampled rows, times what they weigh beside all rows."""
    of_a, of_b = sampled.rows
    left, right = of_a[pairs[:, 0]], of_b[pairs[:, 1]]
    return np.float32(TAUGHT_WEIGHT / len(pairs)) * (left.T @ right)
