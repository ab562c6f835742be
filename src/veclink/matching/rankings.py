"""Matching in plain array code, on numpy arrays and torch tensors alike, where they lie.

What matching returns, and the same by brute force: the oracle of every backend's tests. Then the way that every backend
goes, from lists of near neighbours to exact rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veclink.geometry.arrays import (
    Array,
    Rows,
    along_rows,
    asarray,
    checked,
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
    tiles,
    to_numpy,
)  # fmt: skip
from veclink.geometry.nearest import largest, largest_values
from veclink.threads import multiply

_INF = float("inf")
# Bytes per number gathered for exact inner products: of lists in float32 and float64, and of two rows.
_GATHER_COST, _PAIR_COST = 12, 24


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
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, from all n1·n2 cosines at once.

    A cosine is the inner product summed in float64 and rounded to float32. That makes it a property of the two
    vectors alone, whatever order a backend sums in, so equal vectors tie exactly and the lower row wins everywhere.
    """
    cosine = floats(doubles(left) @ doubles(right).T)
    of_left, of_right = (floats(doubles(largest_values(side, ranks.k)).mean(axis=1)) for side in (cosine, cosine.T))
    return Matches(
        _by_force(2 * doubles(cosine) - of_right, of_left, ranks.depth),
        _by_force(2 * doubles(cosine.T) - of_left, of_right, ranks.depth),
    )


def _by_force(value: Array, density: Array, depth: int) -> Ranking:
    """The ranking of rows of this density from what all others are worth to them, (n1, n2)."""
    shape = len(value), depth
    index, score = full(shape, -1, "int64", value), full(shape, -_INF, "float32", value)
    rows = asarray(np.arange(len(value)), value)
    for place in range(min(depth, value.shape[1])):
        best = value.argmax(axis=1)  # of those that tie, the lowest row
        index[:, place], score[:, place] = best, floats(value[rows, best] - density)
        value[rows, best] = -_INF
    return Ranking(to_numpy(index), to_numpy(score), to_numpy(density))


@dataclass
class Nearest:
    """The nearest partners found for each of n rows, in no order."""

    cosine: Array  # (n, width) float32, −inf where nothing is listed
    index: Array  # (n, width) int32, −1 where nothing is listed
    floor: Array  # (n,), no other partner has a larger cosine as the tiles computed it

    @classmethod
    def none(cls, n: int, width: int, like: Array) -> Nearest:
        """Empty lists, where `like` is."""
        cosine, floor = (full(shape, -_INF, "float32", like) for shape in ((n, width), n))
        return cls(cosine, full((n, width), -1, "int32", like), floor)

    def take_in(self, cosine: Array, top: int, first: int) -> None:
        """Adds the cosines of rows top… with partners first…, and keeps the largest."""
        here = slice(top, top + len(cosine))
        width = self.cosine.shape[1]
        column = largest(cosine, min(width, cosine.shape[1]))
        joined = concat([self.cosine[here], along_rows(cosine, column)], axis=1)
        position = concat([integers(self.index[here]), column + first], axis=1)
        chosen = largest(joined, width)
        self.cosine[here] = along_rows(joined, chosen)
        self.index[here] = along_rows(position, chosen)
        # −inf as long as the list is not full
        self.floor[here] = namespace(joined).amin(self.cosine[here], axis=1)

    def complete(self, rows: Rows, others: Rows, least: int, tile: tuple[int, int]) -> None:
        """Lists again what has fewer than `least` partners, from all of the others."""
        n = others.shape[0]
        (short,) = nonzero((self.index >= 0).sum(axis=1) < min(least, n))
        again = Nearest.none(len(short), self.index.shape[1], self.cosine)
        for top, bottom in tiles(len(short), tile[0]):
            block = rows.take(short[top:bottom])
            for first, last in tiles(n, tile[1]):
                again.take_in(product(block, others.block(first, last)), top, first)
        self.cosine[short], self.index[short], self.floor[short] = again.cosine, again.index, again.floor


Lists = tuple[Nearest, Nearest]
"""Those of left's rows, and of right's."""


