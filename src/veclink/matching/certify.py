"""From lists of near neighbours to exact CSLS rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.

Runs on numpy arrays and torch tensors alike, where the lists are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

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
)  # fmt: skip
from veclink.geometry.nearest import largest_values
from veclink.geometry.rows import Rows, tiles
from veclink.matching.lists import Nearest, product
from veclink.matching.rankings import Matches, Ranking, Ranks

_INF = float("inf")
_PAIR_COST = 24  # bytes per number of two rows gathered for an exact inner product


class Wanted(NamedTuple):
    """Rows to search again among all others."""

    rows: Array  # (m,), ascending
    penalty: Array  # (n,) float64, what each of the others costs
    least: Array  # (m,), a value for each row that at least `width` others reach
    width: int  # how many of the best are wanted
    error: float  # how far the cosine of a tile can be off

    def reached(self) -> Array:
        """A value for each row, (m,) float32, that the best reach as the tiles compute it."""
        return floats(self.least - 2 * self.error - 1e-6)


Find = Callable[[Any, Any, Wanted], tuple[Array, Array]]
Scan = Callable[[Wanted], tuple[Array, Array]]


def scans(left: Rows, right: Rows, **options: Any) -> tuple[Scan, Scan]:
    """`scan` for the rows of either side among all of the other."""
    return partial(scan, left, right, **options), partial(scan, right, left, **options)


def proven(
    near: tuple[Nearest, Nearest],
    exact: tuple[Array, Array],
    again: tuple[Scan, Scan],
    ranks: Ranks,
    rounding: float = _INF,
) -> Matches:
    """Exact rankings from the lists of both sides, the exact cosines of what they list, and their `scans`.

    rounding: how far the cosine of a tile can be off at most.
    """
    # The bound that always holds is far above what is ever seen; three times the largest error among the listed pairs,
    # which have the largest sums, is still beyond any other pair's.
    seen = max(_largest_gap(lists, cosine) for lists, cosine in zip(near, exact, strict=True))
    error = min(3.0 * seen + 2.0**-23, rounding)
    left, right = (Nearest(cosine, lists.index, lists.floor) for lists, cosine in zip(near, exact, strict=True))
    density_left = _density(left, len(right.floor), ranks.k, error, again[0])
    density_right = _density(right, len(left.floor), ranks.k, error, again[1])
    return Matches(
        _ranking((left, right), (density_left, density_right), ranks, error, again[0]),
        _ranking((right, left), (density_right, density_left), ranks, error, again[1]),
    )


def scan(
    rows: Rows, others: Rows, wanted: Wanted, *, tile: tuple[int, int], memory: int, find: Find | None = None
) -> tuple[Array, Array]:
    """The best values 2·cos − penalty of the wanted rows among all others, and where.

    The tiles' values, off by at most `wanted.error`, only say which pairs may reach what is wanted. Where something is
    quicker, `find` gives these pairs: places among the wanted rows (p,), and others (p,).

    Returns
    -------
    value, index : array of shape (m, width), float64 and int64
        Best first; −inf and −1 where fewer reach `wanted.least`.
    """
    count, shape = len(wanted.rows), (len(wanted.rows), wanted.width)
    value, index = full(shape, -_INF, "float64", wanted.penalty), full(shape, -1, "int64", wanted.penalty)
    pairs_at_once = max(1, memory // (_PAIR_COST * rows.shape[1]))
    if find is not None:
        place, other = find(rows, others, wanted)
        for start, stop in tiles(len(place), pairs_at_once):
            i, j = place[start:stop], other[start:stop]
            cosine = _exact_cosines(rows.take(wanted.rows[i]), others.take(j))
            _merge(value, index, i, j, 2.0 * cosine - wanted.penalty[j])
        return value, index
    least = wanted.reached()
    for top, bottom in tiles(count, tile[0]):
        own = rows.take(wanted.rows[top:bottom])
        columns = tile[1]
        if not is_numpy(own):  # on a device more where the rows are few, since every tile is waited for
            held = memory // (8 * own.shape[1])  # bytes of a row of others, twice in float32
            columns = max(columns, min(tile[0] * tile[1] // len(own), held))
        for first, last in tiles(others.shape[0], columns):
            block = others.block(first, last)
            rough = product(own, 2 * block)
            rough -= floats(wanted.penalty[first:last])
            row, column = nonzero(rough >= least[top:bottom, None])
            for start, stop in tiles(len(row), pairs_at_once):
                i, j = row[start:stop], column[start:stop]
                exact = 2.0 * _exact_cosines(own[i], block[j]) - wanted.penalty[first + j]
                _merge(value[top:bottom], index[top:bottom], i, first + j, exact)
    return value, index


def _exact_cosines(left: Array, right: Array) -> Array:
    """The product of row i of the one with row i of the other, summed in float64, (p,) float32."""
    return floats((doubles(left) * doubles(right)).sum(axis=1))


def _largest_gap(near: Nearest, exact: Array) -> float:
    """How far the tiles' cosines are off at most, where one is listed."""
    where, listed = namespace(exact).where, near.index >= 0
    gap = where(listed, near.cosine, 0.0) - where(listed, exact, 0.0)
    return float(abs(gap).max())


def _density(near: Nearest, others: int, k: int, error: float, again: Scan) -> Array:
    """Mean of the k largest cosines of each row, (n,) float32."""
    k = min(k, others)
    nearest = largest_values(near.cosine, k)
    density = doubles(nearest).mean(axis=1)
    last = namespace(nearest).amin(nearest, axis=1)
    (unsure,) = nonzero(last < near.floor + error)
    if len(unsure):
        free = full(others, 0.0, "float64", density)
        value, _ = again(Wanted(unsure, free, 2.0 * last[unsure], k, error))
        density[unsure] = value.mean(axis=1) / 2
    return floats(density)


def _ranking(
    sides: tuple[Nearest, Nearest], densities: tuple[Array, Array], ranks: Ranks, error: float, again: Scan
) -> Ranking:
    """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven.

    sides, densities: of these rows, and of the others.
    """
    (near, others), depth = sides, ranks.depth
    penalty = doubles(densities[1])
    value, index = _largest(2.0 * near.cosine - penalty[near.index], near.index, min(depth, len(penalty)))
    # pairs that only the other side listed
    reverse = 2.0 * others.cosine - penalty[:, None]
    other, place = nonzero((others.index >= 0) & (reverse >= value[others.index, -1]))
    row = integers(others.index[other, place])
    new = (index[row] != other[:, None]).all(axis=1)
    _merge(value, index, row[new], other[new], reverse[other, place][new])
    bound = _unlisted(near.floor, others.floor, penalty) + 2 * error
    certain = min(ranks.certain or depth, value.shape[1])
    (unsure,) = nonzero(value[:, certain - 1] <= bound)
    if len(unsure):
        wanted = Wanted(unsure, penalty, value[unsure, -1], value.shape[1], error)
        value[unsure], index[unsure] = again(wanted)
    shape = (len(near.floor), depth)
    padded, score = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
    padded[:, : index.shape[1]] = to_numpy(index)
    score[:, : index.shape[1]] = to_numpy(value - densities[0][:, None])
    return Ranking(padded, score, to_numpy(densities[0]))


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
    if is_numpy(row):
        order = np.lexsort((all_other, -all_value, all_row))
    else:
        order = order_of(all_other)
        order = order[order_of(all_value[order], descending=True)]
        order = order[order_of(all_row[order])]
    start = xp.searchsorted(all_row[order], touched)
    kept = order[start[:, None] + asarray(np.arange(depth), row)]
    value[touched], index[touched] = all_value[kept], all_other[kept]


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
