"""Canonical maps of weighted anchors, several at once, joined into one projection.

No ridge and power fit every pool: with a hundred links a strong ridge is best, with thousands a weak one. Seen along
several maps side by side, a pair is scored by all of them together, in one pass.

Anchors are arrays of numpy or of torch, and the maps are fitted where they lie; what comes back is numpy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veclink.geometry.arrays import Array, asarray, doubles, floats, is_numpy, namespace, to_numpy
from veclink.geometry.sides import Sides
from veclink.geometry.signatures import singular

MAX_DIRECTIONS = 256
"""Principal directions of a side's anchors in which maps are fitted: five times as fast in 768 dimensions.

Chosen on scifact, minilm–mpnet: nothing was lost against all 768.
"""

MIN_AXIS_WEIGHT = 0.02
"""Of the heaviest axis: lighter ones are left out."""

MAX_AXES = 256
"""Axes of a map, the heaviest: of 384 directions about as many are not too light, and a pass takes as long as its axes,
rounded up to what a GPU's kernel was compiled for."""

SMALLEST_VARIANCE = 1e-10
"""Of the largest: what lies below is rounding, in which no anchor extends."""

SMALLEST_MEAN_VARIANCE = 1e-12
"""Of anchors that are all zero: nothing is divided by less."""


@dataclass(frozen=True)
class MapRule:
    """A ridge, as a share of the mean variance, and the power of its correlation that each axis is weighted by."""

    ridge: float
    power: float


JOINED_RULES = (
    MapRule(ridge=0.3, power=2.0),
    MapRule(ridge=1.0, power=2.0),
    MapRule(ridge=0.3, power=1.0),
)
"""The maps that are joined. Best F1 by any threshold on the score, 15 % and 5 % overlap, against the first alone:
scifact, e5–granite 69.1 → 70.0; reddit, minilm–e5 81.0 → 82.2."""

JOINED_RULES_OF_FEW = (
    MapRule(ridge=3.0, power=0.7),
    MapRule(ridge=1.0, power=0.7),
    MapRule(ridge=10.0, power=0.7),
)
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


@dataclass(frozen=True, eq=False)
class PooledAnchors:
    """Anchors that several maps are fitted to, each to a part of them, in the principal directions of all of them.

    The directions are found once: for each part by itself that took most of the time that its maps take. Directions in
    which the anchors of a part do not extend have no weight in its maps.

    Attributes
    ----------
    left, right : (m, p1) and (m, p2) float32
        The two ends of the anchors, along the directions.
    basis_a, basis_b : (d1, p1) and (d2, p2) float32
        The directions.
    squares_a, squares_b : (m,) float64
        Squared lengths of the anchors, of which the directions may not hold all.
    weights : (m,) float64
        How much each anchor counts.
    rules : tuple of MapRule
        Of all maps.
    """

    left: Array
    right: Array
    basis_a: Array
    basis_b: Array
    squares_a: np.ndarray
    squares_b: np.ndarray
    weights: np.ndarray
    rules: tuple[MapRule, ...]

    @classmethod
    def of(
        cls,
        left: Array,
        right: Array,
        weights: np.ndarray,
        rules: tuple[MapRule, ...],
        directions: int = MAX_DIRECTIONS,
    ) -> PooledAnchors:
        """Of these anchors (m, d1) and (m, d2), in so many directions of each side at most."""
        root = floats(namespace(left).sqrt(asarray(weights / weights.sum(), left)))[:, None]
        _, basis_a = _principal(floats(left) * root, directions)
        _, basis_b = _principal(floats(right) * root, directions)
        return cls(
            floats(left) @ basis_a,
            floats(right) @ basis_b,
            basis_a,
            basis_b,
            _squares(left),
            _squares(right),
            weights,
            rules,
        )

    def __len__(self) -> int:
        return len(self.weights)

    def fitted(self, places: np.ndarray) -> list[Sides]:
        """The maps of the anchors at these places (f,), as `scaled_projections` makes them."""
        share = self.weights[places] / self.weights[places].sum()
        variances = (
            max(float(share @ self.squares_a[places]) / self.basis_a.shape[0], SMALLEST_MEAN_VARIANCE),
            max(float(share @ self.squares_b[places]) / self.basis_b.shape[0], SMALLEST_MEAN_VARIANCE),
        )
        every = max(self.left.shape[1], self.right.shape[1])
        maps = _scaled(self.left[places], self.right[places], share, self.rules, every, variances)
        return [(to_numpy(self.basis_a @ of_a), to_numpy(self.basis_b @ of_b)) for of_a, of_b in maps]


def scaled_projections(
    left: Array,
    right: Array,
    weights: np.ndarray | None = None,
    rules: tuple[MapRule, ...] | None = None,
    directions: int = MAX_DIRECTIONS,
) -> list[Sides]:
    """The canonical maps of these rules, each scaled so that it counts alike beside the others.

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

    Returns
    -------
    A pair (d1, r) and (d2, r) float32 for each rule.
    """
    if weights is None:
        weights = np.ones(len(left))
    if rules is None:
        rules = rules_of(weights)
    scaled = _scaled(left, right, weights / weights.sum(), rules, directions)
    return [(to_numpy(of_a), to_numpy(of_b)) for of_a, of_b in scaled]


