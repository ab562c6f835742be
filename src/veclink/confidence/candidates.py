"""Candidates: the pairs worth judging, each scored by maps that were fitted without it.

A link that is itself an anchor confirms itself. So the pool is cut into folds; a row that stands in the pool is scored
by the map that its own fold had no part in, any other row by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.geometry.clouds import LARGE
from veclink.geometry.signatures import canonical_projections
from veclink.matching import Matches

FOLDS = 5
DEPTH = 3
FULL_FOLDS = LARGE  # up to this many rows every fold is matched in full; above, one map is, and folds only re-score


@dataclass(frozen=True, eq=False)
class Candidates:
    """Scored pairs, sorted by row of A, then of B.

    rows_a, rows_b, score, cosine: (c,), score being the cross-fitted csls. density_a, density_b: per row of a cloud.
    best_a, best_b: (n, DEPTH) positions of each row's best candidates, best first, −1 where there are fewer.
    """

    rows_a: np.ndarray
    rows_b: np.ndarray
    score: np.ndarray
    cosine: np.ndarray
    density_a: np.ndarray
    density_b: np.ndarray
    best_a: np.ndarray
    best_b: np.ndarray

    def mutual(self) -> np.ndarray:
        """Positions of the candidates that are the best of both their rows."""
        every = np.arange(len(self.rows_a))
        return np.flatnonzero((self.best_a[self.rows_a, 0] == every) & (self.best_b[self.rows_b, 0] == every))

    def scores(self, positions: np.ndarray) -> np.ndarray:
        """Scores at these positions; −1, below any that matters, where a position is −1."""
        return np.where(positions >= 0, self.score[positions], np.float32(-1.0))


def crossfit(
    clouds: CloudPair,
    pool: np.ndarray,
    rng: np.random.Generator,
    *,
    folds: int = FOLDS,
    one_pass: Callable[[Projections, int], Matches] | None = None,
) -> Candidates:
    """Candidates among the rows of two clouds, from the links of a pool (m, 2).

    one_pass: how to match all rows of large clouds along axes to a depth, instead of `clouds.matches`.
    """
    n_a, n_b = clouds.n_a, clouds.n_b
    fold = rng.permutation(len(pool)) % folds
    fold_a, fold_b = np.full(n_a, -1), np.full(n_b, -1)
    fold_a[pool[:, 0]], fold_b[pool[:, 1]] = fold, fold
    every_a, every_b = np.arange(n_a), np.arange(n_b)
    axes = [canonical_projections(*clouds.vectors(kept)) for kept in (pool[fold != q] for q in range(folds))]
    found, densities = [], []
    if max(n_a, n_b) > FULL_FOLDS:
        matches = (one_pass or clouds.matches)(canonical_projections(*clouds.vectors(pool)), DEPTH)
        found.append(_listed(matches, every_a, every_b, n_b))
        densities = [(matches.forward.density, matches.backward.density)] * folds
    else:
        for q in range(folds):
            matches = clouds.matches(axes[q], DEPTH)
            outside_a, outside_b = (np.flatnonzero((side == q) | (side < 0)) for side in (fold_a, fold_b))
            found.append(_listed(matches, outside_a, outside_b, n_b))
            densities.append((matches.forward.density, matches.backward.density))
    keys = clouds.unique(np.concatenate(found))
    rows_a, rows_b = keys // n_b, keys % n_b
    counts = _fold_weights(fold_a[rows_a], fold_b[rows_b], folds)
    score = np.zeros(len(keys), np.float32)
    # Projected a second time, fold by fold: the signatures of all folds at once would be several times the clouds.
    for q, (of_a, of_b) in enumerate(densities):
        cosine = clouds.cosines(axes[q], rows_a, rows_b)
        score += counts[:, q] * (2 * cosine - of_a[rows_a] - of_b[rows_b])
    score /= counts.sum(axis=1)
    density_a, density_b = (np.mean([d[side] for d in densities], axis=0) for side in (0, 1))
    return Candidates(
        rows_a,
        rows_b,
        score.astype(np.float32),
        ((score + density_a[rows_a] + density_b[rows_b]) / 2).astype(np.float32),
        density_a,
        density_b,
        _best(clouds, rows_a, score, n_a),
        _best(clouds, rows_b, score, n_b),
    )


def _listed(matches: Matches, rows_a: np.ndarray, rows_b: np.ndarray, n_b: int) -> np.ndarray:
    """Keys of the pairs that the given rows of either side rank among their best."""
    forward, backward = matches.forward.index[rows_a], matches.backward.index[rows_b]
    pairs_a = np.repeat(rows_a, forward.shape[1]) * n_b + forward.ravel()
    pairs_b = backward.ravel() * n_b + np.repeat(rows_b, backward.shape[1])
    return np.concatenate([pairs_a[forward.ravel() >= 0], pairs_b[backward.ravel() >= 0]])


def _fold_weights(of_a: np.ndarray, of_b: np.ndarray, folds: int) -> np.ndarray:
    """(c, folds) of 0 and 1: the folds that neither row had a part in, else those that one of them had none in."""
    every = np.arange(folds)
    free_a = (of_a[:, None] == every) | (of_a[:, None] < 0)
    free_b = (of_b[:, None] == every) | (of_b[:, None] < 0)
    both = free_a & free_b
    return np.where(both.any(axis=1, keepdims=True), both, free_a | free_b).astype(np.float32)


def _best(clouds: CloudPair, rows: np.ndarray, score: np.ndarray, n: int) -> np.ndarray:
    order = clouds.ordered(rows, score)
    end = np.cumsum(np.bincount(rows, minlength=n))
    first = np.r_[0, end[:-1]]
    best = np.full((n, DEPTH), -1)
    for depth in range(DEPTH):
        there = first + depth < end
        best[there, depth] = order[(first + depth)[there]]
    return best
