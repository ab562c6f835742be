"""What known pairs tell before linking: do the two models agree on what is near, and which of the pairs look wrong?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.anchors import Anchors
from veclink.cloud import Cloud
from veclink.signatures import span_axes, unit_rows

SAMPLE = 1000  # rows of a collection that a held-out pair is ranked among
MOST = 400  # seeds that are looked at
BINS, PER_BIN = 6, 15
LEAST = 4  # seeds that can be held against one another
CLEANED = 6  # from so many seeds on, the worse half is left out of what the others are seen from
ROUNDS = 3
# A seed looks wrong where more of the collection is nearer than its partner: wrong ones lie anywhere from 0 to 1. Where
# even the typical seed is far off, the models agree on too little to tell.
SUSPECT, SUSPECT_FACTOR = 0.2, 8.0


@dataclass(frozen=True)
class SeedCheck:
    """What the seeds say.

    correlation: of the distances between seeds in the two spaces. curve: (mean distance in A, correlation, pairs) for
    pairs of seeds from the nearest to the farthest. neighbours: (k, Jaccard overlap of a seed's k nearest seeds in the
    two spaces, what chance gives). All three leave out the seeds that look wrong. typical: median over the seeds of
    the share of the collection that is nearer than the partner, as seen from the other seeds: 0 is perfect, 0.5 is
    chance. suspects: (row in A, row in B, that share) of the seeds that look wrong, the worst first.
    """

    count: int
    looked_at: int
    correlation: float | None
    curve: tuple[tuple[float, float, int], ...]
    neighbours: tuple[tuple[int, float, float], ...]
    typical: float
    suspects: tuple[tuple[int, int, float], ...]


def check_seeds(a: Cloud, b: Cloud, seeds: Anchors, rng: np.random.Generator) -> SeedCheck:
    """Hold the seeds against one another. With fewer than four nothing can be said: typical is then 0.5."""
    assert seeds.pairs is not None, "seeds are pairs of rows"
    chosen = np.sort(rng.permutation(len(seeds))[:MOST])
    left, right, pairs = seeds.left[chosen], seeds.right[chosen], seeds.pairs[chosen]
    if len(chosen) < LEAST:
        return SeedCheck(len(seeds), len(chosen), None, (), (), 0.5, ())
    far = held_out_shares(a, b, left, right, rng)
    wrong = np.flatnonzero(far > max(SUSPECT, SUSPECT_FACTOR * float(np.median(far))))
    wrong = wrong[np.argsort(-far[wrong], kind="stable")]
    if len(chosen) - len(wrong) >= LEAST:  # pairs that look wrong would only blur what the models agree on
        left, right = np.delete(left, wrong, axis=0), np.delete(right, wrong, axis=0)
    upper = np.triu_indices(len(left), 1)
    near_a, near_b = 1 - (left @ left.T)[upper], 1 - (right @ right.T)[upper]
    return SeedCheck(
        count=len(seeds),
        looked_at=len(chosen),
        correlation=_correlation(near_a, near_b),
        curve=_curve(near_a, near_b),
        neighbours=_neighbours(left, right),
        typical=float(np.median(far)),
        suspects=tuple((int(a.rows[pairs[at, 0]]), int(b.rows[pairs[at, 1]]), float(far[at])) for at in wrong),
    )


def held_out_shares(
    a: Cloud, b: Cloud, left: np.ndarray, right: np.ndarray, rng: np.random.Generator, ridge: float = 0.3
) -> np.ndarray:
    """For each pair the share of either collection that is nearer than its partner, seen from the others, (m,).

    The geometric mean of both directions. From six pairs on, pairs are seen from the better half only.
    """
    of_a, of_b = (cloud.take(np.sort(rng.permutation(len(cloud))[:SAMPLE])) for cloud in (a, b))
    kept, far = np.arange(len(left)), np.empty(len(left))
    for _ in range(ROUNDS if len(left) >= CLEANED else 1):
        for at in range(len(left)):
            others = kept[kept != at]
            axes_a, axes_b = span_axes(left[others], ridge), span_axes(right[others], ridge)
            own_a, own_b = unit_rows(left[at, None] @ axes_a), unit_rows(right[at, None] @ axes_b)
            partner = float(own_a[0] @ own_b[0])
            in_b = (np.sum(unit_rows(of_b @ axes_b) @ own_a[0] > partner) + 1) / (len(of_b) + 1)
            in_a = (np.sum(unit_rows(of_a @ axes_a) @ own_b[0] > partner) + 1) / (len(of_a) + 1)
            far[at] = np.sqrt(in_a * in_b)
        kept = np.sort(np.argsort(far, kind="stable")[: max(LEAST, -(-len(left) // 2))])
    return far


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
        np.fill_diagonal(near, -2.0)
        orders.append(np.argsort(-near, axis=1, kind="stable"))
    told = []
    for k in (1, 2, 3, 5, 10, 20, 50):
        if k > (n - 1) // 2:
            break
        shared = np.array([len(np.intersect1d(x[:k], y[:k])) for x, y in zip(*orders, strict=True)])
        by_chance = k * k / (n - 1)
        told.append((k, float((shared / (2 * k - shared)).mean()), by_chance / (2 * k - by_chance)))
    return tuple(told)
