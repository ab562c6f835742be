"""What matching returns: each row's best partners on the other side, and the mutual nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best partners of each of n rows under csls(u, v) = 2·cos(u, v) − density(u) − density(v).

    index: (n, depth) int64 rows of the other side, best first, ties by the lower row; −1 where it has fewer rows.
    score: (n, depth) float32, their csls, descending; −inf where index is −1.
    density: (n,) float32, mean cosine to the k nearest rows of the other side.
    """

    index: np.ndarray
    score: np.ndarray
    density: np.ndarray


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
