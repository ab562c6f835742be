"""From lists of near neighbours to exact CSLS rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.

Runs on numpy arrays and torch tensors alike, where the lists are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from veclink.geometry.arrays import (
    Array,
    asarray,
    concat,
    doubles,
    floats,
    full,
    integers,
    is_numpy,
    namespace,
    nonzero,
    order_of,
    running_max,
    to_numpy,
)
from veclink.geometry.nearest import largest_values
from veclink.geometry.rows import Rows, tiles
from veclink.matching.lists import Nearest, product
from veclink.matching.rankings import Matches, Ranking

_INF = float("inf")
_PAIR_COST = 24  # bytes per number of two rows gathered for an exact inner product


class Ranks(NamedTuple):
    """What is asked for: the neighbours k of a density, the partners `depth`, and how many of them must be proven."""

    k: int = 10
    depth: int = 1
    certain: int | None = None

    @property
    def list_width(self) -> int:
        """Partners to list per row: the more beyond k and depth, the fewer rows are searched again (now few %)."""
        return self.k + self.depth + 6 + self.k // 10


class Wanted(NamedTuple):
    """Rows to search again among all others.

    Attributes
    ----------
    rows : array of shape (m,)
        Ascending.
    penalty : array of shape (n,), float64
        What each of the others costs.
    least : array of shape (m,)
        A value for each row that at least `width` others reach.
    width : int
        How many of the best are wanted.
    error : float
        How far the cosine of a tile can be off.
    """

    rows: Array
    penalty: Array
    least: Array
    width: int
    error: float

    def reached(self) -> Array:
        """A value for each row, (m,) float32, that the best reach as the tiles compute it."""
        return floats(self.least - 2 * self.error - 1e-6)

    def nothing_found(self) -> tuple[Array, Array]:
        """Values and indices (m, width) to begin a search with."""
        shape = len(self.rows), self.width
        return full(shape, -_INF, "float64", self.penalty), full(shape, -1, "int64", self.penalty)


Find = Callable[[Rows, Rows, Wanted], tuple[Array, Array]]
Scan = Callable[[Wanted], tuple[Array, Array]]
Lists = tuple[Nearest, Nearest]


def rank(
    sides: tuple[Rows, Rows],
    near: Lists,
    ranks: Ranks,
    inner_products: Callable[[Rows, Rows, Array], Array],
    *,
    tile: tuple[int, int],
    memory: int,
    rounding: float = _INF,
    find: Find | None = None,
) -> Matches:
    """Exact rankings from the lists of both sides.

    inner_products(rows, others, index) gives the cosines that count; memory: bytes for rows gathered along the way.
    find: finds the pairs that may reach what is wanted, where something is quicker than the tiles of `scan`.
    """
    left, right = sides
    exact = inner_products(left, right, near[0].index), inner_products(right, left, near[1].index)
    again = partial(scan, tile=tile, memory=memory)
    if find is not None:
        again = partial(scan_found, find=find, memory=memory)
    return proven(near, exact, (partial(again, left, right), partial(again, right, left)), ranks, rounding)


def proven(
    near: Lists, exact: tuple[Array, Array], scans: tuple[Scan, Scan], ranks: Ranks, rounding: float = _INF
) -> Matches:
    """Exact rankings from the lists of both sides and the exact cosines of what they list.

    scans: `scan` for the rows of either side among all of the other. rounding: how far the cosine of a tile can be off
    at most.
    """
    # The bound that always holds is far above what is ever seen; three times the largest error among the listed pairs,
    # which have the largest sums, is still beyond any other pair's.
    seen = max(_largest_gap(lists, cosine) for lists, cosine in zip(near, exact, strict=True))
    error = min(3.0 * seen + 2.0**-23, rounding)
    left, right = (Nearest(cosine, lists.index, lists.floor) for lists, cosine in zip(near, exact, strict=True))
    forward = _Search(left, right, error, scans[0])
    backward = _Search(right, left, error, scans[1])
    density_left, density_right = forward.density(ranks.k), backward.density(ranks.k)
    return Matches(
        forward=forward.ranking(density_left, density_right, ranks),
        backward=backward.ranking(density_right, density_left, ranks),
    )


def scan(rows: Rows, others: Rows, wanted: Wanted, *, tile: tuple[int, int], memory: int) -> tuple[Array, Array]:
    """The best values 2·cos − penalty of the wanted rows among all others, and where.

    The tiles' values, off by at most `wanted.error`, only say which pairs may reach what is wanted.

    Returns
    -------
    value, index : array of shape (m, width), float64 and int64
        Best first; −inf and −1 where fewer reach `wanted.least`.
    """
    count = len(wanted.rows)
    value, index = wanted.nothing_found()
    least = wanted.reached()
    pairs_at_once = max(1, memory // (_PAIR_COST * rows.shape[1]))
    for top, bottom in tiles(count, tile[0]):
        own = rows.take(wanted.rows[top:bottom])
        for first, last in tiles(others.shape[0], _columns_at_once(own, tile, memory)):
            block = others.block(first, last)
            rough = product(own, 2 * block)
            rough -= floats(wanted.penalty[first:last])
            row, column = nonzero(rough >= least[top:bottom, None])
            for start, stop in tiles(len(row), pairs_at_once):
                i, j = row[start:stop], column[start:stop]
                exact = 2.0 * _exact_cosines(own[i], block[j]) - wanted.penalty[first + j]
                _merge(value[top:bottom], index[top:bottom], i, first + j, exact)
    return value, index


def scan_found(rows: Rows, others: Rows, wanted: Wanted, *, find: Find, memory: int) -> tuple[Array, Array]:
    """As `scan`, of pairs that are found elsewhere: places among the wanted rows (p,), and others (p,)."""
    value, index = wanted.nothing_found()
    place, other = find(rows, others, wanted)
    for start, stop in tiles(len(place), max(1, memory // (_PAIR_COST * rows.shape[1]))):
        i, j = place[start:stop], other[start:stop]
        cosine = _exact_cosines(rows.take(wanted.rows[i]), others.take(j))
        _merge(value, index, i, j, 2.0 * cosine - wanted.penalty[j])
    return value, index


def _exact_cosines(left: Array, right: Array) -> Array:
    """The product of row i of the one with row i of the other, summed in float64, (p,) float32."""
    return floats((doubles(left) * doubles(right)).sum(axis=1))


def _columns_at_once(own: Array, tile: tuple[int, int], memory: int) -> int:
    """Columns of a tile for these rows: on a device more where the rows are few, since every tile is waited for."""
    if is_numpy(own):
        return tile[1]
    wide = tile[0] * tile[1] // len(own)
    held = memory // (8 * own.shape[1])  # bytes of a row of others, twice in float32
    return max(tile[1], min(wide, held))


@dataclass
class _Search:
    """Finds partners of the rows of one side among the others, from the lists of both."""

    near: Nearest
    near_others: Nearest
    error: float
    scan: Scan

    def density(self, k: int) -> Array:
        """Mean of the k largest cosines of each row, (n,) float32."""
        near, others = self.near, len(self.near_others.floor)
        k = min(k, others)
        nearest = largest_values(near.cosine, k)
        density = doubles(nearest).mean(axis=1)
        last = namespace(nearest).amin(nearest, axis=1)
        (unsure,) = nonzero(last < near.floor + self.error)
        if len(unsure):
            free = full(others, 0.0, "float64", density)
            value, _ = self.scan(Wanted(unsure, free, 2.0 * last[unsure], k, self.error))
            density[unsure] = value.mean(axis=1) / 2
        return floats(density)

    def ranking(self, density: Array, density_others: Array, ranks: Ranks) -> Ranking:
        """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven."""
        near, depth = self.near, ranks.depth
        penalty = doubles(density_others)
        worth = 2.0 * near.cosine - penalty[near.index]
        value, index = _largest(worth, near.index, min(depth, len(penalty)))
        self._add_reverse(value, index, penalty)
        bound = _unlisted(near.floor, self.near_others.floor, penalty) + 2 * self.error
        certain = min(ranks.certain or depth, value.shape[1])
        (unsure,) = nonzero(value[:, certain - 1] <= bound)
        if len(unsure):
            again = Wanted(unsure, penalty, value[unsure, -1], value.shape[1], self.error)
            value[unsure], index[unsure] = self.scan(again)
        shape = (len(near.floor), depth)
        padded_index, score = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
        padded_index[:, : index.shape[1]] = to_numpy(index)
        score[:, : index.shape[1]] = to_numpy(value - density[:, None])
        return Ranking(padded_index, score, to_numpy(density))

    def _add_reverse(self, value: Array, index: Array, penalty: Array) -> None:
        """Takes in the pairs that only the other side listed."""
        near = self.near_others
        reverse = 2.0 * near.cosine - penalty[:, None]
        other, place = nonzero((near.index >= 0) & (reverse >= value[near.index, -1]))
        row = integers(near.index[other, place])
        new = (index[row] != other[:, None]).all(axis=1)
        _merge(value, index, row[new], other[new], reverse[other, place][new])


def _largest_gap(near: Nearest, exact: Array) -> float:
    """How far the tiles' cosines are off at most, where one is listed."""
    where, listed = namespace(exact).where, near.index >= 0
    gap = where(listed, near.cosine, 0.0) - where(listed, exact, 0.0)
    return float(abs(gap).max())


