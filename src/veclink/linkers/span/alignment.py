"""Aligning two clouds softly, when the first idea of who matches whom is too poor to name a single right pair.

A hint (profiles, or signatures from a few seeds) puts the right partner of a point somewhere among the nearest tenth
of the other cloud. Single pairs chosen by it are nearly all wrong, but the cross-covariance of all points with their
likely partners is right on average: the errors cancel, what the two clouds share adds up. Its leading directions make
a better guess of the partners, and so on. A round fits the directions on one half of the rows and guesses partners
for the other half, so that a wrong guess does not confirm itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import matmul

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span.constants import (
    ALIGNMENT_POWER,
    ALIGNMENT_STEADY,
    HINTED,
    PRINCIPAL_DIRECTIONS,
    SHARED_DIRECTIONS,
)
from veclink.linkers.span.directions import leading, whitening
from veclink.matching import Matches
from veclink.progress import RoundListener
from veclink.threads import multiply


def align(
    clouds: Sides,
    hints: Sides,
    rng: np.random.Generator,
    matched: Callable[..., Matches],
    rounds: int,
    listener: RoundListener | None = None,
) -> Sides:
    """Projections on which two clouds of unit vectors look alike, from hints.

    With P, Q the whitened principal coordinates of the rows and q̄(u) the mean of u's two nearest partners by csls, a
    round takes the singular vectors of `Σ_u P(u) q̄(u)ᵀ + Σ_v p̄(v) Q(v)ᵀ`, each weighted by its singular value to the
    power ALIGNMENT_POWER, as the directions of the next signature. The hint is joined to it in the first rounds, so
    that they cannot wander off; kept for longer, it holds the directions back.

    Parameters
    ----------
    clouds : ndarrays of shape (n1, d1) and (n2, d2)
        Rows of unit length.
    hints : ndarrays of shape (n1, h) and (n2, h)
        A row of unit length for each row of the clouds, which compare across them.
    rng : numpy.random.Generator
        Draws the halves.
    matched : callable
        `matching.match` with its settings.
    rounds : int
        At most.
    listener : callable, optional
        Hears of every round.

    Returns
    -------
    ndarrays of shape (d1, r) and (d2, r)
    """
    whitened_by = both(partial(whitening, count=PRINCIPAL_DIRECTIONS), clouds)
    whitened = both(multiply, clouds, whitened_by)
    signatures = hints
    n = len(clouds[0])
    half = _random_half(n, rng)
    partner = np.full(n, -1)
    unchanged: list[float] = []
    (hinted, weight), (steady, last) = HINTED, ALIGNMENT_STEADY
    for step in range(rounds):
        found = matched(signatures[0][half], signatures[1], depth=2)
        best = found.forward.index[:, 0]
        unchanged.append(float(np.mean(best == partner[half])))
        partner[half] = best
        if listener is not None:
            listener(step + 1, len(half), 0.0)
        directions = _shared_directions(whitened, half, found)
        signatures = both(partial(multiply, after=unit_rows), whitened, directions)
        if step > hinted + last and np.mean(unchanged[-last:]) >= steady:
            break
        if step < hinted:
            joined = both(lambda own, hint: np.hstack([own, np.float32(weight) * hint]), signatures, hints)
            signatures = both(unit_rows, joined)
        # The other half of the rows next, then a new split.
        if step % 2 == 0:
            half = np.setdiff1d(np.arange(n), half)
        else:
            half = _random_half(n, rng)
    return both(matmul, whitened_by, directions)


def _random_half(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(n)[: n // 2]


def _shared_directions(whitened: Sides, half: np.ndarray, found: Matches) -> Sides:
    """The leading singular vectors of the cross-covariance of all rows with their likely partners, weighted."""
    p, q = whitened
    partners_of_a = q[found.forward.index].mean(axis=1)
    near_b = half[found.backward.index]
    partners_of_b = p[near_b].mean(axis=1)
    joint = p[half].T @ partners_of_a / len(half)
    joint += partners_of_b.T @ q / len(q)
    return leading(joint, SHARED_DIRECTIONS, ALIGNMENT_POWER)
