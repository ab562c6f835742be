"""Candidates: the pairs worth a probability, each scored by maps that were fitted without it.

A link that is itself an anchor confirms itself. So the pool is split into folds; a row that is in the pool is scored by
the map that its own fold had no part in, any other row by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from veclink.backends import CloudPair, Projections
from veclink.confidence.constants import BEST_LISTED, DIRECTIONS_OF_LARGE, FOLDS, FULL_FOLDS, NO_RIVAL_SCORE
from veclink.geometry.arrays import Sides, asarray, concat
from veclink.geometry.canonical import MAX_DIRECTIONS, MapRule, PooledAnchors, rules_of, side_by_side
from veclink.matching import Matches

Densities = tuple[np.ndarray, np.ndarray]
"""Mean similarity of each row of A, and of B, to its nearest rows of the other cloud: (n_a,) and (n_b,)."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Scored pairs, sorted by row of A, then of B.

    Attributes
    ----------
    rows_a, rows_b : (c,) int64
        The two rows of each pair.
    score : (c,) float32
        Cross-fitted CSLS.
    cosine : (c,) float32
        Cross-fitted cosine: the score without the densities taken off.
    density_a, density_b : (n_a,) and (n_b,) float32
        Mean over the maps of each row's similarity to its nearest rows of the other cloud.
    best_a, best_b : (n_a, BEST_LISTED) and (n_b, BEST_LISTED) int64
        Positions of each row's best candidates, best first, −1 where there are fewer.
    single_scores : (m, c) float32
        The same score under each of the joined maps alone; (0, 0) where one map was fitted only.
    """

    rows_a: np.ndarray
    rows_b: np.ndarray
    score: np.ndarray
    cosine: np.ndarray
    density_a: np.ndarray
    density_b: np.ndarray
    best_a: np.ndarray
    best_b: np.ndarray
    single_scores: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))

    @cached_property
    def under_single_maps(self) -> tuple[Candidates, ...]:
        """The same pairs as each of the joined maps alone scores and lists them; densities are those of all maps."""
        return tuple(self._scored_anew(score) for score in self.single_scores)

    def _scored_anew(self, score: np.ndarray) -> Candidates:
        densities = self.density_a[self.rows_a] + self.density_b[self.rows_b]
        order_a = np.lexsort((-score, self.rows_a))
        order_b = np.lexsort((-score, self.rows_b))
        return replace(
            self,
            score=score,
            cosine=(score + densities) / 2,
            best_a=_best(order_a, self.rows_a, len(self.best_a)),
            best_b=_best(order_b, self.rows_b, len(self.best_b)),
            single_scores=np.empty((0, 0), np.float32),
        )

    def mutual(self) -> np.ndarray:
        """Positions of the candidates that are the best of both their rows: mutual nearest neighbours."""
        return self._mutual

    @cached_property
    def _mutual(self) -> np.ndarray:
        every = np.arange(len(self.rows_a))
        best_of_a = self.best_a[self.rows_a, 0] == every
        best_of_b = self.best_b[self.rows_b, 0] == every
        return np.flatnonzero(best_of_a & best_of_b)

    def are_mutual(self, pairs: np.ndarray) -> np.ndarray:
        """Which of the pairs of rows (m, 2) are mutual candidates: (m,) bool."""
        first = self.best_a[pairs[:, 0], 0]
        if not len(self.rows_b):
            return np.zeros(len(pairs), bool)
        is_best_of_a = (first >= 0) & (self.rows_b[first] == pairs[:, 1])
        return is_best_of_a & (self.best_b[pairs[:, 1], 0] == first)

    def scores(self, positions: np.ndarray) -> np.ndarray:
        """Scores at these positions; NO_RIVAL_SCORE where a position is −1."""
        return np.where(positions >= 0, self.score[positions], np.float32(NO_RIVAL_SCORE))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Candidates, and all that scored them: rows that come later can be scored alike.

    Attributes
    ----------
    candidates : Candidates
    maps : list of Projections
        One for each fold, fitted without it.
    split : Folds
        Which fold the rows of the pool are in.
    densities : list of Densities
        Of each map.
    whole : Projections or None
        The map of the whole pool that large clouds are matched along; None where every fold is matched.
    """

    candidates: Candidates
    maps: list[Projections]
    split: Folds
    densities: list[Densities]
    whole: Projections | None


