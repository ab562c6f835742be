"""Decoys: pairs that are wrong by construction, the null distribution of the evidence.

Take a link (u, v) and remove v: u has no partner any more, like all rows outside the overlap. If some v′ and u are now
mutual nearest neighbours, that pair is wrong, and it was made just as wrong links are made. Doing so for every likely
link, on both sides, gives the evidence of wrong links and their rate: the share of rows without a partner that end in
one.

Which pairs are decoys is decided once, by the scores of some candidates (`remove_partners`). What they score is asked
afterwards, of the same candidates or of the same pairs scored by another map (`decoy_pairs`): a decoy is a line of
`ScoredPairs` like any other, and the same features are computed of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.confidence.candidates import Candidates
from veclink.confidence.constants import DECOY_BASE_WEIGHT, NO_RIVAL_SCORE
from veclink.confidence.features import ScoredPairs, best_other


@dataclass(frozen=True, eq=False)
class Decoys:
    """Wrong pairs, made by removing the partner of links on one side.

    Attributes
    ----------
    side : "a" or "b"
        Where the row is that loses its partner.
    source : (d,) int64
        The link that each decoy was made of, as a place among the links that partners were removed from.
    removed : (d,) int64
        The same link, as a position among the candidates.
    replacement : (d,) int64
        The candidate that takes the removed partner's place.
    n_removed : int
        How many partners were removed, whether that made a decoy or not.
    """

    side: str
    source: np.ndarray
    removed: np.ndarray
    replacement: np.ndarray
    n_removed: int

    def weights(self, probability: np.ndarray) -> np.ndarray:
        """How much each decoy counts, (d,), when the links are right with these probabilities (n_removed,)."""
        return _source_weights(probability)[self.source]

    def rate(self, probability: np.ndarray) -> float:
        """Weighted share of the removals that made a decoy."""
        every = _source_weights(probability)
        return float(every[self.source].sum() / every.sum())


def remove_partners(candidates: Candidates, links: np.ndarray, k: int, side: str) -> Decoys:
    """Remove the partner of every link's row on one side, and see where the next best one makes a mutual pair.

    Parameters
    ----------
    candidates : Candidates
    links : (m,) int64
        Positions of mutual candidates.
    k : int
        Neighbours that the density of a row is the mean over.
    side : "a" or "b"
    """
    own = _seen_from(candidates, side)
    replacement = own.best[own.rows[links], 1]
    scores = _after_removal(candidates, links, replacement, k, side)
    is_mutual = scores.pair > scores.rival_of_replacement
    made = np.flatnonzero((replacement >= 0) & is_mutual)
    return Decoys(side, source=made, removed=links[made], replacement=replacement[made], n_removed=len(links))


def decoy_pairs(candidates: Candidates, neighbourhoods: np.ndarray, decoys: Decoys, k: int) -> ScoredPairs:
    """What decoys score.

    Parameters
    ----------
    candidates : Candidates
        Those that the decoys were made of, or the same pairs scored by another map.
    neighbourhoods : (c, f) float32
        Neighbourhood features of the candidates: a decoy has those of the candidate that it is.
    decoys : Decoys
    k : int
    """
    scores = _after_removal(candidates, decoys.removed, decoys.replacement, k, decoys.side)
    # A row of A has its rivals in B, and the other way round.
    if decoys.side == "a":
        rival_in_a, rival_in_b = scores.rival_of_replacement, scores.rival_of_row
    else:
        rival_in_a, rival_in_b = scores.rival_of_row, scores.rival_of_replacement
    return ScoredPairs(
        scores.pair,
        rival_in_a,
        rival_in_b,
        neighbourhoods[decoys.replacement],
        single=tuple(decoy_pairs(each, neighbourhoods, decoys, k) for each in candidates.under_single_maps),
    )


@dataclass(frozen=True, eq=False)
class _SeenFrom:
    """The candidates as one side sees them: its own rows, their best lists and densities, and those of the other."""

    rows: np.ndarray
    best: np.ndarray
    density: np.ndarray
    other_rows: np.ndarray
    other_best: np.ndarray


@dataclass(frozen=True, eq=False)
class _Scores:
    """CSLS of pairs of a row and its replacement partner, and of the best rival of either: (m,) float32 each."""

    pair: np.ndarray
    rival_of_row: np.ndarray
    rival_of_replacement: np.ndarray


def _seen_from(candidates: Candidates, side: str) -> _SeenFrom:
    if side == "a":
        return _SeenFrom(
            rows=candidates.rows_a,
            best=candidates.best_a,
            density=candidates.density_a,
            other_rows=candidates.rows_b,
            other_best=candidates.best_b,
        )
    return _SeenFrom(
        rows=candidates.rows_b,
        best=candidates.best_b,
        density=candidates.density_b,
        other_rows=candidates.rows_a,
        other_best=candidates.best_a,
    )


def _after_removal(candidates: Candidates, links: np.ndarray, replacement: np.ndarray, k: int, side: str) -> _Scores:
    """Scores of the replacements (m,) once the links' partners (m,) are gone; meaningless where one is −1."""
    own = _seen_from(candidates, side)
    rows = own.rows[links]
    # Without its partner the row's density is the mean over the other k − 1 neighbours: lower, so its CSLS is higher.
    above_density = np.maximum(candidates.cosine[links] - own.density[rows], 0)
    lift = above_density / max(k - 1, 1)
    score = candidates.scores(replacement) + lift
    rival = best_other(own.best[rows], links, replacement)
    rival_of_row = np.where(rival >= 0, candidates.scores(rival) + lift, NO_RIVAL_SCORE)
    # The row on the other side keeps its density, and so do its other candidates.
    other_row = own.other_rows[replacement]
    other_rival = best_other(own.other_best[other_row], replacement)
    return _Scores(score, rival_of_row, rival_of_replacement=candidates.scores(other_rival))


def _source_weights(probability: np.ndarray) -> np.ndarray:
    """Likely links make likely decoys; doubtful ones count a little too."""
    return probability + DECOY_BASE_WEIGHT * probability.mean()
