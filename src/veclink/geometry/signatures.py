"""Signatures: what a vector looks like from the anchors, comparable across two embedding spaces.

All are pure functions of arrays. Points and anchors have rows of unit length, so that cosine distance is one minus the
inner product. A signature has one coordinate per anchor and rows of unit length, ready for `matching.match`.

Canonical maps are fitted to weighted anchors, of numpy or of torch, where they lie. No ridge and power fit every pool:
with a hundred links a strong ridge is best, with thousands a weak one. Seen along several maps side by side, a pair is
scored by all of them together, in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from veclink.geometry.arrays import (
    Array,
    Sides,
    Some,
    asarray,
    both,
    doubles,
    floats,
    full,
    is_numpy,
    namespace,
    tiles,
    to_numpy,
)  # fmt: skip

RIDGE = 0.3  # λ of the span signature, as in its first trials: F1 hardly moves between 0.03 and 3


def distances(points: Some, anchors: Some) -> Some:
    """Cosine distances `r(u)_j = 1 − ⟨u, a_j⟩` of points (n, d) to anchors (s, d), as float32 (n, s), at least 0.

    Summed in float64, a distance depends on its two vectors alone, and not on where in a product they stand: the order
    of the rows cannot change which links are found.
    """
    r = full((len(points), len(anchors)), 0.0, "float32", points)
    others = doubles(anchors).T
    for start, stop in tiles(len(points), 1024 if is_numpy(points) else max(1, len(points))):  # in float64
        r[start:stop] = (1.0 - doubles(points[start:stop]) @ others).clip(0.0)
    return r


def kernel_width(r: Array) -> float:
    """σ of the kernel hash: the median of the non-zero ℓ2 distances between all pairs of rows of `r`.

    `r` holds the distance vectors of a sample of points. Returns 1 where all rows are the same: any width will do then.
    """
    r = doubles(r)
    xp = namespace(r)
    squares = xp.einsum("ij,ij->i", r, r)
    gaps = squares[:, None] + squares[None, :] - 2.0 * (r @ r.T)
    # The subtraction above leaves rounding where the true gap is zero; it must not count as a distance.
    apart = gaps[xp.triu(gaps > 1e-10 * (1.0 + squares.max()), 1)]
    if not len(apart):
        return 1.0
    return math.sqrt(np.median(apart) if is_numpy(apart) else apart.quantile(0.5))


def kernel_hash(r: Some, width: float) -> Some:
    """The paper's signature `h(u)_j = exp(−r(u)_j / σ)` of the distances `r` (n, s), with rows of unit length."""
    h = r * np.float32(-1.0 / width)
    return unit_rows(namespace(h).exp(h, out=h))


