"""Affine maps `y = (x − x̄)M + ȳ`, all from moments alone: Procrustes, ridge, ridge of low rank, and the blend of two.

Procrustes keeps all that x tells apart, but knows nothing of how the two spaces differ; ridge learns that, and flattens
what it has seen too little of. The blend is ridge that shrinks towards the Procrustes rotation instead of zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.maps.moments import Moments, sum_of

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridge strengths that are tried, as multiples of the mean variance of x."""
RANKS = (16, 32, 64, 128, 256, 512)


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
    xx, xy = moments.centred()
    return affine(moments, rotation(xy) * rotation_scale(xx, xy))


def fit_ridge(parts: list[Moments]) -> Affine:
    """`M = (XᵀX + λI)⁻¹XᵀY`, λ being what predicts best the parts that took no part."""
    total = sum_of(parts)
    return affine(total, Solver(total).matrix(best_strength(parts)))


def fit_blend(parts: list[Moments]) -> Affine:
    """`M = (XᵀX + λI)⁻¹(XᵀY + λR)` with R the scaled rotation of Procrustes; λ as for ridge."""
    total = sum_of(parts)
    return affine(total, Solver(total, blend=True).matrix(best_strength(parts, blend=True)))


def fit_lowrank(parts: list[Moments]) -> Affine:
    """Ridge through few directions, `M·VVᵀ`: V spans what the ridge map predicts most of; rank by left-out parts."""
    strength = best_strength(parts)
    total = sum_of(parts)
    errors: dict[int, float] = {}
    for part in _left_out(parts):
        rest = total - part
        matrix, axes = _leading(rest, strength)
        for rank in {min(rank, axes.shape[1]) for rank in RANKS}:
            some = axes[:, :rank]
            errors[rank] = errors.get(rank, 0.0) + part.error(*rest.centre(), matrix @ some @ some.T)
    matrix, axes = _leading(total, strength)
    axes = axes[:, : min(errors, key=lambda rank: (errors[rank], rank))]
    mean_x, mean_y = (mean.astype(np.float32) for mean in total.centre())
    return Affine(mean_x, mean_y, (matrix @ axes).astype(np.float32), axes.T.astype(np.float32))


def best_strength(parts: list[Moments], *, blend: bool = False) -> float:
    """The ridge strength with the least squared error on parts that took no part in the fit."""
    total = sum_of(parts)
    errors = dict.fromkeys(STRENGTHS, 0.0)
    for part in _left_out(parts):
        rest = total - part
        solver = Solver(rest, blend=blend)
        for strength in STRENGTHS:
            errors[strength] += part.error(*rest.centre(), solver.matrix(strength))
    return min(errors, key=lambda strength: (errors[strength], strength))


def affine(moments: Moments, matrix: np.ndarray) -> Affine:
    """The map with this matrix that takes the mean of x to the mean of y."""
    mean_x, mean_y = moments.centre()
    return Affine(mean_x.astype(np.float32), mean_y.astype(np.float32), matrix.astype(np.float32))


def rotation(xy: np.ndarray) -> np.ndarray:
    """The matrix with orthonormal rows or columns that takes x nearest to y: UVᵀ, over the values that are not zero."""
    u, values, vt = np.linalg.svd(xy, full_matrices=False)
    known = values > 1e-9 * max(values[0], 1e-300)
    return u[:, known] @ vt[known]


def rotation_scale(xx: np.ndarray, xy: np.ndarray) -> float:
    """The scale that goes with the rotation: the sum of singular values over the variance of x."""
    return float(np.linalg.svd(xy, compute_uv=False).sum() / max(np.trace(xx), 1e-12))


class Solver:
    """Ridge or blended solutions of one set of moments for any strength, from one eigendecomposition."""

    def __init__(self, moments: Moments, *, blend: bool = False) -> None:
        xx, xy = moments.centred()
        values, self._axes = np.linalg.eigh(xx)
        self._values = np.maximum(values, 0.0)
        self._mean = max(float(self._values.mean()), 1e-12)
        self._seen = self._axes.T @ xy
        self._prior = self._axes.T @ (rotation(xy) * rotation_scale(xx, xy)) if blend else None

    def matrix(self, strength: float) -> np.ndarray:
        """M for λ = strength × the mean variance of x."""
        pull = strength * self._mean
        seen = self._seen if self._prior is None else self._seen + pull * self._prior
        return self._axes @ (seen / (self._values + pull)[:, None])


def _leading(moments: Moments, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """The ridge matrix, and the axes of B's space along which it predicts most, the first first."""
    matrix = Solver(moments).matrix(strength)
    xx, _ = moments.centred()
    _, axes = np.linalg.eigh(matrix.T @ xx @ matrix)
    return matrix, axes[:, ::-1][:, : min(matrix.shape)]


def _left_out(parts: list[Moments]) -> list[Moments]:
    return [part for part in parts if part.weight > 0] if len(parts) > 1 else []
