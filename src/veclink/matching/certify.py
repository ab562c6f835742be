"""From lists of near neighbours to exact CSLS rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .rankings import Matches, Ranking
from .rows import Rows

InnerProducts = Callable[[Rows, Rows, np.ndarray], np.ndarray]
_PAIRS_AT_ONCE = 1 << 14


@dataclass
class Nearest:
    """The nearest partners found for each of n rows, in no order.

    cosine, index: (n, width); floor: (n,), no other partner has a larger cosine as the tiles computed it.
    """

    cosine: np.ndarray
    index: np.ndarray
    floor: np.ndarray


def list_width(k: int, depth: int) -> int:
    """Partners to list per row: the more beyond k and depth, the fewer rows are searched again (now few %)."""
    return k + depth + 6 + k // 10


def rank(
    left: Rows,
    right: Rows,
    near_left: Nearest,
    near_right: Nearest,
    *,
    k: int,
    depth: int,
    certain: int | None = None,
    tile: tuple[int, int],
    inner_products: InnerProducts,
) -> Matches:
    """Exact rankings from the lists of both sides; inner_products(rows, others, index) gives the cosines that count."""
    exact_left = inner_products(left, right, near_left.index)
    exact_right = inner_products(right, left, near_right.index)
    # How far a tile's cosine can be off. The bound that always holds, d·2⁻²⁴, is far above what is ever seen; three
    # times the largest error among the listed pairs, which have the largest sums, is still beyond any other pair's.
    seen = max(np.abs(near_left.cosine - exact_left).max(), np.abs(near_right.cosine - exact_right).max())
    error = min(3.0 * float(seen) + 2.0**-23, (left.shape[1] + 2) * 2.0**-24)
    near_left.cosine, near_right.cosine = exact_left, exact_right
    forward = _Search(left, right, tile, error, inner_products)
    backward = _Search(right, left, tile, error, inner_products)
    density_left, density_right = forward.density(near_left, k), backward.density(near_right, k)
    return Matches(
        forward=forward.ranking(near_left, near_right, density_left, density_right, depth, certain or depth),
        backward=backward.ranking(near_right, near_left, density_right, density_left, depth, certain or depth),
    )


@dataclass
class _Search:
    """Finds partners of `rows` among `others`."""

    rows: Rows
    others: Rows
    tile: tuple[int, int]
    error: float
    inner_products: InnerProducts

    def density(self, near: Nearest, k: int) -> np.ndarray:
        """Mean of the k largest cosines of each row."""
        k = min(k, near.cosine.shape[1])
        nearest = np.sort(near.cosine, axis=1)[:, -k:]
        density = nearest.mean(axis=1, dtype=np.float64)
        unsure = np.flatnonzero(nearest[:, 0] < near.floor + self.error)
        if len(unsure):
            value, _ = self.scan(unsure, np.zeros(len(self.others)), 2.0 * nearest[unsure, 0], k)
            density[unsure] = value.mean(axis=1) / 2
        return density.astype(np.float32)

    def ranking(
        self,
        near: Nearest,
        near_others: Nearest,
        density: np.ndarray,
        density_others: np.ndarray,
        depth: int,
        certain: int,
    ) -> Ranking:
        """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven."""
        penalty = density_others.astype(np.float64)
        value, index = _largest(2.0 * near.cosine - penalty[near.index], near.index, min(depth, len(self.others)))
        self._add_reverse(value, index, near_others, penalty)
        bound = _unlisted(near.floor, near_others.floor, penalty) + 2 * self.error
        unsure = np.flatnonzero(value[:, min(certain, value.shape[1]) - 1] <= bound)
        if len(unsure):
            value[unsure], index[unsure] = self.scan(unsure, penalty, value[unsure, -1], value.shape[1])
        shape = (len(self.rows), depth)
        padded_index, score = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
        padded_index[:, : index.shape[1]] = index
        score[:, : index.shape[1]] = value - density[:, None]
        return Ranking(padded_index, score, density)

    def _add_reverse(self, value: np.ndarray, index: np.ndarray, near_others: Nearest, penalty: np.ndarray) -> None:
        """Takes in the pairs that only the other side listed."""
        reverse = 2.0 * near_others.cosine - penalty[:, None]
        other, place = np.nonzero(reverse >= value[near_others.index, -1])
        row = near_others.index[other, place].astype(np.int64)
        new = (index[row] != other[:, None]).all(axis=1)
        _merge(value, index, row[new], other[new], reverse[other, place][new])

    def scan(
        self, chosen: np.ndarray, penalty: np.ndarray, least: np.ndarray, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The `width` best values 2·cos − penalty of the chosen rows, and where, among all others.

        least: a value that at least `width` others reach. The tiles' float32 values only say which pairs may reach it.
        """
        value = np.full((len(chosen), width), -np.inf)
        index = np.full((len(chosen), width), -1, dtype=np.int64)
        slack = 2 * self.error + 1e-6
        for top in range(0, len(chosen), self.tile[0]):
            here = slice(top, top + self.tile[0])
            rows = self.rows.take(chosen[here])
            for first, last in self.others.tiles(self.tile[1]):
                block = self.others.block(first, last)
                rough = rows @ (2 * block).T
                rough -= penalty[first:last].astype(np.float32)
                row, column = np.nonzero(rough >= (least[here, None] - slack).astype(np.float32))
                for start in range(0, len(row), _PAIRS_AT_ONCE):
                    pair_row, pair_column = row[start : start + _PAIRS_AT_ONCE], column[start : start + _PAIRS_AT_ONCE]
                    cosine = self.inner_products(Rows(rows[pair_row], 0), Rows(block, 0), pair_column[:, None])[:, 0]
                    exact = 2.0 * cosine - penalty[first + pair_column]
                    _merge(value[here], index[here], pair_row, first + pair_column, exact)
        return value, index


