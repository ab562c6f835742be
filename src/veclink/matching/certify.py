"""From lists of near neighbours to exact CSLS rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.geometry.rows import Rows
from veclink.matching.rankings import Matches, Ranking

InnerProducts = Callable[[Rows, Rows, np.ndarray], np.ndarray]
Scan = Callable[[np.ndarray, np.ndarray, np.ndarray, int, float], tuple[np.ndarray, np.ndarray]]
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
    scans = (
        partial(scan, rows, others, tile=tile, inner_products=inner_products)
        for rows, others in ((left, right), (right, left))
    )
    rounding = (left.shape[1] + 2) * 2.0**-24
    return proven(
        near_left, near_right, exact_left, exact_right, *scans, k=k, depth=depth, certain=certain, rounding=rounding
    )


def proven(
    near_left: Nearest,
    near_right: Nearest,
    exact_left: np.ndarray,
    exact_right: np.ndarray,
    scan_left: Scan,
    scan_right: Scan,
    *,
    k: int,
    depth: int,
    certain: int | None,
    rounding: float,
) -> Matches:
    """Exact rankings from the lists of both sides and the exact cosines of what they list.

    scan_left, scan_right: `scan` for the rows of that side among all of the other. rounding: how far the cosine of a
    tile can be off at most.
    """
    # The bound that always holds is far above what is ever seen; three times the largest error among the listed pairs,
    # which have the largest sums, is still beyond any other pair's.
    seen = max(_largest_gap(near_left.cosine, exact_left), _largest_gap(near_right.cosine, exact_right))
    error = min(3.0 * seen + 2.0**-23, rounding)
    near_left.cosine, near_right.cosine = exact_left, exact_right
    forward = _Search(len(near_right.floor), error, scan_left)
    backward = _Search(len(near_left.floor), error, scan_right)
    density_left, density_right = forward.density(near_left, k), backward.density(near_right, k)
    return Matches(
        forward=forward.ranking(near_left, near_right, density_left, density_right, depth, certain or depth),
        backward=backward.ranking(near_right, near_left, density_right, density_left, depth, certain or depth),
    )


def scan(
    rows: Rows,
    others: Rows,
    chosen: np.ndarray,
    penalty: np.ndarray,
    least: np.ndarray,
    width: int,
    error: float,
    *,
    tile: tuple[int, int],
    inner_products: InnerProducts,
) -> tuple[np.ndarray, np.ndarray]:
    """The `width` best values 2·cos − penalty of the chosen rows among all others, and where; −inf and −1 where fewer
    reach `least`, a value for each row that those wanted do reach.

    The tiles' float32 values, off by at most `error`, only say which pairs may reach it.
    """
    value = np.full((len(chosen), width), -np.inf)
    index = np.full((len(chosen), width), -1, dtype=np.int64)
    slack = 2 * error + 1e-6
    for top in range(0, len(chosen), tile[0]):
        here = slice(top, top + tile[0])
        own = rows.take(chosen[here])
        for first, last in others.tiles(tile[1]):
            block = others.block(first, last)
            rough = own @ (2 * block).T
            rough -= penalty[first:last].astype(np.float32)
            row, column = np.nonzero(rough >= (least[here, None] - slack).astype(np.float32))
            for start in range(0, len(row), _PAIRS_AT_ONCE):
                pair_row, pair_column = row[start : start + _PAIRS_AT_ONCE], column[start : start + _PAIRS_AT_ONCE]
                cosine = inner_products(Rows(own[pair_row], 0), Rows(block, 0), pair_column[:, None])[:, 0]
                exact = 2.0 * cosine - penalty[first + pair_column]
                _merge(value[here], index[here], pair_row, first + pair_column, exact)
    return value, index


@dataclass
class _Search:
    """Finds partners of the rows of one side among the others, so many of them."""

    others: int
    error: float
    scan: Scan

    def density(self, near: Nearest, k: int) -> np.ndarray:
        """Mean of the k largest cosines of each row."""
        k = min(k, near.cosine.shape[1])
        nearest = np.sort(near.cosine, axis=1)[:, -k:]
        density = nearest.mean(axis=1, dtype=np.float64)
        unsure = np.flatnonzero(nearest[:, 0] < near.floor + self.error)
        if len(unsure):
            value, _ = self.scan(unsure, np.zeros(self.others), 2.0 * nearest[unsure, 0], k, self.error)
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
        value, index = _largest(2.0 * near.cosine - penalty[near.index], near.index, min(depth, self.others))
        self._add_reverse(value, index, near_others, penalty)
        bound = _unlisted(near.floor, near_others.floor, penalty) + 2 * self.error
        unsure = np.flatnonzero(value[:, min(certain, value.shape[1]) - 1] <= bound)
        if len(unsure):
            value[unsure], index[unsure] = self.scan(unsure, penalty, value[unsure, -1], value.shape[1], self.error)
        shape = (len(near.floor), depth)
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


def _largest_gap(rough: np.ndarray, exact: np.ndarray) -> float:
    """How far the tiles' cosines are off at most, where one is listed."""
    return float(np.abs(rough - exact, where=np.isfinite(exact), out=np.zeros_like(exact)).max())


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
