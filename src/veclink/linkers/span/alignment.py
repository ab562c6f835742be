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

from veclink.geometry.arrays import Sides, both, tiles
from veclink.geometry.signatures import singular, unit_rows
from veclink.linkers.span.constants import (
    ALIGNMENT_POWER,
    ALIGNMENT_STEADY,
    HINTED,
    PRINCIPAL_DIRECTIONS,
    SHARED_DIRECTIONS,
)
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
    p, q = whitened = both(multiply, clouds, whitened_by)
    signatures, n = hints, len(p)
    half = rng.permutation(n)[: n // 2]
    partner, unchanged = np.full(n, -1), []
    (hinted, weight), (steady, last) = HINTED, ALIGNMENT_STEADY
    for step in range(rounds):
        found = matched(signatures[0][half], signatures[1], depth=2)
        best = found.forward.index[:, 0]
        unchanged.append(float(np.mean(best == partner[half])))
        partner[half] = best
        if listener is not None:
            listener(step + 1, len(half), 0.0)
        # the cross-covariance of all rows with their likely partners
        joint = p[half].T @ q[found.forward.index].mean(axis=1) / len(half)
        joint += p[half[found.backward.index]].mean(axis=1).T @ q / len(q)
        directions = leading(joint, SHARED_DIRECTIONS)
        signatures = both(partial(multiply, after=unit_rows), whitened, directions)
        if step > hinted + last and np.mean(unchanged[-last:]) >= steady:
            break
        if step < hinted:
            joined = both(lambda own, hint: np.hstack([own, np.float32(weight) * hint]), signatures, hints)
            signatures = both(unit_rows, joined)
        # The other half of the rows next, then a new split.
        half = rng.permutation(n)[: n // 2] if step % 2 else np.setdiff1d(np.arange(n), half)
    return both(matmul, whitened_by, directions)


def whitening(points: np.ndarray, count: int) -> np.ndarray:
    """The leading principal directions (d, count), each divided by the root of its variance plus the mean variance."""
    blocks = (points[start:stop] for start, stop in tiles(len(points), 4096))  # rows held in float64 at a time
    values, directions = np.linalg.eigh(sum(rows.T.astype(np.float64) @ rows for rows in blocks) / len(points))
    values = np.maximum(values[::-1], 0.0)
    scaled = directions[:, ::-1] / np.sqrt(values + values.mean())
    return scaled[:, :count].astype(np.float32)


def leading(joint: np.ndarray, count: int) -> Sides:
    """The leading singular vectors (…, d, count) of both sides, each weighted by its singular value to a power."""
    left, value, right = singular(joint)
    relative = value[..., :count] / np.maximum(value[..., :1], 1e-12)
    weight = relative[..., None, :] ** np.float32(ALIGNMENT_POWER)
    return left[..., :count] * weight, right[..., :count, :].swapaxes(-1, -2) * weight


def rising(ends: tuple[float, float], step: int, rounds: int) -> float:
    """What rises from round to round as a geometric series, in one round; after the last it stays."""
    low, high = ends
    return low * (high / low) ** min(step / max(rounds - 1, 1), 1.0)