def _largest(value: np.ndarray, index: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The `depth` largest values of each row, descending, with their indices; the lower index first where they tie."""
    rows = np.arange(len(value))
    best, where = np.full((len(value), depth), -np.inf), np.full((len(value), depth), -1, dtype=np.int64)
    for rank_ in range(min(depth, value.shape[1])):
        best[:, rank_] = value.max(axis=1)
        tied = np.where(value == best[:, rank_, None], index, np.iinfo(index.dtype).max)
        column = tied.argmin(axis=1)
        where[:, rank_] = index[rows, column]
        value[rows, column] = -np.inf
    return best, where


def _merge(value: np.ndarray, index: np.ndarray, row: np.ndarray, other: np.ndarray, new_value: np.ndarray) -> None:
    """Merges new (row, other, value) entries, distinct from those held, into sorted lists of fixed length, in place."""
    if not len(row):
        return
    depth = value.shape[1]
    touched = np.unique(row)
    all_row = np.concatenate([np.repeat(touched, depth), row])
    all_other = np.concatenate([index[touched].ravel(), other])
    all_value = np.concatenate([value[touched].ravel(), new_value])
    order = np.lexsort((all_other, -all_value, all_row))
    start = np.searchsorted(all_row[order], touched)
    kept = order[start[:, None] + np.arange(depth)]
    value[touched], index[touched] = all_value[kept], all_other[kept]


def _unlisted(floor: np.ndarray, floor_others: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """max over others v of 2·min(floor(u), floor(v)) − penalty(v), for every row u."""
    order = np.argsort(floor_others)
    sorted_floor, sorted_penalty = floor_others[order].astype(np.float64), penalty[order]
    lower = np.concatenate([[-np.inf], np.maximum.accumulate(2 * sorted_floor - sorted_penalty)])
    least_penalty = np.concatenate([np.minimum.accumulate(sorted_penalty[::-1])[::-1], [np.inf]])
    position = np.searchsorted(sorted_floor, floor)
    return np.maximum(lower[position], 2.0 * floor - least_penalty[position])
