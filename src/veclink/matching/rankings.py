"""What matching returns, and the same by brute force: the oracle of every backend's tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veclink.geometry.arrays import Array, asarray, doubles, floats, full, is_numpy, to_numpy


class Ranks(NamedTuple):
    """What is asked for: the neighbours k of a density, the partners `depth`, and how many of them must be proven."""

    k: int = 10
    depth: int = 1
    certain: int | None = None

    @property
    def list_width(self) -> int:
        """Partners to list per row: the more beyond k and depth, the fewer rows are searched again (now few %)."""
        return self.k + self.depth + 6 + self.k // 10


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best partners of each of n rows under csls(u, v) = 2·cos(u, v) − density(u) − density(v)."""

    index: np.ndarray  # (n, depth) int64 rows of the other side, best first, ties by the lower row; −1: there are fewer
    score: np.ndarray  # (n, depth) float32, their csls, descending; −inf where index is −1
    density: np.ndarray  # (n,) float32, mean cosine to the k nearest rows of the other side


@dataclass(frozen=True, eq=False)
class Matches:
    """Rankings in both directions: `forward` for the rows of left, `backward` for the rows of right."""

    forward: Ranking
    backward: Ranking

    def mutual(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that are each other's best: (p, 2) int64 rows sorted by the left one, and their csls (p,) float32."""
        best = self.forward.index[:, 0]
        left = np.flatnonzero(best >= 0)
        left = left[self.backward.index[best[left], 0] == left]
        return np.column_stack([left, best[left]]), self.forward.score[left, 0]


def brute_force(left: Array, right: Array, ranks: Ranks) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, of numpy or torch; all n1·n2 cosines at once.

    A cosine is the inner product summed in float64 and rounded to float32. That makes it a property of the two
    vectors alone, whatever order a backend sums in, so equal vectors tie exactly and the lower row wins everywhere.
    """
    cosine = floats(doubles(left) @ doubles(right).T)
    density_left, density_right = densities(cosine, ranks.k), densities(cosine.T, ranks.k)
    return Matches(
        _ranking(cosine, density_left, density_right, ranks.depth),
        _ranking(cosine.T, density_right, density_left, ranks.depth),
    )


def densities(cosine: Array, k: int) -> Array:
    """Mean of the k largest cosines of each row, float32, of one matrix (n1, n2) or of several (v, n1, n2)."""
    k = min(k, cosine.shape[-1])
    if is_numpy(cosine):
        nearest: Array = np.partition(cosine, -k, axis=-1)[..., -k:]
    else:
        nearest = cosine.topk(k, dim=-1, sorted=False).values
    return floats(doubles(nearest).mean(axis=-1))


def _ranking(cosine: Array, density: Array, density_other: Array, depth: int) -> Ranking:
    value = 2 * doubles(cosine) - density_other
    index = full((len(cosine), depth), -1, "int64", value)
    score = full((len(cosine), depth), -float("inf"), "float32", value)
    rows = asarray(np.arange(len(cosine)), value)
    for place in range(min(depth, cosine.shape[1])):
        best = value.argmax(axis=1)  # of those that tie, the lowest row
        index[:, place] = best
        score[:, place] = floats(value[rows, best] - density)
        value[rows, best] = -float("inf")
    return Ranking(to_numpy(index), to_numpy(score), to_numpy(density))