def _largest(value: Array, index: Array, depth: int) -> tuple[Array, Array]:
    """The `depth` largest values of each row, descending, with their indices; the lower index first where they tie."""
    xp = namespace(value)
    rows = asarray(np.arange(len(value)), value)
    best = full((len(value), depth), -_INF, "float64", value)
    where = full((len(value), depth), -1, "int64", value)
    for place in range(min(depth, value.shape[1])):
        best[:, place] = xp.amax(value, axis=1)
        tied = xp.where(value == best[:, place, None], index, xp.iinfo(index.dtype).max)
        column = tied.argmin(axis=1)
        where[:, place] = integers(index[rows, column])
        value[rows, column] = -_INF
    return best, where


def _merge(value: Array, index: Array, row: Array, other: Array, new_value: Array) -> None:
    """Merges new (row, other, value) entries, distinct from those held, into sorted lists of fixed length, in place."""
    if not len(row):
        return
    xp = namespace(row)
    depth = value.shape[1]
    touched = xp.unique(row)
    repeated = touched[:, None] + full((1, depth), 0, "int64", row)
    all_row = concat([repeated.reshape(-1), row])
    all_other = concat([index[touched].reshape(-1), other])
    all_value = concat([value[touched].reshape(-1), new_value])
    order = _by_row_and_value(all_row, all_value, all_other)
    start = xp.searchsorted(all_row[order], touched)
    kept = order[start[:, None] + asarray(np.arange(depth), row)]
    value[touched] = all_value[kept]
    index[touched] = all_other[kept]


def _by_row_and_value(row: Array, value: Array, other: Array) -> Array:
    """The order by row, then by falling value, then by the other row."""
    if is_numpy(row):
        return np.lexsort((other, -value, row))
    order = order_of(other)
    order = order[order_of(value[order], descending=True)]
    return order[order_of(row[order])]


def _unlisted(floor: Array, floor_others: Array, penalty: Array) -> Array:
    """max over others v of 2·min(floor(u), floor(v)) − penalty(v), for every row u."""
    xp = namespace(floor)
    floor, floor_others = doubles(floor), doubles(floor_others)
    order = xp.argsort(floor_others)
    sorted_floor, sorted_penalty = floor_others[order], penalty[order]
    end = full(1, -_INF, "float64", floor)
    lower = concat([end, running_max(2 * sorted_floor - sorted_penalty)])
    # the least penalty among those whose floor is at least as high: a running maximum from the other end
    least_penalty = -xp.flip(concat([end, running_max(-xp.flip(sorted_penalty, (0,)))]), (0,))
    position = xp.searchsorted(sorted_floor, floor)
    return xp.maximum(lower[position], 2.0 * floor - least_penalty[position])
