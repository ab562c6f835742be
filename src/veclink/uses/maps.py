"""Maps from one embedding space to another, fitted to pairs of unit vectors of the same objects.

Each kind turns rows of A's space into rows of B's: `map.apply(x)`, float32, not of unit length. Dimensions may differ.
Affine maps `y = (x − x̄)M + ȳ` need moments alone, in memory of d² numbers: Procrustes, ridge, ridge of low rank, and
the blend of two. Procrustes keeps all that x tells apart, but knows nothing of how the two spaces differ; ridge learns
that, and flattens what it has seen too little of. The blend is ridge that shrinks towards the Procrustes rotation
instead of zero. LA2M is a Procrustes map for every neighbourhood of linked points, and one for all where there are too
few: a neighbourhood of d points leaves a direction open, and the map for all closes it. Spaces of different dimensions
are first brought to the smaller one by the principal axes of the larger; a new point uses the map of the neighbourhood
whose centre is nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.errors import InputError, named
from veclink.files.memory import forget_pages
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import singular

KINDS = ("blend", "la2m", "procrustes", "ridge", "lowrank")
DEFAULT_MAP = "blend"
"""Chosen on SciFact by NDCG@100 of merged collections (`veclink bench merge-sure`); "la2m" is the paper's."""
LEAST_LINKS = 10
"""Links that a map is fitted to at least."""
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridge strengths that are tried, as multiples of the mean variance of x."""
MOST_GAIN = 1.5
"""By how much a blend is widened at most, where it predicts too little spread. Origin not recorded."""
RANKS = (16, 32, 64, 128, 256, 512)
"""Ranks that are tried for a map of low rank."""
MOST_NEIGHBOURHOODS = 64  # each with a map of its own; origin not recorded
MOST_LINKS = 20_000  # linked points that neighbourhoods are drawn from: bounds the memory
HINT = 0.01  # weight of the map for all in a neighbourhood's own
CHUNK = 4096  # rows or pairs at a time


def fit_map(kind: str, pairs: Paired, moments: list[Moments], *, random_state: int = 0) -> Map:
    """A map of one of the KINDS from paired rows.

    moments: those of the pairs in a few parts, so that strengths and ranks are chosen on pairs that did not take part;
    all that the affine kinds look at. `pairs` gives the rows themselves, for the local kind.
    """
    if kind not in KINDS:
        raise InputError(f"The map {kind!r} is unknown; it is one of {named(KINDS)}.")
    if kind == "la2m":
        return fit_local(pairs, sum_of(moments), np.random.default_rng(random_state))
    if kind == "procrustes":
        return fit_procrustes(sum_of(moments))
    return {"ridge": fit_ridge, "lowrank": fit_lowrank, "blend": fit_blend}[kind](moments)


def map_from_arrays(arrays: Mapping[str, Any]) -> Map:
    """The map that gave these arrays."""
    return Local(**arrays) if "centres" in arrays else Affine(**arrays)


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

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows of A, rows of B and weights, some thousand at a time."""
        order = np.argsort(self.pairs[:, 0], kind="stable")  # a memory map is read from front to back
        for start in range(0, len(order), CHUNK):
            here = order[start : start + CHUNK]
            yield self.a.take(self.pairs[here, 0]), self.b.take(self.pairs[here, 1]), self.weight[here]
            for side in (self.a, self.b):
                forget_pages(side.collection.vectors)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums over pairs (x, y): w, x, y, xᵀx, xᵀy and |y|², in float64. Sums of parts add up."""

    weight: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: float

    @classmethod
    def of(cls, pairs: Paired) -> Moments:
        """The moments of all pairs, in one pass."""
        d1, d2 = pairs.a.shape[1], pairs.b.shape[1]
        total = cls(0.0, np.zeros(d1), np.zeros(d2), np.zeros((d1, d1)), np.zeros((d1, d2)), 0.0)
        for x, y, weight in pairs.chunks():
            x, y, weight = x.astype(np.float64), y.astype(np.float64), weight.astype(np.float64)
            wx = x * weight[:, None]
            total = total + cls(
                float(weight.sum()), wx.sum(axis=0), weight @ y, wx.T @ x, wx.T @ y, float(weight @ (y * y).sum(axis=1))
            )
        return total

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(mine + theirs for mine, theirs in zip(self._parts(), other._parts(), strict=True)))

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*(mine - theirs for mine, theirs in zip(self._parts(), other._parts(), strict=True)))

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
        return (
            float(np.sum(matrix * (self.xx @ matrix))) - 2 * float(turned @ shift) + self.weight * float(shift @ shift)
        )

    def _parts(self) -> tuple[Any, ...]:
        return self.weight, self.x, self.y, self.xx, self.xy, self.yy


def sum_of(parts: list[Moments]) -> Moments:
    """The moments of all parts together."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


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

    def arrays(self) -> dict[str, np.ndarray]:
        """What the map is made of."""
        return {name: getattr(self, name) for name in ("centres", "targets", "matrices", "into", "out")}


