"""Votes of views for pairs, their posterior, and the threshold on it."""

from __future__ import annotations

import numpy as np

from veclink.data.pairs import lookup, pair_keys
from veclink.linkers.checkpoint import State


class Votes:
    """How often each pair was proposed, and with which scores. Only pairs that were proposed take memory."""

    keys: np.ndarray  # (p,) the `pair_keys` of the pairs that have a vote, ascending
    counts: np.ndarray  # (p,) their votes

    def __init__(self, n_b: int) -> None:
        self.n_b = n_b
        self.keys = np.empty(0, np.int64)
        self.counts = np.empty(0, np.int64)
        self._score_sums = np.empty(0, np.float64)

    def add(self, pairs: np.ndarray, scores: np.ndarray, *, times: int | np.ndarray = 1) -> None:
        """Give each of the `pairs` (p, 2) a vote, or as many as `times` says; of several views, those of all at once.

        Every call copies all votes so far: many small views are better counted together.
        """
        keys = pair_keys(pairs, self.n_b)
        new = np.sort(keys)
        new = new[np.diff(new, prepend=-1) > 0]
        new = new[lookup(self.keys, new) < 0]
        before = np.searchsorted(self.keys, new)
        self.keys = np.insert(self.keys, before, new)
        self.counts = np.insert(self.counts, before, 0)
        self._score_sums = np.insert(self._score_sums, before, 0.0)
        spot = np.searchsorted(self.keys, keys)
        np.add.at(self.counts, spot, times)
        np.add.at(self._score_sums, spot, times * scores.astype(np.float64))

    def state(self) -> State:
        """What has to be kept to count on later."""
        return {"keys": self.keys, "counts": self.counts, "score_sums": self._score_sums}

    def restore(self, state: State) -> None:
        """Count on from what was kept."""
        self.keys = state["keys"]
        self.counts = state["counts"]
        self._score_sums = state["score_sums"]

    def pairs(self) -> np.ndarray:
        """All pairs that have a vote, (p, 2), sorted by row of A, then of B."""
        return np.stack(np.divmod(self.keys, self.n_b), axis=1)

    def mean_scores(self) -> np.ndarray:
        """Mean score of each pair over the views that proposed it."""
        return self._score_sums / self.counts

    def of(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Votes and mean scores of the given pairs; 0 votes and a score of NaN for one that was never proposed."""
        spot = lookup(self.keys, pair_keys(pairs, self.n_b))
        counts, scores = np.append(self.counts, 0), np.append(self.mean_scores(), np.nan)
        return counts[spot], scores[spot]


def posterior(votes: np.ndarray, views: int | np.ndarray) -> np.ndarray:
    """Mean of the Beta posterior of a pair's chance to be proposed, `(1 + ν) / (2 + N)`, from a Beta(1, 1) prior."""
    return (1.0 + votes) / (2.0 + views)


def otsu(values: np.ndarray) -> float:
    """Otsu's threshold: the split of `values` with the largest variance between its two classes.

    Returns the smallest value of the upper class, so that `values >= otsu(values)` keeps that class; all of them when
    they are equal. The histogram has one bin for each distinct value: a posterior is a count in disguise, and needs no
    bin width. Of equally good splits the lowest is taken, which keeps more.
    """
    levels, counts = np.unique(values, return_counts=True)
    if not len(levels):
        return 0.0
    if len(levels) == 1:
        return float(levels[0])
    below = np.cumsum(counts)[:-1]
    above = len(values) - below
    sums = np.cumsum(counts * levels)
    sum_below = sums[:-1]
    sum_above = sums[-1] - sum_below
    gap = sum_below / below - sum_above / above
    between = below * above * gap**2
    return float(levels[1 + np.argmax(between)])
