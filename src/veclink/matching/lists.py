"""Lists of near neighbours in plain array code, on numpy or torch.

`numba_kernels` and `triton_kernel` make the same lists without writing the cosines to memory; this is what runs in
torch where there is no Triton.
"""

from __future__ import annotations

from dataclasses import dataclass

from veclink.geometry.arrays import (
    Array,
    along_rows,
    concat,
    doubles,
    floats,
    full,
    integers,
    is_numpy,
    namespace,
    nonzero,
)  # fmt: skip
from veclink.geometry.nearest import largest
from veclink.geometry.rows import Rows, checked, tiles
from veclink.threads import multiply

_INF = float("inf")
_GATHER_COST = 12  # bytes per number gathered for exact inner products: in float32 and in float64


@dataclass
class Nearest:
    """The nearest partners found for each of n rows, in no order."""

    cosine: Array  # (n, width) float32, −inf where nothing is listed
    index: Array  # (n, width) int32, −1 where nothing is listed
    floor: Array  # (n,), no other partner has a larger cosine as the tiles computed it

    @classmethod
    def none(cls, n: int, width: int, like: Array) -> Nearest:
        """Empty lists, where `like` is."""
        cosine = full((n, width), -_INF, "float32", like)
        return cls(cosine, full((n, width), -1, "int32", like), full(n, -_INF, "float32", like))

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


def nearest(rows: Rows, columns: Rows, width: int, tile: tuple[int, int]) -> tuple[Nearest, Nearest]:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass."""
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
        listed = others.take(namespace(part).clip(part, 0, None).reshape(-1))
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
