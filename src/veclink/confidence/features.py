"""Features: the numbers that evidence is, for candidates and for decoys alike.

A feature is a function of `ScoredPairs`, whatever those are: candidates as they are, or decoys as they would be if the
partner of a link were removed. There is one list of features, the registry in `evidence`, and no second one for decoys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence.candidates import Candidates
from veclink.confidence.constants import NO_RIVAL_SCORE
from veclink.geometry.nearest import local_agreement


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
    return ScoredPairs(
        score=candidates.score[positions],
        rival_in_a=_rival_score(candidates, listed_a, positions),
        rival_in_b=_rival_score(candidates, listed_b, positions),
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


def _rival_score(candidates: Candidates, listed: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Score of the best candidate of each list but the one at `positions`; never below NO_RIVAL_SCORE."""
    rivals = best_other(listed, positions)
    return np.maximum(candidates.scores(rivals), np.float32(NO_RIVAL_SCORE))


@dataclass(frozen=True, eq=False)
class Standard:
    """Mean and spread of features (f,), which put them on one scale."""

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> Standard:
        """Of these features (n, f)."""
        return cls(features.mean(axis=0), features.std(axis=0) + 1e-9)

    def applied(self, features: np.ndarray) -> np.ndarray:
        """The features, standardised."""
        standardised = features - self.centre
        standardised /= self.scale
        return standardised


class Neighbourhoods:
    """What the neighbourhood features of candidates are computed from, asked of the clouds when first needed.

    The clouds answer on whatever device they are, and each question is asked once, however many features use it.

    Parameters
    ----------
    clouds : CloudPair
    candidates : Candidates
    pool : (m, 2) int64
        Links among which the neighbours of a pair are looked for.
    rng : Generator
        Draws the rows that densities are measured against.
    wanted : (w,) int64
        Positions of the candidates whose agreement with the links near them is worth its time.
    """

    def __init__(
        self, clouds: CloudPair, candidates: Candidates, pool: np.ndarray, rng: np.random.Generator, wanted: np.ndarray
    ) -> None:
        self.clouds = clouds
        self.candidates = candidates
        self.pool = pool
        self.rng = rng
        self.wanted = wanted

    @cached_property
    def agreement(self) -> tuple[np.ndarray, np.ndarray]:
        """Correlation and overlap of the links near both rows, (c,) float32 each; 0 where not wanted."""
        correlation = np.zeros(len(self.candidates.rows_a), np.float32)
        overlap = np.zeros(len(self.candidates.rows_a), np.float32)
        rows = self.candidates.rows_a[self.wanted], self.candidates.rows_b[self.wanted]
        correlation[self.wanted], overlap[self.wanted] = local_agreement(self.clouds.a, self.clouds.b, self.pool, *rows)
        return correlation, overlap

    @cached_property
    def densities(self) -> tuple[np.ndarray, np.ndarray]:
        """Standardised density of the cloud around the row of A, and of B, of each candidate: (c,) float32 each."""
        density_a = self.clouds.own_density("a", self.rng)
        density_b = self.clouds.own_density("b", self.rng)
        return (density_a[self.candidates.rows_a], density_b[self.candidates.rows_b])


def worth_measuring(candidates: Candidates, fitted: np.ndarray | None) -> np.ndarray:
    """Positions of the candidates whose neighbourhood the calibration looks at.

    Parameters
    ----------
    candidates : Candidates
    fitted : (m,) int64 or None
        Mutual candidates that the calibration is fitted to: decoys are made of their rivals. None stands for all
        candidates, and for rivals that get a probability themselves.
    """
    # The last place stands for "no candidate", −1.
    wanted = np.zeros(len(candidates.rows_a) + 1, bool)
    if fitted is None:
        wanted[candidates.best_a[:, :2]] = True
        wanted[candidates.best_b[:, :2]] = True
    else:
        wanted[candidates.mutual()] = True
        wanted[candidates.best_a[candidates.rows_a[fitted], :2]] = True
        wanted[candidates.best_b[candidates.rows_b[fitted], :2]] = True
    return np.flatnonzero(wanted[:-1])