def _scaled(
    left: Array,
    right: Array,
    share: np.ndarray,
    rules: tuple[MapRule, ...],
    directions: int,
    variances: tuple[float, float] | None = None,
) -> list[tuple[Array, Array]]:
    """As `scaled_projections`, where the anchors lie: (d1, r) and (d2, r) float32 for each rule.

    variances: see `canonical_maps`.
    """
    placed = asarray(share, left)
    scaled = []
    for map_a, map_b in canonical_maps(left, right, placed, rules, directions, variances):
        of_a = map_a / _mean_length(left @ map_a, placed)
        of_b = map_b / _mean_length(right @ map_b, placed)
        scaled.append((floats(of_a), floats(of_b)))
    return scaled


def side_by_side(maps: list[Sides]) -> Sides:
    """Maps joined into one: a pair of rows is scored by all of them together."""
    of_a, of_b = zip(*maps, strict=True)
    return np.hstack(of_a), np.hstack(of_b)


def joined_projections(
    left: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray | None = None,
    rules: tuple[MapRule, ...] | None = None,
) -> Sides:
    """The maps of `scaled_projections` side by side: (d1, r) and (d2, r) float32."""
    return side_by_side(scaled_projections(left, right, weights, rules))


def canonical_maps(
    left: Array,
    right: Array,
    share: Array,
    rules: tuple[MapRule, ...],
    directions: int = MAX_DIRECTIONS,
    variances: tuple[float, float] | None = None,
) -> list[tuple[Array, Array]]:
    """A canonical map for each rule: (d1, r) and (d2, r) float32, axes weighted by their correlation.

    share: (m,) of each anchor in the covariances; they sum to 1. See `signatures.canonical_projections`.
    variances: the mean ones of either side, which ridges are shares of, where the anchors do not hold all directions.
    """
    # Of unit vectors, float32 is exact enough: the ridge is far above its rounding. It takes half the time.
    xp = namespace(left)
    root = floats(xp.sqrt(share))[:, None]
    scaled_left = floats(left) * root
    scaled_right = floats(right) * root
    values_a, directions_a = _principal(scaled_left, directions)
    values_b, directions_b = _principal(scaled_right, directions)
    cross = (scaled_left @ directions_a).T @ (scaled_right @ directions_b)
    if variances is None:
        variances = _mean_variance(scaled_left), _mean_variance(scaled_right)
    solved: dict[float, tuple[Array, Array, Array]] = {}
    maps = []
    for rule in rules:
        if rule.ridge not in solved:
            white_a = 1 / xp.sqrt(values_a + rule.ridge * variances[0])
            white_b = 1 / xp.sqrt(values_b + rule.ridge * variances[1])
            u, correlation, vt = _singular(white_a[:, None] * cross * white_b)
            solved[rule.ridge] = (
                (directions_a * white_a) @ u,
                correlation.clip(0.0, 1.0),
                (directions_b * white_b) @ vt.T,
            )
        axes_a, correlation, axes_b = solved[rule.ridge]
        weight = correlation**rule.power
        heavy = weight > MIN_AXIS_WEIGHT * weight[0]
        heavy[MAX_AXES:] = False
        maps.append(((axes_a * weight)[:, heavy], (axes_b * weight)[:, heavy]))
    return maps


def _singular(matrix: Array) -> tuple[Array, Array, Array]:
    """`signatures.singular` of numpy or of torch: on the CPU, where it takes less time than on a GPU."""
    if is_numpy(matrix):
        return singular(matrix)
    u, values, vt = singular(to_numpy(matrix))
    return asarray(u, matrix), asarray(values, matrix), asarray(vt, matrix)


def _principal(scaled: Array, most: int) -> tuple[Array, Array]:
    """The largest variances (p,) and their directions (d, p), p at most `most` and the number of anchors."""
    xp = namespace(scaled)
    if scaled.shape[0] < scaled.shape[1]:
        return _principal_of_few(scaled, most)
    values, directions = xp.linalg.eigh(scaled.T @ scaled)
    values, directions = xp.flip(values, (0,)), xp.flip(directions, (1,))
    return values[:most].clip(0.0), directions[:, :most]


def _principal_of_few(scaled: Array, most: int) -> tuple[Array, Array]:
    """As `_principal`, from the products of the anchors (m, d), which are fewer than the dimensions."""
    xp = namespace(scaled)
    exact = doubles(scaled)
    values, places = xp.linalg.eigh(exact @ exact.T)
    values, places = xp.flip(values, (0,))[:most], xp.flip(places, (1,))[:, :most]
    spanned = values > SMALLEST_VARIANCE * values[0]
    values, places = values[spanned], places[:, spanned]
    return floats(values), floats(exact.T @ places / xp.sqrt(values))


def _mean_variance(scaled: Array) -> float:
    """Of all directions, those that are left out too."""
    return max(float((scaled * scaled).sum() / scaled.shape[1]), SMALLEST_MEAN_VARIANCE)


def _squares(points: Array) -> np.ndarray:
    """Squared lengths of the rows (m, d): (m,) float64."""
    return to_numpy(doubles(namespace(points).einsum("ij,ij->i", points, points)))


def _mean_length(signature: Array, share: Array) -> float:
    squares = namespace(signature).einsum("ij,ij->i", signature, signature)
    return max(math.sqrt(doubles(squares) @ share), 1e-12)
