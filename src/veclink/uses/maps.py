"""Maps from one embedding space to another, fitted to pairs of unit vectors of the same objects.

Each kind turns rows of A's space into rows of B's: `map.apply(x)`, float32, not of unit length. Dimensions may differ.
Affine maps `y = (x − x̄)M + ȳ` need moments alone, in memory of d² numbers: Procrustes, ridge, and the blend of two.
Procrustes keeps all that x tells apart, but knows nothing of how the two spaces differ; ridge learns that, and flattens
what it has seen too little of. The blend is ridge that shrinks towards the Procrustes rotation instead of zero. LA2M is
a Procrustes map for every neighbourhood of linked points, and one for all where there are too few: a neighbourhood of d
points leaves a direction open, and the map for all closes it. Spaces of different dimensions are first brought to the
smaller one by the principal axes of the larger; a new point uses the map of the neighbourhood whose centre is nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import sub
from typing import Any, NamedTuple

import numpy as np

from veclink.files.memory import forget_pages
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import singular
from veclink.threads import multiply

KINDS = ("blend", "la2m", "procrustes", "ridge")
DEFAULT_MAP = "blend"
"""Chosen on SciFact by NDCG@100 of merged collections (`veclink bench merge-sure`); "la2m" is the paper's."""
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridge strengths that are tried, as multiples of the mean variance of x."""
CHUNK = 4096  # rows or pairs at a time


def fit_map(kind: str, pairs: Paired, parts: list[Moments], *, random_state: int = 0) -> Map:
    """A map of one of the KINDS from paired rows.

    Procrustes:  `M = s·UVᵀ` from `XᵀY = UΣVᵀ`, `s = tr Σ / |X|²`; dimensions that differ are bridged. With fewer pairs
    than dimensions the rotation is known only on what the pairs span; elsewhere M is zero.
    Ridge:       `M = (XᵀX + λI)⁻¹XᵀY`, λ being what predicts best the parts that took no part.
    Blend:       `M = g·(XᵀX + λI)⁻¹(XᵀY + λR)` with R the scaled rotation of Procrustes; λ as for ridge. g makes
    translated rows spread as much around their mean as the rows they will stand among. A prediction spreads less than
    what it predicts, and rows drawn to the mean are found too seldom or too often by any query.

    parts: the moments of the pairs in a few parts, so that strengths are chosen on pairs that did not take part; all
    that the affine kinds look at. `pairs` gives the rows themselves, for the local kind.
    """
    total, blend = sum_of(parts), kind == "blend"
    if kind == "la2m":
        return _fit_local(pairs, total, np.random.default_rng(random_state))
    mean_x, mean_y = (mean.astype(np.float32) for mean in total.centre())
    if kind == "procrustes":
        return Affine(mean_x, mean_y, scaled_rotation(*total.centred()).astype(np.float32))
    tests = [(part, Solver(total - part, blend=blend)) for part in parts if part.weight > 0]  # with all others' maps

    def error(strength: float) -> tuple[float, float]:
        return sum(part.error(*solver.centre, solver.matrix(strength)) for part, solver in tests), strength

    strength = min(STRENGTHS, key=error)
    solver = Solver(total, blend=blend)
    matrix = solver.matrix(strength)
    if blend:
        wide = sum(part.spread() for part, _ in tests)
        narrow = sum(part.spread_under(solver.centre[0], solver.matrix(strength)) for part, solver in tests)
        matrix = matrix * (min(max(np.sqrt(wide / narrow), 1.0), 1.5) if narrow > 0 else 1.0)
    return Affine(mean_x, mean_y, matrix.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Paired:
    """Pairs of rows of two clouds, each with a weight; vectors are read when asked for, in the order of A's rows."""

    a: Cloud
    b: Cloud
    pairs: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def only(self, chosen: np.ndarray) -> Paired:
        """Some of the pairs."""
        return Paired(self.a, self.b, self.pairs[chosen], self.weight[chosen])

    def turned(self) -> Paired:
        """The same pairs from B to A."""
        return Paired(self.b, self.a, self.pairs[:, ::-1], self.weight)

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Both sides of all pairs, float32."""
        return self.a.take(self.pairs[:, 0]), self.b.take(self.pairs[:, 1])


class Moments(NamedTuple):
    """Weighted sums over pairs (x, y), in float64: those of parts add up (`sum_of`), and can be taken off."""

    weight: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray  # xᵀx
    xy: np.ndarray  # xᵀy
    yy: float  # |y|²

    @classmethod
    def of(cls, pairs: Paired) -> Moments:
        """The moments of all pairs, in one pass."""
        d1, d2 = pairs.a.shape[1], pairs.b.shape[1]
        total = cls(0.0, np.zeros(d1), np.zeros(d2), np.zeros((d1, d1)), np.zeros((d1, d2)), 0.0)
        order = np.argsort(pairs.pairs[:, 0], kind="stable")  # a memory map is read from front to back
        for start in range(0, len(order), CHUNK):
            some = pairs.only(order[start : start + CHUNK])
            x, y, weight = (each.astype(np.float64) for each in (*some.vectors(), some.weight))
            for cloud in (pairs.a, pairs.b):
                forget_pages(cloud.collection.vectors)
            wx, length = x * weight[:, None], (y * y).sum(axis=1)
            here = cls(float(weight.sum()), wx.sum(axis=0), weight @ y, wx.T @ x, wx.T @ y, float(weight @ length))
            total = sum_of([total, here])
        return total

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*map(sub, self, other))

    def centre(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of x and of y."""
        return self.x / self.weight, self.y / self.weight

    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """Σ w (x−x̄)ᵀ(x−x̄) and Σ w (x−x̄)ᵀ(y−ȳ)."""
        mean_x, mean_y = self.centre()
        return self.xx - np.outer(self.x, mean_x), self.xy - np.outer(self.x, mean_y)

    def error(self, mean_x: np.ndarray, mean_y: np.ndarray, matrix: np.ndarray) -> float:
        """Σ w |y − ȳ − (x − x̄)M|² over these pairs, for a map that others may have fitted; no vector is needed."""
        shift = mean_y - mean_x @ matrix  # y ≈ x M + shift
        fitted = float(np.sum(matrix * (self.xx @ matrix))) + 2 * float(self.x @ matrix @ shift)
        fitted += self.weight * float(shift @ shift)
        return self.yy - 2 * float(np.sum(matrix * self.xy)) - 2 * float(self.y @ shift) + fitted

    def spread(self) -> float:
        """Σ w |y − ȳ|²."""
        return self.yy - float(self.y @ self.y) / self.weight

    def spread_under(self, mean_x: np.ndarray, matrix: np.ndarray) -> float:
        """Σ w |(x − x̄)M|² for a map that others may have fitted."""
        turned, shift = self.x @ matrix, mean_x @ matrix
        own = float(np.sum(matrix * (self.xx @ matrix)))
        return own - 2 * float(turned @ shift) + self.weight * float(shift @ shift)


