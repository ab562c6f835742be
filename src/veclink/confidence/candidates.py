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
from veclink.geometry.arrays import Sides, asarray, namespace
from veclink.geometry.signatures import MAX_DIRECTIONS, PooledAnchors, rules_of, side_by_side
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
        densities = self.density_a[self.rows_a] + self.density_b[self.rows_b]
        return tuple(
            replace(
                self,
                score=score,
                cosine=(score + densities) / 2,
                best_a=_best(np.lexsort((-score, self.rows_a)), self.rows_a, len(self.best_a)),
                best_b=_best(np.lexsort((-score, self.rows_b)), self.rows_b, len(self.best_b)),
                single_scores=np.empty((0, 0), np.float32),
            )
            for score in self.single_scores
        )

    def mutual(self) -> np.ndarray:
        """Positions of the candidates that are the best of both their rows: mutual nearest neighbours."""
        every = np.arange(len(self.rows_a))
        return np.flatnonzero((self.best_a[self.rows_a, 0] == every) & (self.best_b[self.rows_b, 0] == every))

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
    folds : (n_a,) and (n_b,) int64
        The fold of each row of A and of B, −1 where it is not in the pool.
    densities : list of Densities
        Of each map.
    whole : Projections or None
        The map of the whole pool that large clouds are matched along; None where every fold is matched.
    """

    candidates: Candidates
    maps: list[Projections]
    folds: Sides
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
    of_link = rng.permutation(len(pool)) % folds
    fold_a, fold_b = np.full(clouds.n_a, -1), np.full(clouds.n_b, -1)
    fold_a[pool[:, 0]] = of_link
    fold_b[pool[:, 1]] = of_link
    is_large = max(clouds.n_a, clouds.n_b) > FULL_FOLDS
    anchors = _anchors(clouds, pool, np.ones(len(pool)) if weights is None else weights, outside, is_large)
    of_anchor = np.r_[of_link, np.full(len(anchors.weights) - len(pool), -1)]
    left_out = range(folds) if folds > 1 else [folds]  # no link is in the fold that one map is fitted without
    single = [anchors.fitted(np.flatnonzero(of_anchor != fold)) for fold in left_out]
    maps = [side_by_side(of_fold) for of_fold in single]
    keys, densities, whole = [], [], None
    if is_large:
        whole = side_by_side(anchors.fitted(np.arange(len(anchors.weights))))
        matches = (one_pass or clouds.matches)(whole, BEST_LISTED)
        keys.append(_listed(matches, slice(None), slice(None), clouds.n_b))
        densities = [(matches.forward.density, matches.backward.density)] * folds  # they stand for those of each fold
    else:
        for fold, projections in enumerate(maps):  # any map lists pairs of the rows that had no part in it
            matches = clouds.matches(projections, BEST_LISTED)
            outside_a, outside_b = (np.flatnonzero((of == fold) | (of < 0)) for of in (fold_a, fold_b))
            keys.append(_listed(matches, outside_a, outside_b, clouds.n_b))
            densities.append((matches.forward.density, matches.backward.density))
    rows_a, rows_b = np.divmod(clouds.unique(np.concatenate(keys)), clouds.n_b)
    counted = _maps_that_count(fold_a[rows_a], fold_b[rows_b], folds)
    candidates = scored_candidates(
        clouds, rows_a, rows_b, cross_fitted_score(clouds, maps, densities, counted, rows_a, rows_b), densities
    )
    if len(single[0]) > 1:
        of_each_map = [
            cross_fitted_score(clouds, list(of_folds), densities, counted, rows_a, rows_b)
            for of_folds in zip(*single, strict=True)
        ]  # fmt: skip
        candidates = replace(candidates, single_scores=np.stack(of_each_map))
    return CrossFit(candidates, maps, (fold_a, fold_b), densities, whole)


def cross_fitted_score(
    clouds: CloudPair,
    maps: list[Projections],
    densities: list[Densities],
    counted: np.ndarray,
    rows_a: np.ndarray,
    rows_b: np.ndarray,
) -> np.ndarray:
    """CSLS of each pair, the mean over the maps that count for it, (c, f) of 0 and 1: (c,) float32.

    Any maps will do, one for each fold: the same pairs can be scored by maps of another kind.
    """
    score = np.zeros(len(rows_a), np.float32)
    # Projected a second time, fold by fold: the signatures of all folds at once would be several times the clouds.
    for fold, (density_a, density_b) in enumerate(densities):
        cosine = clouds.cosines(maps[fold], rows_a, rows_b)
        score += counted[:, fold] * (2 * cosine - density_a[rows_a] - density_b[rows_b])
    score /= counted.sum(axis=1)
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


def _anchors(
    clouds: CloudPair, pool: np.ndarray, weights: np.ndarray, outside: Sides | None, is_large: bool
) -> PooledAnchors:
    """The vectors of a pool's links, and after them those of outside anchors: what all maps are fitted to."""
    left, right = clouds.a.take(pool[:, 0]), clouds.b.take(pool[:, 1])
    if outside is not None:
        left = namespace(left).concatenate((left, asarray(outside[0], left)))
        right = namespace(right).concatenate((right, asarray(outside[1], right)))
        weights = np.r_[weights, np.ones(len(outside[0]))]
    rules = rules_of(weights)
    if is_large:  # joined maps make a pass as many times as long: the first alone is fitted
        return PooledAnchors(left, right, weights, rules[:1], DIRECTIONS_OF_LARGE)
    return PooledAnchors(left, right, weights, rules, MAX_DIRECTIONS)


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