def crossfit(
    clouds: CloudPair,
    pool: np.ndarray,
    rng: np.random.Generator,
    *,
    weights: np.ndarray | None = None,
    folds: int = FOLDS,
    outside: Sides | None = None,
    one_pass: Callable[[Projections, int], Matches] | None = None,
) -> CrossFit:
    """Candidates among the rows of two clouds, and the maps that they were scored by.

    Parameters
    ----------
    clouds : CloudPair
    pool : (m, 2) int64
        Links that the maps are fitted to.
    rng : Generator
        Draws the folds.
    weights : (m,) float64, optional
        How much each link counts in the maps; all alike where not given.
    folds : int
        Number of maps. One means no cross-fitting: the one map is fitted to all links.
    outside : (f, d1) and (f, d2) float32, optional
        Anchors of neither cloud that every map is fitted to as well.
    one_pass : callable, optional
        Matches all rows of large clouds along projections to a depth, instead of `clouds.matches`.
    """
    split = Folds.drawn(pool, clouds, rng, folds)
    if weights is None:
        weights = np.ones(len(pool))
    anchors = _pooled(clouds, pool, weights, outside)
    every_outside = np.arange(len(pool), len(anchors))
    single = [anchors.fitted(np.r_[links, every_outside]) for links in _fitted_to(split)]
    maps = [side_by_side(of_fold) for of_fold in single]
    whole = None
    if _is_large(clouds):
        whole = side_by_side(anchors.fitted(np.arange(len(anchors))))
        matches = (one_pass or clouds.matches)(whole, BEST_LISTED)
        keys, densities = _pairs_of_one_map(matches, clouds, folds)
    else:
        keys, densities = _pairs_of_each_map(maps, split, clouds)
    rows_a, rows_b = np.divmod(keys, clouds.n_b)
    score = cross_fitted_score(clouds, maps, densities, split, rows_a, rows_b)
    candidates = scored_candidates(clouds, rows_a, rows_b, score, densities)
    if len(single[0]) > 1:
        of_each_map = [
            cross_fitted_score(clouds, list(of_folds), densities, split, rows_a, rows_b)
            for of_folds in zip(*single, strict=True)
        ]  # fmt: skip
        candidates = replace(candidates, single_scores=np.stack(of_each_map))
    return CrossFit(candidates, maps, split, densities, whole)


def cross_fitted_score(
    clouds: CloudPair,
    maps: list[Projections],
    densities: list[Densities],
    split: Folds,
    rows_a: np.ndarray,
    rows_b: np.ndarray,
) -> np.ndarray:
    """CSLS of each pair, the mean over the maps that it had no part in: (c,) float32.

    Any maps will do, one for each fold: the same pairs can be scored by maps of another kind.
    """
    weights = split.weights(rows_a, rows_b)
    score = np.zeros(len(rows_a), np.float32)
    looked_up: Densities | None = None
    # Projected a second time, fold by fold: the signatures of all folds at once would be several times the clouds.
    for fold, of_fold in enumerate(densities):
        cosine = clouds.cosines(maps[fold], rows_a, rows_b)
        if of_fold is not looked_up:  # large clouds have the same ones for all folds
            looked_up = of_fold
            density_a = of_fold[0][rows_a]
            density_b = of_fold[1][rows_b]
        csls = 2 * cosine - density_a - density_b
        score += weights[:, fold] * csls
    score /= weights.sum(axis=1)
    return score


def scored_candidates(
    clouds: CloudPair, rows_a: np.ndarray, rows_b: np.ndarray, score: np.ndarray, densities: list[Densities]
) -> Candidates:
    """Pairs with their scores as candidates: each row's best are listed."""
    density_a = np.mean([of_a for of_a, _ in densities], axis=0)
    density_b = np.mean([of_b for _, of_b in densities], axis=0)
    cosine = (score + density_a[rows_a] + density_b[rows_b]) / 2
    return Candidates(
        rows_a,
        rows_b,
        score.astype(np.float32),
        cosine.astype(np.float32),
        density_a,
        density_b,
        _best(clouds.ordered(rows_a, score), rows_a, clouds.n_a),
        _best(clouds.ordered(rows_b, score), rows_b, clouds.n_b),
    )


def _pooled(clouds: CloudPair, pool: np.ndarray, weights: np.ndarray, outside: Sides | None) -> PooledAnchors:
    """The vectors of a pool's links, and after them those of outside anchors: what all maps are fitted to."""
    left = clouds.a.take(pool[:, 0])
    right = clouds.b.take(pool[:, 1])
    if outside is not None:
        left = concat([left, asarray(outside[0], left)])
        right = concat([right, asarray(outside[1], right)])
        weights = np.r_[weights, np.ones(len(outside[0]))]
    directions = DIRECTIONS_OF_LARGE if _is_large(clouds) else MAX_DIRECTIONS
    return PooledAnchors(left, right, weights, _rules(clouds, weights), directions)


def _rules(clouds: CloudPair, weights: np.ndarray) -> tuple[MapRule, ...]:
    """The rules of all maps of anchors with these weights (m,).

    Joined maps make a pass as many times as long; of large clouds the first alone is fitted.
    """
    rules = rules_of(weights)
    return rules[:1] if _is_large(clouds) else rules


