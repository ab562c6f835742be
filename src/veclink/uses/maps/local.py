"""LA2M: a Procrustes map for every neighbourhood of linked points, and one for all where there are too few.

A neighbourhood of d points leaves a direction open, and the map for all closes it.

Spaces of different dimensions are first brought to the smaller one by the principal axes of the larger. A new point
uses the map of the neighbourhood whose centre is nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.signatures import singular
from veclink.uses.maps.affine import scaled_rotation
from veclink.uses.maps.moments import Moments, Paired

MOST_NEIGHBOURHOODS = 64  # each with a map of its own; origin not recorded
MOST_LINKS = 20_000  # linked points that neighbourhoods are drawn from: bounds the memory
HINT = 0.01  # weight of the map for all in a neighbourhood's own
CHUNK = 4096  # rows that are mapped at a time


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
        return _global(moments, into, out)
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


def _global(moments: Moments, into: np.ndarray, out: np.ndarray) -> Local:
    mean_x, mean_y = moments.centre()
    return Local(_floats([mean_x]), _floats([mean_y]), _floats([scaled_rotation(*moments.centred())]), into, out)


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