def sum_of(parts: list[Moments]) -> Moments:
    """The moments of all parts together."""
    sums: Any = map(sum, zip(*parts, strict=True))
    return Moments(*sums)


@dataclass(frozen=True, eq=False)
class Affine:
    """`(x − centre)·matrix + target`."""

    centre: np.ndarray
    target: np.ndarray
    matrix: np.ndarray

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Rows of A's space as rows of B's."""
        return multiply(x - self.centre, self.matrix) + self.target


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
        pull = strength * self._mean
        seen = self._seen if self._prior is None else self._seen + pull * self._prior
        return self._axes @ (seen / (self._values + pull)[:, None])


@dataclass(frozen=True, eq=False)
class Local:
    """`(x·in − centre_j)·matrix_j + target_j`, times `outᵀ`, of the neighbourhood j whose centre is nearest to x·in.

    centres (m, d), targets (m, d), matrices (m, d, d). into (d1, d) and out (d, d2) are empty where no axes are needed.
    """

    centres: np.ndarray
    targets: np.ndarray
    matrices: np.ndarray
    into: np.ndarray
    out: np.ndarray

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Rows of A's space as rows of B's."""
        x = x @ self.into if self.into.size else x
        moved = np.empty((len(x), self.targets.shape[1]), np.float32)
        for start in range(0, len(x), CHUNK):
            here = x[start : start + CHUNK]
            nearest = np.argmin((self.centres**2).sum(axis=1) - 2 * here @ self.centres.T, axis=1)
            for j in np.unique(nearest):
                rows = np.flatnonzero(nearest == j)
                moved[start + rows] = (here[rows] - self.centres[j]) @ self.matrices[j] + self.targets[j]
        return moved @ self.out if self.out.size else moved


