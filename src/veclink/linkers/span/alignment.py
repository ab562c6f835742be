"""Aligning two clouds softly, when the first idea of who matches whom is too poor to name a single right pair.

A hint (profiles, or signatures from a few seeds) puts the right partner of a point somewhere among the nearest tenth
of the other cloud. Single pairs chosen by it are nearly all wrong, but the cross-covariance of all points with their
likely partners is right on average: the errors cancel, what the two clouds share adds up. Its leading directions make
a better guess of the partners, and so on. A round fits the directions on one half of the rows and guesses partners
for the other half, so that a wrong guess does not confirm itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veclink.geometry.signatures import singular, unit_rows
from veclink.matching import Matches

DIMENSIONS = 200  # leading principal axes that are looked at
DIRECTIONS = 60  # of the cross-covariance that make the signature
PARTNERS = 2
HINTED = 15
ROUNDS = 80
HINT_WEIGHT = 0.5
STILL = 0.7  # so many guesses stay the same only once the right directions are found; wrong ones reach 0.6

Listener = Callable[[int, int, float], None]


def align(
    a: np.ndarray,
    b: np.ndarray,
    hints: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    matched: Callable[..., Matches],
    *,
    power: float,
    rounds: int = ROUNDS,
    listener: Listener | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Projections (d1, r) and (d2, r) on which two clouds of unit vectors look alike, from hints.

    hints: a row of unit length for each row of a and b, which compare across the clouds. matched: `matching.match` with
    its settings. With P, Q the whitened principal coordinates of the rows and q̄(u) the mean of u's two nearest partners
    by csls, a round takes the singular vectors of `Σ_u P(u) q̄(u)ᵀ + Σ_v p̄(v) Q(v)ᵀ`, each weighted by its singular
    value to the `power`, as the axes of the next signature. The hint is joined to it in the first rounds, so that they
    cannot wander off; kept for longer, it holds the axes back.
    """
    whitening_a, whitening_b = _whitening(a), _whitening(b)
    p, q = a @ whitening_a, b @ whitening_b
    of_a, of_b = hints
    half = rng.permutation(len(a))[: len(a) // 2]
    best, kept = np.full(len(a), -1), []
    for step in range(rounds):
        found = matched(of_a[half], of_b, depth=PARTNERS)
        kept.append(float(np.mean(found.forward.index[:, 0] == best[half])))
        if listener is not None:
            listener(step + 1, len(half), kept[-1])
        best[half] = found.forward.index[:, 0]
        joint = p[half].T @ q[found.forward.index].mean(axis=1) / len(half)
        joint += p[half[found.backward.index]].mean(axis=1).T @ q / len(q)
        left, value, right = singular(joint)
        weight = (value[:DIRECTIONS] / max(value[0], 1e-12)) ** np.float32(power)
        turn_a, turn_b = left[:, :DIRECTIONS] * weight, right[:DIRECTIONS].T * weight
        of_a, of_b = unit_rows(p @ turn_a), unit_rows(q @ turn_b)
        if step > HINTED + 4 and np.mean(kept[-4:]) >= STILL:
            break
        if step < HINTED:
            of_a = unit_rows(np.hstack([of_a, np.float32(HINT_WEIGHT) * hints[0]]))
            of_b = unit_rows(np.hstack([of_b, np.float32(HINT_WEIGHT) * hints[1]]))
        # The other half of the rows next, then a new split.
        half = np.setdiff1d(np.arange(len(a)), half) if step % 2 == 0 else rng.permutation(len(a))[: len(a) // 2]
    return whitening_a @ turn_a, whitening_b @ turn_b


def _whitening(points: np.ndarray) -> np.ndarray:
    """The leading principal axes (d, 200), each divided by the root of its variance plus the mean variance."""
    values, axes = np.linalg.eigh(points.T.astype(np.float64) @ points / len(points))
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    return (axes / np.sqrt(values + values.mean()))[:, :DIMENSIONS].astype(np.float32)
