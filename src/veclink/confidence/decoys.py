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

from dataclasses import dataclass, replace

import numpy as np

from veclink.confidence.candidates import Candidates, ScoredPairs, best_other
from veclink.confidence.constants import DECOY_BASE_WEIGHT, NO_RIVAL_SCORE


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
    """

    side: str
    source: np.ndarray
    removed: np.ndarray
    replacement: np.ndarray

    def weights(self, probability: np.ndarray) -> np.ndarray:
        """How much each decoy counts, (d,), when the links are right with these probabilities."""
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
    replacement = own.best_a[own.rows_a[links], 1]
    score, _, rival_of_replacement = _after_removal(own, links, replacement, k)
    made = np.flatnonzero((replacement >= 0) & (score > rival_of_replacement))
    return Decoys(side, source=made, removed=links[made], replacement=replacement[made])


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
    own = _seen_from(candidates, decoys.side)
    score, *rivals = _after_removal(own, decoys.removed, decoys.replacement, k)
    # A row of A has its rivals in B, and the other way round.
    rival_in_b, rival_in_a = rivals if decoys.side == "a" else rivals[::-1]
    single = tuple(decoy_pairs(each, neighbourhoods, decoys, k) for each in candidates.under_single_maps)
    return ScoredPairs(score, rival_in_a, rival_in_b, neighbourhoods[decoys.replacement], single)


def _seen_from(candidates: Candidates, side: str) -> Candidates:
    """The candidates with that side as A: what is written for A holds for either."""
    if side == "a":
        return candidates
    return replace(
        candidates,
        rows_a=candidates.rows_b,
        rows_b=candidates.rows_a,
        density_a=candidates.density_b,
        density_b=candidates.density_a,
        best_a=candidates.best_b,
        best_b=candidates.best_a,
    )


def _after_removal(
    own: Candidates, links: np.ndarray, replacement: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSLS of the replacements (m,) once the links' partners in B are gone, and of the best rival of either row.

    Meaningless where a replacement is −1.
    """
    rows = own.rows_a[links]
    # Without its partner the row's density is the mean over the other k − 1 neighbours: lower, so its CSLS is higher.
    lift = np.maximum(own.cosine[links] - own.density_a[rows], 0) / max(k - 1, 1)
    rival = best_other(own.best_a[rows], links, replacement)
    rival_of_row = np.where(rival >= 0, own.scores(rival) + lift, NO_RIVAL_SCORE)
    # The row on the other side keeps its density, and so do its other candidates.
    other_rival = best_other(own.best_b[own.rows_b[replacement]], replacement)
    return own.scores(replacement) + lift, rival_of_row, own.scores(other_rival)


def _source_weights(probability: np.ndarray) -> np.ndarray:
    """Likely links make likely decoys; doubtful ones count a little too."""
    return probability + DECOY_BASE_WEIGHT * probability.mean()
