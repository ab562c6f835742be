"""CSLS rankings by brute force, the whole matrix of cosines at once: the oracle of every backend's tests."""

from __future__ import annotations

import numpy as np

from veclink.matching.rankings import Matches, Ranking


def match(left: np.ndarray, right: np.ndarray, *, k: int = 10, depth: int = 1) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length; needs memory for n1·n2 cosines.

    A cosine is the inner product summed in float64 and rounded to float32. That makes it a property of the two
    vectors alone, whatever order a backend sums in, so equal vectors tie exactly and the lower row wins everywhere.
    """
    cosine = (left.astype(np.float64) @ right.astype(np.float64).T).astype(np.float32)
    density_left, density_right = _density(cosine, k), _density(cosine.T, k)
    return Matches(
        forward=_ranking(cosine, density_left, density_right, depth),
        backward=_ranking(cosine.T, density_right, density_left, depth),
    )


def _density(cosine: np.ndarray, k: int) -> np.ndarray:
    k = min(k, cosine.shape[1])
    nearest = -np.sort(-cosine, axis=1)[:, :k]
    return nearest.mean(axis=1, dtype=np.float64).astype(np.float32)


def _ranking(cosine: np.ndarray, density: np.ndarray, density_other: np.ndarray, depth: int) -> Ranking:
    index = np.full((len(cosine), depth), -1, dtype=np.int64)
    score = np.full((len(cosine), depth), -np.inf, dtype=np.float32)
    value = 2 * cosine.astype(np.float64) - density_other
    found = np.argsort(-value, axis=1, kind="stable")[:, :depth]
    index[:, : found.shape[1]] = found
    score[:, : found.shape[1]] = np.take_along_axis(value, found, axis=1) - density[:, None]
    return Ranking(index, score, density)
