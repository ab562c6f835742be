"""Moments of paired vectors: all that a linear map needs to know of millions of pairs, in memory of d² numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.files.memory_maps import forget_pages
from veclink.geometry.clouds import Cloud

CHUNK = 4096  # pairs read at a time


@dataclass(frozen=True, eq=False)
class Paired:
    """Pairs of rows of two clouds, each with a weight; vectors are read when asked for, in the order of A's rows."""

    a: Cloud
    b: Cloud
    pairs: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def only(self, chosen: np.ndarray) -> Paired:
        """Some of the pairs."""
        return Paired(self.a, self.b, self.pairs[chosen], self.weight[chosen])

    def turned(self) -> Paired:
        """The same pairs from B to A."""
        return Paired(self.b, self.a, self.pairs[:, ::-1], self.weight)

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Both sides of all pairs, float32."""
        return self.a.take(self.pairs[:, 0]), self.b.take(self.pairs[:, 1])

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows of A, rows of B and weights, some thousand at a time."""
        order = np.argsort(self.pairs[:, 0], kind="stable")  # a memory map is read from front to back
        for start in range(0, len(order), CHUNK):
            here = order[start : start + CHUNK]
            yield self.a.take(self.pairs[here, 0]), self.b.take(self.pairs[here, 1]), self.weight[here]
            for side in (self.a, self.b):
                forget_pages(side.collection.vectors)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums over pairs (x, y): w, x, y, xᵀx, xᵀy and |y|², in float64. Sums of parts add up."""

    weight: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: float

    @classmethod
    def of(cls, pairs: Paired) -> Moments:
        """The moments of all pairs, in one pass."""
        d1, d2 = pairs.a.shape[1], pairs.b.shape[1]
        total = cls(0.0, np.zeros(d1), np.zeros(d2), np.zeros((d1, d1)), np.zeros((d1, d2)), 0.0)
        for x, y, weight in pairs.chunks():
            x, y, weight = x.astype(np.float64), y.astype(np.float64), weight.astype(np.float64)
            wx = x * weight[:, None]
            total = total + cls(
                float(weight.sum()), wx.sum(axis=0), weight @ y, wx.T @ x, wx.T @ y, float(weight @ (y * y).sum(axis=1))
            )
        return total

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(mine + theirs for mine, theirs in zip(self._parts(), other._parts(), strict=True)))

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*(mine - theirs for mine, theirs in zip(self._parts(), other._parts(), strict=True)))

    def centre(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of x and of y."""
        return self.x / self.weight, self.y / self.weight

    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """Σ w (x−x̄)ᵀ(x−x̄) and Σ w (x−x̄)ᵀ(y−ȳ)."""
        mean_x, mean_y = self.centre()
        return self.xx - np.outer(self.x, mean_x), self.xy - np.outer(self.x, mean_y)

    def error(self, mean_x: np.ndarray, mean_y: np.ndarray, matrix: np.ndarray) -> float:
        """Σ w |y − ȳ − (x − x̄)M|² over these pairs, for a map that others may have fitted; no vector is needed."""
        shift = mean_y - mean_x @ matrix  # y ≈ x M + shift
        fitted = float(np.sum(matrix * (self.xx @ matrix))) + 2 * float(self.x @ matrix @ shift)
        fitted += self.weight * float(shift @ shift)
        return self.yy - 2 * float(np.sum(matrix * self.xy)) - 2 * float(self.y @ shift) + fitted

    def spread(self) -> float:
        """Σ w |y − ȳ|²."""
        return self.yy - float(self.y @ self.y) / self.weight

    def spread_under(self, mean_x: np.ndarray, matrix: np.ndarray) -> float:
        """Σ w |(x − x̄)M|² for a map that others may have fitted."""
        turned, shift = self.x @ matrix, mean_x @ matrix
        return (
            float(np.sum(matrix * (self.xx @ matrix))) - 2 * float(turned @ shift) + self.weight * float(shift @ shift)
        )

    def _parts(self) -> tuple[Any, ...]:
        return self.weight, self.x, self.y, self.xx, self.xy, self.yy


def sum_of(parts: list[Moments]) -> Moments:
    """The moments of all parts together."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
