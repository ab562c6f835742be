"""Affine maps `y = (x − x̄)M + ȳ`, all from moments alone: Procrustes, ridge, ridge of low rank, and the blend of two.

Procrustes keeps all that x tells apart, but knows nothing of how the two spaces differ; ridge learns that, and flattens
what it has seen too little of. The blend is ridge that shrinks towards the Procrustes rotation instead of zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.signatures import singular
from veclink.uses.maps.moments import Moments, sum_of

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridge strengths that are tried, as multiples of the mean variance of x."""
MOST_GAIN = 1.5
"""By how much a blend is widened at most, where it predicts too little spread. Origin not recorded."""
RANKS = (16, 32, 64, 128, 256, 512)
"""Ranks that are tried for a map of low rank."""


@dataclass(frozen=True, eq=False)
class Affine:
    """`(x − centre)·matrix + target`, or with the matrix as a product `matrix·back` where its rank is low."""

    centre: np.ndarray
    target: np.ndarray
    matrix: np.ndarray
    back: np.ndarray | None = None

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Rows of A's space as rows of B's."""
        moved = (x - self.centre) @ self.matrix
        return (moved if self.back is None else moved @ self.back) + self.target

    def arrays(self) -> dict[str, np.ndarray]:
        """What the map is made of."""
        arrays = {"centre": self.centre, "target": self.target, "matrix": self.matrix}
        return arrays if self.back is None else {**arrays, "back": self.back}


def fit_procrustes(moments: Moments) -> Affine:
    """Centre, scale, rotate: `M = s·UVᵀ` from `XᵀY = UΣVᵀ`, `s = tr Σ / |X|²`; dimensions that differ are bridged.

    With fewer pairs than dimensions the rotation is known only on what the pairs span; elsewhere M is zero.
    """
    return affine(moments, scaled_rotation(*moments.centred()))


def fit_ridge(parts: list[Moments]) -> Affine:
    """`M = (XᵀX + λI)⁻¹XᵀY`, λ being what predicts best the parts that took no part."""
    total = sum_of(parts)
    return affine(total, Solver(total).matrix(best_strength(left_out(parts))))


def fit_blend(parts: list[Moments]) -> Affine:
    """`M = g·(XᵀX + λI)⁻¹(XᵀY + λR)` with R the scaled rotation of Procrustes; λ as for ridge.

    g makes translated rows spread as much around their mean as the rows they will stand among. A prediction spreads
    less than what it predicts, and rows drawn to the mean are found too seldom or too often by any query.
    """
    total, tests = sum_of(parts), left_out(parts, blend=True)
    strength = best_strength(tests)
    wide = sum(part.spread() for part, _ in tests)
    narrow = sum(part.spread_under(solver.centre[0], solver.matrix(strength)) for part, solver in tests)
    gain = min(max(np.sqrt(wide / narrow), 1.0), MOST_GAIN) if narrow > 0 else 1.0
    return affine(total, Solver(total, blend=True).matrix(strength) * gain)


def fit_lowrank(parts: list[Moments]) -> Affine:
    """Ridge through few directions, `M·VVᵀ`: V spans what the ridge map predicts most of; rank by left-out parts."""
    total, tests = sum_of(parts), left_out(parts)
    strength = best_strength(tests)
    errors: dict[int, float] = {}
    for part, solver in tests:
        matrix, axes = solver.matrix(strength), solver.leading(strength)
        for rank in {min(rank, axes.shape[1]) for rank in RANKS}:
            some = axes[:, :rank]
            errors[rank] = errors.get(rank, 0.0) + part.error(*solver.centre, matrix @ some @ some.T)
    solver = Solver(total)
    axes = solver.leading(strength)[:, : min(errors, key=lambda rank: (errors[rank], rank))]
    mean_x, mean_y = (mean.astype(np.float32) for mean in solver.centre)
    return Affine(mean_x, mean_y, (solver.matrix(strength) @ axes).astype(np.float32), axes.T.astype(np.float32))


def left_out(parts: list[Moments], *, blend: bool = False) -> list[tuple[Moments, Solver]]:
    """Each part, with the solutions of all others."""
    total = sum_of(parts)
    return [(part, Solver(total - part, blend=blend)) for part in parts if part.weight > 0]


def best_strength(tests: list[tuple[Moments, Solver]]) -> float:
    """The ridge strength with the least squared error on parts that took no part in the fit."""
    errors = {
        strength: sum(part.error(*solver.centre, solver.matrix(strength)) for part, solver in tests)
        for strength in STRENGTHS
    }
    return min(errors, key=lambda strength: (errors[strength], strength))


def affine(moments: Moments, matrix: np.ndarray) -> Affine:
    """The map with this matrix that takes the mean of x to the mean of y."""
    mean_x, mean_y = moments.centre()
    return Affine(mean_x.astype(np.float32), mean_y.astype(np.float32), matrix.astype(np.float32))


def scaled_rotation(xx: np.ndarray, xy: np.ndarray) -> np.ndarray:
    """`s·UVᵀ` of `XᵀY = UΣVᵀ` over the values that are not zero: rows or columns are orthonormal but for the scale."""
    u, values, vt = singular(xy)
    known = values > 1e-9 * max(values[0], 1e-300)
    return u[:, known] @ vt[known] * (values.sum() / max(float(np.trace(xx)), 1e-12))


class Solver:
    """Ridge or blended solutions of one set of moments for any strength, from one eigendecomposition."""

    def __init__(self, moments: Moments, *, blend: bool = False) -> None:
        xx, xy = moments.centred()
        values, self._axes = np.linalg.eigh(xx)
        self._values = np.maximum(values, 0.0)
        self._mean = max(float(self._values.mean()), 1e-12)
        self._seen = self._axes.T @ xy
        self._prior = self._axes.T @ scaled_rotation(xx, xy) if blend else None
        self.centre = moments.centre()

    def matrix(self, strength: float) -> np.ndarray:
        """M for λ = strength × the mean variance of x."""
        return self._axes @ self._turned(strength)

    def leading(self, strength: float) -> np.ndarray:
        """The axes of B's space along which M predicts most, the first first."""
        turned = self._turned(strength)
        _, axes = np.linalg.eigh(turned.T @ (self._values[:, None] * turned))
        return axes[:, ::-1][:, : min(turned.shape)]

    def _turned(self, strength: float) -> np.ndarray:
        pull = strength * self._mean
        seen = self._seen if self._prior is None else self._seen + pull * self._prior
        return seen / (self._values + pull)[:, None]
