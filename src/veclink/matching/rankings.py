"""Matching in plain array code, on numpy arrays and torch tensors alike, where they lie.

What matching returns, and the same by brute force: the oracle of every backend's tests. Then the way that every backend
goes, from lists of near neighbours to exact rankings: what the lists prove is read off, the rest is searched again.

Let floor(u) be the cosine that no unlisted partner of u exceeds. Then cos(u, v) ≤ min(floor(u), floor(v)) for an
unlisted pair, as it would otherwise stand in one of the two lists. So no unlisted v is worth more to u than
    max over v of 2·min(floor(u), floor(v)) − density(v),
and a partner from the lists that is worth more than that is proven best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veclink.geometry.arrays import (
    Array,
    Rows,
    along_rows,
    asarray,
    checked,
    doubles,
    floats,
    full,
    integers,
    is_numpy,
    namespace,
    order_of,
    running_max,
    tiles,
    to_numpy,
)  # fmt: skip
from veclink.geometry.nearest import largest, largest_values
from veclink.threads import multiply

_INF = float("inf")


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
    rankings = []
    for near, own, others in ((cosine, of_left, of_right), (cosine.T, of_right, of_left)):
        value = 2 * doubles(near) - others
        index = asarray(np.tile(np.arange(value.shape[1]), (len(value), 1)), value)
        best, index = _largest(value, index, ranks.depth)
        rankings.append(Ranking(to_numpy(index), to_numpy(floats(best - own[:, None])), to_numpy(own)))
    return Matches(*rankings)


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
        xp = namespace(cosine)
        joined = xp.concatenate((self.cosine[here], along_rows(cosine, column)), 1)
        position = xp.concatenate((integers(self.index[here]), column + first), 1)
        chosen = largest(joined, width)
        self.cosine[here] = along_rows(joined, chosen)
        self.index[here] = along_rows(position, chosen)
        # −inf as long as the list is not full
        self.floor[here] = xp.amin(self.cosine[here], axis=1)


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
    step = max(1, memory // (12 * (index.shape[1] + 1) * rows.shape[1]))  # bytes of a number in float32 and float64
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


Scan = Callable[[Wanted], tuple[Array, Array]]
Likely = Callable[[Array, Array, Array, Array], tuple[Array, ...]]
"""Positions in rows (m, d) and others (n, d) of the pairs whose 2·cos − penalty (n,) may reach `least` (m,)."""


def likely_pairs(rows: Array, others: Array, penalty: Array, least: Array) -> tuple[Array, ...]:
    """Those of all pairs, multiplied at once."""
    rough = product(rows, 2 * others)
    rough -= penalty
    return tuple(namespace(rough).where(rough >= least[:, None]))


def scan(
    rows: Rows, others: Rows, tile: tuple[int, int], memory: int, wanted: Wanted, likely: Likely = likely_pairs
) -> tuple[Array, Array]:
    """The best values 2·cos − penalty of the wanted rows among all others, and where.

    The cosines of pairs that are likely, by products that are off by at most `wanted.error`, are computed again.

    Returns
    -------
    value, index : array of shape (m, width), float64 and int64
        Best first; −inf and −1 where fewer reach `wanted.least`.
    """
    shape, dimension = (len(wanted.rows), wanted.width), rows.shape[1]
    value, index = full(shape, -_INF, "float64", wanted.penalty), full(shape, -1, "int64", wanted.penalty)
    least, penalty = floats(wanted.least - 2 * wanted.error - 1e-6), floats(wanted.penalty)
    for top, bottom in tiles(len(least), tile[0]):
        own = rows.take(wanted.rows[top:bottom])
        # more columns where the rows are few, since a device waits for every tile; they are held twice in float32
        columns = max(tile[1], min(tile[0] * tile[1] // len(own), memory // (8 * dimension)))
        for first, last in tiles(others.shape[0], columns):
            block = others.block(first, last)
            row, column = likely(own, block, penalty[first:last], least[top:bottom])
            for start, stop in tiles(len(row), max(1, memory // (24 * dimension))):  # bytes of two rows, in float64 too
                i, j = row[start:stop], column[start:stop]
                cosine = floats((doubles(own[i]) * doubles(block[j])).sum(axis=1))
                _merge(value, index, top + i, first + j, 2.0 * cosine - wanted.penalty[first + j])
    return value, index


def exactly(near: Lists, exact: tuple[Array, Array], rounding: float = _INF) -> tuple[Lists, float]:
    """The lists with exact cosines, and how far a cosine of a tile can be off. rounding: at most, if that is known.

    The bound that always holds is far above what is ever seen; three times the largest error among the listed pairs,
    which have the largest sums, is still beyond any other pair's.
    """
    seen = []
    for lists, cosine in zip(near, exact, strict=True):
        where, listed = namespace(cosine).where, lists.index >= 0
        seen.append(float(abs(where(listed, lists.cosine, 0.0) - where(listed, cosine, 0.0)).max()))
        lists.cosine = cosine
    return near, min(3.0 * max(seen) + 2.0**-23, rounding)


def proven(near: Lists, error: float, again: tuple[Scan, Scan], ranks: Ranks) -> Matches:
    """Exact rankings from the lists of both sides with exact cosines, and a `scan` for each side."""
    left, right = near
    densities = []  # mean of the k largest cosines of each row, (n,) float32
    for mine, others, search in ((left, len(right.floor), again[0]), (right, len(left.floor), again[1])):
        k = min(ranks.k, others)
        values = largest_values(mine.cosine, k)
        density = doubles(values).mean(axis=1)
        xp = namespace(values)
        last = xp.amin(values, axis=1)
        (unsure,) = xp.where(last < mine.floor + error)
        if len(unsure):
            free = full(others, 0.0, "float64", density)
            value, _ = search(Wanted(unsure, free, 2.0 * last[unsure], k, error))
            density[unsure] = value.mean(axis=1) / 2
        densities.append(floats(density))
    of_left, of_right = densities
    return Matches(
        _ranking((left, right), (of_left, of_right), ranks, error, again[0]),
        _ranking((right, left), (of_right, of_left), ranks, error, again[1]),
    )


def _ranking(sides: Lists, densities: tuple[Array, Array], ranks: Ranks, error: float, again: Scan) -> Ranking:
    """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven.

    sides, densities: of these rows, and of the others.
    """
    near, others = sides
    xp, penalty = namespace(near.index), doubles(densities[1])
    value, index = _largest(2.0 * near.cosine - penalty[near.index], near.index, min(ranks.depth, len(penalty)))
    # pairs that only the other side listed
    reverse = 2.0 * others.cosine - penalty[:, None]
    other, place = xp.where((others.index >= 0) & (reverse >= value[others.index, -1]))
    row = integers(others.index[other, place])
    new = (index[row] != other[:, None]).all(axis=1)
    _merge(value, index, row[new], other[new], reverse[other, place][new])
    # max over others v of 2·min(floor(u), floor(v)) − penalty(v), for every row u: by a running maximum from either end
    floor, floor_others = doubles(near.floor), doubles(others.floor)
    order = xp.argsort(floor_others)
    sorted_floor, sorted_penalty = floor_others[order], penalty[order]
    end = full(1, -_INF, "float64", floor)
    lower = xp.concatenate((end, running_max(2 * sorted_floor - sorted_penalty)))
    # the least penalty among those whose floor is at least as high
    least_penalty = -xp.flip(xp.concatenate((end, running_max(-xp.flip(sorted_penalty, (0,))))), (0,))
    position = xp.searchsorted(sorted_floor, floor)
    bound = xp.maximum(lower[position], 2.0 * floor - least_penalty[position]) + 2 * error
    certain = min(ranks.certain or ranks.depth, value.shape[1])
    (unsure,) = xp.where(value[:, certain - 1] <= bound)
    if len(unsure):
        wanted = Wanted(unsure, penalty, value[unsure, -1], value.shape[1], error)
        value[unsure], index[unsure] = again(wanted)
    fewer = len(value), ranks.depth - value.shape[1]
    value = xp.concatenate((value, full(fewer, -_INF, "float64", value)), 1)
    index = xp.concatenate((index, full(fewer, -1, "int64", index)), 1)
    score = floats(value - densities[0][:, None])
    return Ranking(to_numpy(index), to_numpy(score), to_numpy(densities[0]))


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
    all_row = xp.concatenate((xp.concatenate((touched[:, None],) * depth, 1).reshape(-1), row))
    all_other = xp.concatenate((index[touched].reshape(-1), other))
    all_value = xp.concatenate((value[touched].reshape(-1), new_value))
    order = order_of(all_other)
    order = order[order_of(all_value[order], descending=True)]
    order = order[order_of(all_row[order])]
    start = xp.searchsorted(all_row[order], touched)
    kept = order[start[:, None] + asarray(np.arange(depth), row)]
    value[touched], index[touched] = all_value[kept], all_other[kept]


Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of each query the best of 2·cos − density (q,), its row (q,), and the k largest cosines, ascending (q, at most k)."""