Map = Affine | Local


def _fit_local(pairs: Paired, moments: Moments, rng: np.random.Generator) -> Local:
    """LA2M from pairs and their moments (those give the map for all).

    A neighbourhood has as many linked points as dimensions; where there are no more links than that, the map for all is
    the only one. The paper has one at every linked point; as their members are mostly the same, there are only so many
    here that each link is in four of them, at most 64.
    """
    common = min(pairs.a.shape[1], pairs.b.shape[1])
    into = out = np.empty((0, 0), np.float32)
    if pairs.a.shape[1] > common:
        into = _principal(pairs.a, common)
        axes = into.astype(np.float64)
        moments = moments._replace(x=moments.x @ axes, xx=axes.T @ moments.xx @ axes, xy=axes.T @ moments.xy)
    if pairs.b.shape[1] > common:
        out = _principal(pairs.b, common).T.copy()
        axes = out.T.astype(np.float64)
        moments = moments._replace(y=moments.y @ axes, xy=moments.xy @ axes)
    whole = scaled_rotation(*moments.centred()).astype(np.float32)
    if len(pairs) <= common:
        mean_x, mean_y = moments.centre()
        return Local(_floats([mean_x]), _floats([mean_y]), _floats([whole]), into, out)
    chosen = np.sort(rng.permutation(len(pairs))[:20_000])  # bounds the memory
    x, y = pairs.only(chosen).vectors()
    x, y = (x @ into if into.size else x), (y @ out.T if out.size else y)
    weight = pairs.weight[chosen].astype(np.float32)
    whole /= max(float(np.linalg.norm(whole)) / np.sqrt(common), 1e-12)
    centres, targets, matrices = [], [], []
    for middle in rng.permutation(len(x))[: min(64, 4 * len(x) // common)]:
        gap = ((x - x[middle]) ** 2).sum(axis=1)
        near = np.argpartition(gap, common - 1)[:common]
        w = weight[near] / weight[near].sum()
        centres.append(w @ x[near])
        targets.append(w @ y[near])
        from_x, from_y = x[near] - centres[-1], y[near] - targets[-1]
        weighted = from_x * w[:, None]
        xx, xy = weighted.T @ from_x, weighted.T @ from_y
        # what so few points leave open, the map for all decides
        u, values, vt = singular(xy + 0.01 * np.linalg.norm(xy) / np.sqrt(common) * whole)
        matrices.append((u @ vt) * (values.sum() / max(float(np.trace(xx)), 1e-12)))
    return Local(_floats(centres), _floats(targets), _floats(matrices), into, out)


def _floats(parts: list[np.ndarray]) -> np.ndarray:
    return np.stack(parts).astype(np.float32)


def _principal(cloud: Cloud, common: int) -> np.ndarray:
    """The principal axes (d, common) of a cloud.

    Axes of the second moment, not of the covariance: the mean of the rows is a direction like any other, and kept.
    """
    second = np.zeros((cloud.shape[1], cloud.shape[1]))
    step = max(1, len(cloud) // 160_000) * CHUNK  # at most some so many rows of a large cloud
    for start in range(0, len(cloud), step):
        rows = cloud.block(start, min(start + CHUNK, len(cloud))).astype(np.float64)
        second += rows.T @ rows
    return np.linalg.eigh(second)[1][:, ::-1][:, :common].astype(np.float32)