def _is_large(clouds: CloudPair) -> bool:
    return max(clouds.n_a, clouds.n_b) > FULL_FOLDS


def _fitted_to(split: Folds) -> list[np.ndarray]:
    """Places of the links that each map is fitted to: all but those of its fold."""
    if split.count == 1:
        return [np.arange(len(split.of_link))]
    return [np.flatnonzero(split.of_link != fold) for fold in range(split.count)]


def _pairs_of_one_map(matches: Matches, clouds: CloudPair, folds: int) -> tuple[np.ndarray, list[Densities]]:
    """Keys of the pairs that one map of the whole pool lists, and its densities, which stand for those of each fold."""
    keys = _listed(matches, slice(None), slice(None), clouds.n_b)
    return clouds.unique(keys), [_densities(matches)] * folds


def _pairs_of_each_map(maps: list[Projections], split: Folds, clouds: CloudPair) -> tuple[np.ndarray, list[Densities]]:
    """Keys of the pairs that any map lists for the rows outside it, and the densities of each map."""
    keys = []
    densities = []
    for fold, projections in enumerate(maps):
        matches = clouds.matches(projections, BEST_LISTED)
        outside_a, outside_b = split.outside(fold)
        keys.append(_listed(matches, outside_a, outside_b, clouds.n_b))
        densities.append(_densities(matches))
    return clouds.unique(np.concatenate(keys)), densities


def _densities(matches: Matches) -> Densities:
    return matches.forward.density, matches.backward.density


def _listed(matches: Matches, rows_a: np.ndarray | slice, rows_b: np.ndarray | slice, n_b: int) -> np.ndarray:
    """Keys of the pairs that the given rows of either side rank among their best."""
    forward = matches.forward.index[rows_a]
    backward = matches.backward.index[rows_b]
    every_a = np.arange(len(matches.forward.index))[rows_a]
    every_b = np.arange(len(matches.backward.index))[rows_b]
    from_a = every_a[:, None] * n_b + forward
    from_b = backward * n_b + every_b[:, None]
    return np.concatenate([from_a[forward >= 0], from_b[backward >= 0]])


def _best(order: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """(n, BEST_LISTED) positions of each row's best candidates, best first, −1 where there are fewer.

    order: (c,) positions sorted by row, then by falling score.
    """
    end = np.cumsum(np.bincount(rows, minlength=n))
    first = np.r_[0, end[:-1]]
    best = np.full((n, BEST_LISTED), -1)
    for rank in range(BEST_LISTED):
        listed = first + rank
        has_listed = listed < end
        best[has_listed, rank] = order[listed[has_listed]]
    return best


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold the rows of a pool are in.

    Attributes
    ----------
    of_link : (m,) int64
        The fold of each link of the pool.
    of_a, of_b : (n_a,) and (n_b,) int64
        The fold of each row, −1 where it is not in the pool.
    count : int
    """

    of_link: np.ndarray
    of_a: np.ndarray
    of_b: np.ndarray
    count: int

    @classmethod
    def drawn(cls, pool: np.ndarray, clouds: CloudPair, rng: np.random.Generator, count: int) -> Folds:
        """Folds of equal size, but for one link, at random."""
        of_link = rng.permutation(len(pool)) % count
        of_a = np.full(clouds.n_a, -1)
        of_b = np.full(clouds.n_b, -1)
        of_a[pool[:, 0]] = of_link
        of_b[pool[:, 1]] = of_link
        return cls(of_link, of_a, of_b, count)

    def outside(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of A, and of B, that had no part in the map without this fold."""
        return (
            np.flatnonzero((self.of_a == fold) | (self.of_a < 0)),
            np.flatnonzero((self.of_b == fold) | (self.of_b < 0)),
        )

    def weights(self, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """(c, count) of 0 and 1: the maps that each pair is scored by.

        Those that neither row had a part in; where there is none, those that one of the two had no part in.
        """
        weights = np.ones((self.count, len(rows_a)), np.float32).T  # maps are gone through one by one
        # Of large clouds few rows are in the pool: all maps score the others.
        in_pool = np.flatnonzero((self.of_a[rows_a] >= 0) | (self.of_b[rows_b] >= 0))
        every = np.arange(self.count)
        of_a = self.of_a[rows_a[in_pool]][:, None]
        of_b = self.of_b[rows_b[in_pool]][:, None]
        free_a = (of_a == every) | (of_a < 0)
        free_b = (of_b == every) | (of_b < 0)
        both = free_a & free_b
        either = free_a | free_b
        has_both = both.any(axis=1, keepdims=True)
        weights[in_pool] = np.where(has_both, both, either)
        return weights