def _maps_that_count(fold_a: np.ndarray, fold_b: np.ndarray, count: int) -> np.ndarray:
    """(c, count) of 0 and 1: the maps that pairs are scored by, of the folds of their rows (c,); −1 for none.

    Those that neither row had a part in; where there is none, those that one of the two had no part in.
    """
    counted = np.ones((count, len(fold_a)), np.float32).T  # maps are gone through one by one
    # Of large clouds few rows are in the pool: all maps score the others.
    in_pool = np.flatnonzero((fold_a >= 0) | (fold_b >= 0))
    every = np.arange(count)
    of_a, of_b = fold_a[in_pool, None], fold_b[in_pool, None]
    free_a = (of_a == every) | (of_a < 0)
    free_b = (of_b == every) | (of_b < 0)
    both = free_a & free_b
    counted[in_pool] = np.where(both.any(axis=1, keepdims=True), both, free_a | free_b)
    return counted


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs, one in each line, with all that features are computed from.

    Attributes
    ----------
    score : (m,) float32
        CSLS of the pair.
    rival_in_a, rival_in_b : (m,) float32
        CSLS of the best other partner of its row of B, which is in A, and of its row of A, which is in B.
    neighbourhoods : (m, f) float32
        The neighbourhood features of the pair, in the order of the registry.
    single : tuple of ScoredPairs
        The same pairs under each of the joined maps alone; none where one map was fitted only.
    """

    score: np.ndarray
    rival_in_a: np.ndarray
    rival_in_b: np.ndarray
    neighbourhoods: np.ndarray
    single: tuple[ScoredPairs, ...] = ()

    def under_map(self, place: int) -> ScoredPairs:
        """The pairs under one of the joined maps alone; all alike, which says nothing, where there is no such map."""
        if self.single:
            return self.single[place]
        none = np.zeros_like(self.score)
        return ScoredPairs(none, none, none, self.neighbourhoods)

    def margins(self) -> tuple[np.ndarray, np.ndarray]:
        """How far the pair scores above its best rival in A, and in B: (m,) each."""
        return self.score - self.rival_in_a, self.score - self.rival_in_b


def candidate_pairs(candidates: Candidates, neighbourhoods: np.ndarray, positions: np.ndarray) -> ScoredPairs:
    """The candidates at these positions (m,), as they are. neighbourhoods: (c, f), of all candidates."""
    listed_b = candidates.best_a[candidates.rows_a[positions]]
    listed_a = candidates.best_b[candidates.rows_b[positions]]
    lowest = np.float32(NO_RIVAL_SCORE)
    return ScoredPairs(
        score=candidates.score[positions],
        rival_in_a=np.maximum(candidates.scores(best_other(listed_a, positions)), lowest),
        rival_in_b=np.maximum(candidates.scores(best_other(listed_b, positions)), lowest),
        neighbourhoods=neighbourhoods[positions],
        single=tuple(candidate_pairs(each, neighbourhoods, positions) for each in candidates.under_single_maps),
    )


def best_other(listed: np.ndarray, *excluded: np.ndarray) -> np.ndarray:
    """The first candidate of each row's list (m, d) that is not excluded, each (m,); −1 where there is none."""
    free = listed >= 0
    for positions in excluded:
        free &= listed != positions[:, None]
    first = np.argmax(free, axis=1)
    chosen = listed[np.arange(len(listed)), first]
    return np.where(free.any(axis=1), chosen, -1)