Map = Affine | Local


def fit_local(
    pairs: Paired,
    moments: Moments,
    rng: np.random.Generator,
    *,
    neighbourhoods: int | None = None,
    neighbours: int | None = None,
) -> Local:
    """LA2M from pairs and their moments (those give the map for all).

    neighbours: d′, the linked points of a neighbourhood; as many as dimensions, unless given. Where there are no more
    links than that, the map for all is the only one. neighbourhoods: the paper has one at every linked point; as their
    members are mostly the same, unless given there are only so many that each link is in four of them, at most 64.
    """
    d1, d2 = pairs.a.shape[1], pairs.b.shape[1]
    common = min(d1, d2)
    into, out = _axes(pairs, common)
    if into.size or out.size:
        moments = _turned(moments, into, out)
    neighbours = neighbours or common
    if len(pairs) <= neighbours:
        mean_x, mean_y = moments.centre()
        return Local(_floats([mean_x]), _floats([mean_y]), _floats([scaled_rotation(*moments.centred())]), into, out)
    chosen = np.sort(rng.permutation(len(pairs))[:MOST_LINKS])
    x, y = pairs.only(chosen).vectors()
    x, y = (x @ into if into.size else x), (y @ out.T if out.size else y)
    weight = pairs.weight[chosen].astype(np.float32)
    neighbourhoods = neighbourhoods or min(MOST_NEIGHBOURHOODS, 4 * len(x) // neighbours)
    middles = rng.permutation(len(x))[:neighbourhoods]
    whole = scaled_rotation(*moments.centred()).astype(np.float32)
    whole /= max(float(np.linalg.norm(whole)) / np.sqrt(common), 1e-12)
    centres, targets, matrices = [], [], []
    for middle in middles:
        gap = ((x - x[middle]) ** 2).sum(axis=1)
        near = np.argpartition(gap, neighbours - 1)[:neighbours]
        w = weight[near] / weight[near].sum()
        centre, target = w @ x[near], w @ y[near]
        from_x, from_y = x[near] - centre, y[near] - target
        weighted = from_x * w[:, None]
        xx, xy = weighted.T @ from_x, weighted.T @ from_y
        # what so few points leave open, the map for all decides
        u, values, vt = singular(xy + HINT * np.linalg.norm(xy) / np.sqrt(common) * whole)
        centres.append(centre)
        targets.append(target)
        matrices.append((u @ vt) * (values.sum() / max(float(np.trace(xx)), 1e-12)))
    return Local(_floats(centres), _floats(targets), _floats(matrices), into, out)


def _floats(parts: list[np.ndarray]) -> np.ndarray:
    return np.stack(parts).astype(np.float32)


def _axes(pairs: Paired, common: int) -> tuple[np.ndarray, np.ndarray]:
    """The principal axes that bring the larger side to the common dimension: into (d1, d) and out (d, d2), or empty.

    Axes of the second moment, not of the covariance: the mean of the rows is a direction like any other, and kept.
    """
    empty = np.empty((0, 0), np.float32)
    if pairs.a.shape[1] > common:
        return _principal(pairs, 0, common), empty
    if pairs.b.shape[1] > common:
        return empty, _principal(pairs, 1, common).T.copy()
    return empty, empty


def _principal(pairs: Paired, side: int, common: int) -> np.ndarray:
    cloud = (pairs.a, pairs.b)[side]
    second = np.zeros((cloud.shape[1], cloud.shape[1]))
    step = max(1, len(cloud) // (8 * MOST_LINKS)) * CHUNK  # at most some 160,000 rows of a large cloud
    for start in range(0, len(cloud), step):
        rows = cloud.block(start, min(start + CHUNK, len(cloud))).astype(np.float64)
        second += rows.T @ rows
    return np.linalg.eigh(second)[1][:, ::-1][:, :common].astype(np.float32)


def _turned(moments: Moments, into: np.ndarray, out: np.ndarray) -> Moments:
    """The moments of x·into and y·outᵀ."""
    left = into.astype(np.float64) if into.size else np.eye(len(moments.x))
    right = out.T.astype(np.float64) if out.size else np.eye(len(moments.y))
    return Moments(
        moments.weight,
        moments.x @ left,
        moments.y @ right,
        left.T @ moments.xx @ left,
        left.T @ moments.xy @ right,
        moments.yy,
    )
