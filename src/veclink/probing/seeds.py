"""What known pairs tell before linking: do the two models agree on what is near, and which of the pairs look wrong?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import EXCLUDED
from veclink.geometry.signatures import RIDGE
from veclink.linkers.anchors import Anchors
from veclink.linkers.outlier_seeds import held_out_shares

SAMPLE = 1000  # rows of a collection that a held-out pair is ranked among
MOST = 400  # seeds that are looked at
BINS, PER_BIN = 6, 15
LEAST = 4  # seeds that can be held against one another
NO_TELLING = 0.5  # what fewer seeds than that are given: as far off as chance


@dataclass(frozen=True)
class SeedCheck:
    """What the seeds say.

    correlation: of the distances between seeds in the two spaces. curve: (mean distance in A, correlation, pairs) for
    pairs of seeds from the nearest to the farthest. neighbours: (k, Jaccard overlap of a seed's k nearest seeds in the
    two spaces, what chance gives). All three leave out the seeds that look wrong. typical: geometric mean over the
    seeds of the share of the collection that is nearer than the partner, projected on the other seeds: near 0 is good,
    wrong pairs have about 0.4. suspects: rows in A and in B of the seeds that look wrong, by the rule that linking
    uses; None where no trial could tell.
    """

    count: int
    looked_at: int
    correlation: float | None
    curve: tuple[tuple[float, float, int], ...]
    neighbours: tuple[tuple[int, float, float], ...]
    typical: float
    suspects: tuple[tuple[int, int], ...] | None


def check_seeds(
    a: Cloud, b: Cloud, seeds: Anchors, wrong: tuple[tuple[int, int], ...] | None, rng: np.random.Generator
) -> SeedCheck:
    """Hold the seeds against one another. With fewer than four nothing can be said: typical is then `NO_TELLING`.

    wrong: rows of the seeds that look wrong by `outlier_seeds.find_outlier_seeds`; None where no trial could tell.
    """
    assert seeds.pairs is not None, "seeds are pairs of rows"
    chosen = np.sort(rng.permutation(len(seeds))[:MOST])
    left, right, pairs = seeds.left[chosen], seeds.right[chosen], seeds.pairs[chosen]
    if len(chosen) < LEAST:
        return SeedCheck(len(seeds), len(chosen), None, (), (), NO_TELLING, wrong)
    typical = _held_out(a, b, left, right, rng)
    if wrong:  # pairs that look wrong would only blur what the models agree on
        rows = zip(a.rows[pairs[:, 0]].tolist(), b.rows[pairs[:, 1]].tolist(), strict=True)
        named = set(wrong)
        right_ones = np.array([pair not in named for pair in rows])
        if np.count_nonzero(right_ones) >= LEAST:
            left, right = left[right_ones], right[right_ones]
    upper = np.triu_indices(len(left), 1)
    near_a, near_b = 1 - (left @ left.T)[upper], 1 - (right @ right.T)[upper]
    return SeedCheck(
        count=len(seeds),
        looked_at=len(chosen),
        correlation=_correlation(near_a, near_b),
        curve=_curve(near_a, near_b),
        neighbours=_neighbours(left, right),
        typical=typical,
        suspects=wrong,
    )


def _held_out(a: Cloud, b: Cloud, left: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> float:
    """How far the seeds are off, each projected on all the others.

    None is left out, however far off: those that then remain near are so by choice, and of eight right seeds four
    others place the next one hardly better than chance.
    """
    clouds = tuple(cloud.take(np.sort(rng.permutation(len(cloud))[:SAMPLE])) for cloud in (a, b))
    far = held_out_shares((left, right), np.arange(len(left)), (clouds[0], clouds[1]), RIDGE)
    return float(np.exp(np.log(far).mean()))


def _correlation(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(x) < 3 or x.std() < 1e-9 or y.std() < 1e-9:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _curve(x: np.ndarray, y: np.ndarray) -> tuple[tuple[float, float, int], ...]:
    """Correlation by distance: near ones are kept by both models, far ones are not."""
    parts = np.array_split(np.argsort(x, kind="stable"), max(1, min(BINS, len(x) // PER_BIN)))
    found = ((part, _correlation(x[part], y[part])) for part in parts)
    return tuple((float(x[part].mean()), value, len(part)) for part, value in found if value is not None)


def _neighbours(left: np.ndarray, right: np.ndarray) -> tuple[tuple[int, float, float], ...]:
    n = len(left)
    orders = []
    for points in (left, right):
        near = points @ points.T
        np.fill_diagonal(near, EXCLUDED)
        orders.append(np.argsort(-near, axis=1, kind="stable"))
    told = []
    for k in (1, 2, 3, 5, 10, 20, 50):
        if k > (n - 1) // 2:
            break
        shared = np.array([len(np.intersect1d(x[:k], y[:k])) for x, y in zip(*orders, strict=True)])
        by_chance = k * k / (n - 1)
        told.append((k, float((shared / (2 * k - shared)).mean()), by_chance / (2 * k - by_chance)))
    return tuple(told)