def nearest(rows: Rows, columns: Rows, width: int, tile: tuple[int, int]) -> Lists:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass.

    `cpu` and `triton_kernels` make the same lists without writing the cosines to memory.
    """
    n_rows, n_columns = rows.shape[0], columns.shape[0]
    like = rows.block(0, 1)
    by_row, by_column = Nearest.none(n_rows, width, like), Nearest.none(n_columns, width, like)
    for top, bottom in tiles(n_rows, tile[0]):
        block = checked(rows.block(top, bottom), top, "Left")
        for first, last in tiles(n_columns, tile[1]):
            others = columns.block(first, last)
            if top == 0:
                checked(others, first, "Right")
            cosine = product(block, others)
            by_row.take_in(cosine, top, first)
            by_column.take_in(cosine.T, first, top)
    return by_row, by_column


def inner_products(rows: Rows, others: Rows, index: Array, memory: int) -> Array:
    """⟨rows[i], others[index[i, j]]⟩, summed in float64, given in float32; −inf where index is −1."""
    exact = full(tuple(index.shape), -_INF, "float32", index)
    step = max(1, memory // (_GATHER_COST * (index.shape[1] + 1) * rows.shape[1]))
    for start, stop in tiles(len(index), step):
        part = integers(index[start:stop])
        listed = others.take(part.clip(0).reshape(-1))
        listed = doubles(listed).reshape(stop - start, index.shape[1], -1)
        own = doubles(rows.block(start, stop))
        exact[start:stop] = floats((listed @ own[:, :, None])[:, :, 0])
    exact[index < 0] = -_INF
    return exact


def product(left: Array, right: Array) -> Array:
    """left · rightᵀ in float32; on CUDA of the rows in float16, summed in float32.

    Everything that counts is computed again from the float32 rows.
    """
    if is_numpy(left):
        return multiply(left, right.T)
    if left.device.type != "cuda":
        return left @ right.T
    torch = namespace(left)
    return torch.mm(left.half(), right.half().T, out_dtype=torch.float32)


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


Scan = Callable[[Wanted], tuple[Array, Array]]
Likely = tuple[int, int, Array, Array, Array, Array]
"""Pairs that may reach what is wanted: the first row of either side, rows from there on, and places in these (p,)."""
Find = Callable[[Rows, Rows, Wanted], Iterator[Likely]]


def scan(rows: Rows, others: Rows, find: Find, memory: int, wanted: Wanted) -> tuple[Array, Array]:
    """The best values 2·cos − penalty of the wanted rows among all others, and where.

    find: gives the pairs that may reach what is wanted, such as `in_tiles`; their cosines are computed again.

    Returns
    -------
    value, index : array of shape (m, width), float64 and int64
        Best first; −inf and −1 where fewer reach `wanted.least`.
    """
    shape = len(wanted.rows), wanted.width
    value, index = full(shape, -_INF, "float64", wanted.penalty), full(shape, -1, "int64", wanted.penalty)
    for top, first, own, block, row, column in find(rows, others, wanted):
        for start, stop in tiles(len(row), max(1, memory // (_PAIR_COST * rows.shape[1]))):
            i, j = row[start:stop], column[start:stop]
            cosine = floats((doubles(own[i]) * doubles(block[j])).sum(axis=1))
            _merge(value, index, top + i, first + j, 2.0 * cosine - wanted.penalty[first + j])
    return value, index


def in_tiles(tile: tuple[int, int], memory: int) -> Find:
    """Likely pairs by the values of tiles, off by at most `wanted.error`."""

    def find(rows: Rows, others: Rows, wanted: Wanted) -> Iterator[Likely]:
        least = wanted.reached()
        for top, bottom in tiles(len(wanted.rows), tile[0]):
            own = rows.take(wanted.rows[top:bottom])
            columns = tile[1]
            if not is_numpy(own):  # on a device more where the rows are few, since every tile is waited for
                held = memory // (8 * own.shape[1])  # bytes of a row of others, twice in float32
                columns = max(columns, min(tile[0] * tile[1] // len(own), held))
            for first, last in tiles(others.shape[0], columns):
                block = others.block(first, last)
                rough = product(own, 2 * block)
                rough -= floats(wanted.penalty[first:last])
                yield top, first, own, block, *nonzero(rough >= least[top:bottom, None])

    return find


def proven(
    near: Lists, exact: tuple[Array, Array], again: tuple[Scan, Scan], ranks: Ranks, rounding: float = _INF
) -> Matches:
    """Exact rankings from the lists of both sides, the exact cosines of what they list, and a `scan` for each side.

    rounding: how far the cosine of a tile can be off at most.
    """
    # The bound that always holds is far above what is ever seen; three times the largest error among the listed pairs,
    # which have the largest sums, is still beyond any other pair's.
    seen = []
    for lists, cosine in zip(near, exact, strict=True):
        where, listed = namespace(cosine).where, lists.index >= 0
        seen.append(float(abs(where(listed, lists.cosine, 0.0) - where(listed, cosine, 0.0)).max()))
    error = min(3.0 * max(seen) + 2.0**-23, rounding)
    left, right = (Nearest(cosine, lists.index, lists.floor) for lists, cosine in zip(near, exact, strict=True))
    density_left = _density(left, len(right.floor), ranks.k, error, again[0])
    density_right = _density(right, len(left.floor), ranks.k, error, again[1])
    return Matches(
        _ranking((left, right), (density_left, density_right), ranks, error, again[0]),
        _ranking((right, left), (density_right, density_left), ranks, error, again[1]),
    )


def _density(near: Nearest, others: int, k: int, error: float, again: Scan) -> Array:
    """Mean of the k largest cosines of each row, (n,) float32."""
    k = min(k, others)
    values = largest_values(near.cosine, k)
    density = doubles(values).mean(axis=1)
    last = namespace(values).amin(values, axis=1)
    (unsure,) = nonzero(last < near.floor + error)
    if len(unsure):
        free = full(others, 0.0, "float64", density)
        value, _ = again(Wanted(unsure, free, 2.0 * last[unsure], k, error))
        density[unsure] = value.mean(axis=1) / 2
    return floats(density)


def _ranking(sides: Lists, densities: tuple[Array, Array], ranks: Ranks, error: float, again: Scan) -> Ranking:
    """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven.

    sides, densities: of these rows, and of the others.
    """
    near, others = sides
    penalty = doubles(densities[1])
    value, index = _largest(2.0 * near.cosine - penalty[near.index], near.index, min(ranks.depth, len(penalty)))
    # pairs that only the other side listed
    reverse = 2.0 * others.cosine - penalty[:, None]
    other, place = nonzero((others.index >= 0) & (reverse >= value[others.index, -1]))
    row = integers(others.index[other, place])
    new = (index[row] != other[:, None]).all(axis=1)
    _merge(value, index, row[new], other[new], reverse[other, place][new])
    bound = _unlisted(near.floor, others.floor, penalty) + 2 * error
    certain = min(ranks.certain or ranks.depth, value.shape[1])
    (unsure,) = nonzero(value[:, certain - 1] <= bound)
    if len(unsure):
        wanted = Wanted(unsure, penalty, value[unsure, -1], value.shape[1], error)
        value[unsure], index[unsure] = again(wanted)
    shape, width = (len(near.floor), ranks.depth), value.shape[1]
    padded, score = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
    padded[:, :width], score[:, :width] = to_numpy(index), to_numpy(value - densities[0][:, None])
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
    xp, depth = namespace(row), value.shape[1]
    touched = xp.unique(row)
    all_row = concat([concat([touched[:, None]] * depth, axis=1).reshape(-1), row])
    all_other = concat([index[touched].reshape(-1), other])
    all_value = concat([value[touched].reshape(-1), new_value])
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


Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of each query the best of 2·cos − density (q,), its row (q,), and the k largest cosines, ascending (q, at most k)."""


def searched(queries: Array, others: Rows, k: int, tile: int = 1024, pieces: int = 8) -> Found:
    """The quick search of `matching.searched`, tile by tile: the oracle of the compiled loops.

    tile: columns of the others at a time, dealt into so many pieces for each 1,024.
    """
    xp = namespace(queries)
    q, n = len(queries), others.shape[0]
    best, index = full(q, -_INF, "float32", queries), full(q, 0, "int64", queries)
    groups = min(k, q)
    size, parts = q // groups, []
    for first, last in tiles(n, tile):
        cosine = product(queries, checked(others.block(first, last), first, "Right"))
        width = last - first
        density = xp.amax(cosine[: groups * size].reshape(groups, size, width), axis=1).mean(axis=0)
        dealt = min(pieces * max(1, width // 1024), width)
        parts.append(xp.amax(cosine[:, : width // dealt * dealt].reshape(q, -1, dealt), axis=1))
        value = 2 * cosine - density
        at, value = value.argmax(axis=1), xp.amax(value, axis=1)
        index = xp.where(value > best, at + first, index)
        best = xp.maximum(value, best)
    largest_k = to_numpy(largest_values(concat(parts, axis=1), k))
    return to_numpy(best), to_numpy(index), np.sort(largest_k, axis=1)