Swept = tuple[Array, Array, Array]
"""Of a tile: each query's best 2·cos − density (q,), its column (q,), and the largest cosines of pieces (q, p)."""


def searched(
    queries: Array, others: Rows, k: int, tile: int = 1024, sweep: Callable[[Array, Array, int], Swept] | None = None
) -> Found:
    """The quick search of `matching.searched`, tile by tile.

    tile: columns of the others at a time. sweep: how a tile is searched, as `swept` does it.
    """
    xp, q = namespace(queries), len(queries)
    best, index = full(q, -_INF, "float32", queries), full(q, 0, "int64", queries)
    parts: list[Array] = []
    for first, last in tiles(others.shape[0], tile):
        block = checked(others.block(first, last), first, "Right")
        value, at, pieces = (sweep or swept)(queries, block, min(k, q))
        index = xp.where(value > best, at + first, index)
        best = xp.maximum(value, best)
        parts.append(pieces)
        if len(parts) == 64:  # all but the largest are let go
            parts = [largest_values(xp.concatenate(parts, 1), k)]
    largest_k = to_numpy(largest_values(xp.concatenate(parts, 1), k))
    return to_numpy(best), to_numpy(index), np.sort(largest_k, axis=1)


def swept(queries: Array, block: Array, groups: int) -> Swept:
    """A tile in plain array code; the density of a column is taken over so many groups of consecutive queries."""
    xp, q, width = namespace(queries), len(queries), len(block)
    cosine = product(queries, block)
    size, dealt = q // groups, min(8 * max(1, width // 1024), width)
    density = xp.amax(cosine[: groups * size].reshape(groups, size, width), axis=1).mean(axis=0)
    pieces = xp.amax(cosine[:, : width // dealt * dealt].reshape(q, -1, dealt), axis=1)
    value = 2 * cosine - density
    return xp.amax(value, axis=1), value.argmax(axis=1), pieces