def span_projection(anchors: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """The projection (d, m) of the span signature, float32: `z(u) = u @ span_projection(A)`, not yet of unit length.

    The formula is `z(u) = (A Aᵀ + λI)^{-1/2} A u`: coordinates of the projection of u on the anchors' span. The inverse
    square root is the symmetric one, so that both spaces use the same basis: one axis per anchor.
    """
    basis = anchors.astype(np.float64)
    values, axes = np.linalg.eigh(basis @ basis.T)
    whitening = (axes / np.sqrt(np.maximum(values, 0.0) + ridge)) @ axes.T
    return (whitening @ basis).T.astype(np.float32)


def span_projections(anchors: Sides, ridge: float) -> Sides:
    """The projections of both sides' anchors."""
    return both(partial(span_projection, ridge=ridge), anchors)


def projected(points: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Points (n, d) along a projection (d, m), of unit length."""
    return unit_rows(points @ projection)


MAX_DIRECTIONS = 256
"""Principal directions of a side's anchors in which maps are fitted: five times as fast in 768 dimensions.

Chosen on scifact, minilm–mpnet: nothing was lost against all 768.
"""

MIN_AXIS_WEIGHT = 0.02
"""Of the heaviest axis: lighter ones are left out."""

MAX_AXES = 256
"""Axes of a map, the heaviest: of 384 directions about as many are not too light, and a pass takes as long as its axes,
rounded up to what a GPU's kernel was compiled for."""


class MapRule(NamedTuple):
    """A ridge, as a share of the mean variance, and the power of its correlation that each axis is weighted by."""

    ridge: float
    power: float


JOINED_RULES = (MapRule(ridge=0.3, power=2.0), MapRule(ridge=1.0, power=2.0), MapRule(ridge=0.3, power=1.0))
"""The maps that are joined. Best F1 by any threshold on the score, 15 % and 5 % overlap, against the first alone:
scifact, e5–granite 69.1 → 70.0; reddit, minilm–e5 81.0 → 82.2."""

JOINED_RULES_OF_FEW = (MapRule(ridge=3.0, power=0.7), MapRule(ridge=1.0, power=0.7), MapRule(ridge=10.0, power=0.7))
"""Those of few anchors, from which few axes can be told: stronger ridges, and axes weighted more alike.

Chosen on scifact, reddit and movies (three pairs of models; bench/results/experiments/rules_of_few.json). Mean F1 with
JOINED_RULES and with these: 100 and 150 rows, all among thousands, 80.7 → 88.7 and 87.7 → 92.8; few rows 90.5 → 92.6;
half of 600 79.8 → 82.1; a tenth of 2,000 55.6 → 57.3; 5 % shared 67.4 → 69.5.
"""

FEW_ANCHORS = 1000
"""Below so many, an anchor of weight w counting w², the maps are those of few.

With 500, a tenth of 2,000 is at 54.6 and 5 % shared at 69.0; nothing else differs by more than 0.1.
"""


def rules_of(weights: np.ndarray) -> tuple[MapRule, ...]:
    """The maps that anchors of these weights (m,), at most 1 each, are fitted by."""
    sure = float(weights @ weights)
    return JOINED_RULES_OF_FEW if sure < FEW_ANCHORS else JOINED_RULES


class PooledAnchors:
    """Anchors that several maps are fitted to, each to a part of them, in the principal directions of all of them.

    The directions are found once: for each part by itself that took most of the time that its maps take. Directions in
    which the anchors of a part do not extend have no weight in its maps.

    Parameters
    ----------
    left, right : (m, d1) and (m, d2)
        The two ends of the anchors.
    weights : (m,) float64
        How much each anchor counts.
    rules : tuple of MapRule
        Of all maps.
    directions : int
        Of each side, at most.
    """

    def __init__(
        self,
        left: Array,
        right: Array,
        weights: np.ndarray,
        rules: tuple[MapRule, ...],
        directions: int = MAX_DIRECTIONS,
    ) -> None:
        self.weights, self.rules = weights, rules
        root = floats(namespace(left).sqrt(asarray(weights / weights.sum(), left)))[:, None]
        self.basis = [_principal(floats(side) * root, directions)[1] for side in (left, right)]
        self.ends = [floats(side) @ basis for side, basis in zip((left, right), self.basis, strict=True)]
        # squared lengths of the anchors, of which the directions may not hold all
        self.squares = [to_numpy(doubles(namespace(side).einsum("ij,ij->i", side, side))) for side in (left, right)]

    def fitted(self, places: np.ndarray) -> list[Sides]:
        """The maps of the anchors at these places (f,): (d1, r) and (d2, r) float32 for each rule."""
        weights = self.weights[places]
        share = weights / weights.sum()
        variances = [
            max(float(share @ squares[places]) / basis.shape[0], 1e-12)  # of anchors that are all zero
            for squares, basis in zip(self.squares, self.basis, strict=True)
        ]
        left, right = (side[places] for side in self.ends)
        maps = canonical_maps(left, right, weights, self.rules, max(left.shape[1], right.shape[1]), variances)
        return [(to_numpy(self.basis[0] @ of_a), to_numpy(self.basis[1] @ of_b)) for of_a, of_b in maps]


def side_by_side(maps: list[Sides]) -> Sides:
    """Maps joined into one: a pair of rows is scored by all of them together."""
    of_a, of_b = zip(*maps, strict=True)
    return np.hstack(of_a), np.hstack(of_b)


def joined_projections(
    left: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None, rules: tuple[MapRule, ...] | None = None
) -> Sides:
    """The canonical maps side by side: (d1, r) and (d2, r) float32."""
    return side_by_side(canonical_maps(left, right, weights, rules))


def canonical_maps(
    left: Array,
    right: Array,
    weights: np.ndarray | None = None,
    rules: tuple[MapRule, ...] | None = None,
    directions: int = MAX_DIRECTIONS,
    variances: Sequence[float] | None = None,
) -> list[tuple[Array, Array]]:
    """A canonical map for each rule, (d1, r) and (d2, r) float32, where the anchors lie; anchors are of length 1 in it.

    With C the covariance of a side's anchors, whitened by `(C + ridge·mean variance·I)^{-1/2}`, the cross-covariance
    has the singular vectors U, V and the correlations ρ; each axis is weighted by ρ^power. The span signature is the
    same form with all axes weighted alike, since `Aᵀ(A Aᵀ + λI)^{-1/2} = (AᵀA + λI)^{-1/2}Aᵀ`; weighting mutes the axes
    on which the two models disagree.

    Parameters
    ----------
    left, right : (m, d1) and (m, d2) float32
        The two ends of the anchors, of numpy or torch.
    weights : (m,) float64, optional
        How much each anchor counts; all alike where not given.
    rules : tuple of MapRule, optional
        By default those that fit so many anchors.
    directions : int
        Principal directions of each side in which they are fitted, at most.
    variances : (float, float), optional
        The mean ones of either side, where the anchors do not hold all directions.
    """
    weights = np.ones(len(left)) if weights is None else weights
    # Of unit vectors, float32 is exact enough: the ridge is far above its rounding. It takes half the time.
    xp, share = namespace(left), asarray(weights / weights.sum(), left)
    root = floats(xp.sqrt(share))[:, None]
    scaled = floats(left) * root, floats(right) * root
    (values_a, directions_a), (values_b, directions_b) = (_principal(side, directions) for side in scaled)
    cross = (scaled[0] @ directions_a).T @ (scaled[1] @ directions_b)
    if variances is None:  # of all directions, those that are left out too
        variances = [max(float((side * side).sum() / side.shape[1]), 1e-12) for side in scaled]

    maps, solved = [], {}  # rules may share a ridge
    for rule in rules or rules_of(weights):
        if rule.ridge not in solved:
            white_a = 1 / xp.sqrt(values_a + rule.ridge * variances[0])
            white_b = 1 / xp.sqrt(values_b + rule.ridge * variances[1])
            u, correlation, vt = singular(white_a[:, None] * cross * white_b)
            solved[rule.ridge] = (directions_a * white_a) @ u, (directions_b * white_b) @ vt.T, correlation
        axes_a, axes_b, correlation = solved[rule.ridge]
        weight = correlation.clip(0.0, 1.0) ** rule.power
        heavy = weight > MIN_AXIS_WEIGHT * weight[0]
        heavy[MAX_AXES:] = False
        of_a, of_b = (axes_a * weight)[:, heavy], (axes_b * weight)[:, heavy]
        seen = left @ of_a, right @ of_b
        lengths = [math.sqrt(doubles(xp.einsum("ij,ij->i", each, each)) @ share) for each in seen]
        maps.append((floats(of_a / max(lengths[0], 1e-12)), floats(of_b / max(lengths[1], 1e-12))))
    return maps


def _principal(scaled: Array, most: int) -> tuple[Array, Array]:
    """The largest variances (p,) and their directions (d, p), p at most `most` and the number of anchors.

    Of fewer anchors (m, d) than dimensions, from their products.
    """
    xp, few = namespace(scaled), scaled.shape[0] < scaled.shape[1]
    exact = doubles(scaled) if few else scaled
    values, vectors = xp.linalg.eigh(exact @ exact.T if few else exact.T @ exact)
    values, vectors = xp.flip(values, (0,))[:most], xp.flip(vectors, (1,))[:, :most]
    if not few:
        return values.clip(0.0), vectors
    spanned = values > 1e-10 * values[0]  # what lies below is rounding, in which no anchor extends
    values, vectors = values[spanned], vectors[:, spanned]
    return floats(values), floats(exact.T @ vectors / xp.sqrt(values))


def singular(matrix: Array) -> tuple[Array, Array, Array]:
    """U, the singular values and Vᵀ of a matrix, or of several (…, n, m), where it lies; computed on the CPU.

    LAPACK's quick way does not converge for some sound matrices, which differ by machine; eigenvalues always do.
    """
    here = to_numpy(matrix)
    try:
        u, values, vt = np.linalg.svd(here, full_matrices=False)
    except np.linalg.LinAlgError:
        u, values, vt = by_eigenvalues(here)
    return asarray(u, matrix), asarray(values, matrix), asarray(vt, matrix)


def by_eigenvalues(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `singular`, from the eigenvectors of MᵀM; less exact for values near zero, whose axes nothing here uses."""
    flipped = matrix.swapaxes(-1, -2)
    if matrix.shape[-2] < matrix.shape[-1]:
        u, values, vt = by_eigenvalues(flipped)
        return vt.swapaxes(-1, -2), values, u.swapaxes(-1, -2)
    exact = matrix.astype(np.float64)
    squares, axes = np.linalg.eigh(flipped @ exact)
    values, axes = np.sqrt(np.maximum(squares[..., ::-1], 0.0)), axes[..., ::-1]
    left = (exact @ axes) / np.maximum(values, 1e-12)[..., None, :]
    u, values, vt = (part.astype(matrix.dtype) for part in (left, values, axes.swapaxes(-1, -2)))
    return u, values, vt


def unit_rows(x: Some) -> Some:
    """The rows of `x` scaled to unit length, in place; rows of zeros stay as they are."""
    if is_numpy(x):
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    else:
        norms = namespace(x).linalg.vector_norm(x, dim=1, keepdim=True)
    x /= norms.clip(1e-12)
    return x
