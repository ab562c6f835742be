"""Aligning two clouds softly, when the first idea of who matches whom is too poor to name a single right pair.

A hint (profiles, or signatures from a few seeds) puts the right partner of a point somewhere among the nearest tenth of
the other cloud. Single pairs chosen by it are nearly all wrong, but the cross-covariance of all points with their likely
partners is right on average: the errors cancel, what the two clouds share adds up. Its leading directions make a better
guess of the partners, and so on. A round fits the directions on one half of the rows and guesses partners for the other
half, so that a wrong guess does not confirm itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.matching import match
from veclink.signatures import unit_rows

MOST_ROWS = 6000  # of a cloud: the directions are shared by all rows, and a sample finds them
DIMENSIONS = 200  # leading principal axes that are looked at
DIRECTIONS = 60  # of the cross-covariance that make the signature
PARTNERS = 2
ROUNDS = 40
HINTED_ROUNDS = 30
HINT_WEIGHT = 0.5


@dataclass(frozen=True, eq=False)
class Alignment:
    """Signatures of both clouds in the directions found, and how far the guesses kept still.

    steady: of the rows guessed in the last rounds, the share that got the same best partner as when they were last guessed.
    """

    of_a: np.ndarray
    of_b: np.ndarray
    steady: float
    history: tuple[float, ...] = ()

    def pairs(self, k: int, *, memory: int | None = None, device: str = "cpu") -> np.ndarray:
        """Mutual csls neighbours of the signatures, the best first, (p, 2)."""
        pairs, score = match(self.of_a, self.of_b, k=k, memory=memory, device=device).mutual()
        return pairs[np.argsort(-score, kind="stable")]


def align(
    a: np.ndarray,
    b: np.ndarray,
    hints: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    *,
    k: int = 10,
    rounds: int = ROUNDS,
    power: float = 1.0,
    device: str = "cpu",
    memory: int | None = None,
) -> Alignment:
    """Directions in which two clouds of unit vectors look alike, from hints: unit rows that compare across the clouds.

    With P, Q the whitened principal coordinates of the rows and q̄(u) the mean of u's nearest partners by csls, a round
    takes the singular vectors of `Σ_u P(u) q̄(u)ᵀ + Σ_v p̄(v) Q(v)ᵀ`, weighted by singular value^power, as the next
    signature. The hint stays joined to it until the last rounds.
    """
    p, q = _whitened(a), _whitened(b)
    z_a, z_b = hints
    half = rng.permutation(len(a))[: len(a) // 2]
    best, history = np.full(len(a), -1), []
    for step in range(rounds):
        found = match(z_a[half], z_b, k=k, depth=PARTNERS, device=device, memory=memory)
        history.append(float(np.mean(found.forward.index[:, 0] == best[half])))
        best[half] = found.forward.index[:, 0]
        joint = p[half].T @ q[found.forward.index].mean(axis=1) / len(half)
        joint += p[half[found.backward.index]].mean(axis=1).T @ q / len(q)
        u, value, vt = np.linalg.svd(joint)
        weight = ((value / value[0]) ** power)[:DIRECTIONS].astype(np.float32)
        z_a = unit_rows(p @ (u[:, : len(weight)] * weight))
        z_b = unit_rows(q @ (vt[: len(weight)].T * weight))
        if step < rounds - (ROUNDS - HINTED_ROUNDS):
            z_a = unit_rows(np.hstack([z_a, np.float32(HINT_WEIGHT) * hints[0]]))
            z_b = unit_rows(np.hstack([z_b, np.float32(HINT_WEIGHT) * hints[1]]))
        # The other half of the rows next, then a new split.
        half = np.setdiff1d(np.arange(len(a)), half) if step % 2 == 0 else rng.permutation(len(a))[: len(a) // 2]
    return Alignment(z_a, z_b, float(np.mean(history[-4:])), tuple(history))


def _whitened(points: np.ndarray) -> np.ndarray:
    """Principal coordinates, the leading ones, divided by the root of their variance plus the mean variance."""
    values, axes = np.linalg.eigh(points.T.astype(np.float64) @ points / len(points))
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    scale = np.sqrt(values + values.mean())
    return (points @ (axes / scale)[:, :DIMENSIONS]).astype(np.float32)
