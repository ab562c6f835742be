"""Searching: the best partners of new rows among all rows of the other side, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.confidence.constants import BEST_LISTED
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import largest, largest_values
from veclink.geometry.rows import tiles
from veclink.geometry.signatures import unit_rows
from veclink.matching import numba_kernels as kernels
from veclink.threads import multiply, share
from veclink.uses.new_rows.knowledge import Knowledge
from veclink.uses.new_rows.learning import source_rows

LISTED_BY_COSINE = 64
"""Partners of each new row that are kept by cosine in the one pass over a large collection, and ranked afterwards."""
QUERIES = 1024
OTHERS = 2048
TILES = 4
"""Tiles of OTHERS rows that threads share; a tile cut into four, or one as wide as four, costs 5 to 8 % more."""
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Found:
    """Pairs of a new row and a row of the other side that are worth a score."""

    rows: np.ndarray  # (c,) the new row of each pair
    places: np.ndarray  # (c,) its partner, as a place among the known rows of the other side
    cosine: np.ndarray  # (c, f) under each map
    # (m, f) mean similarity of each new row to its nearest rows of the other side, under each map
    density: np.ndarray


class Signatures:
    """The rows of the other side under the maps of the folds, made once and kept for the next new rows."""

    def __init__(self, knowledge: Knowledge, side: int, other: Cloud) -> None:
        self.other = other
        self._maps = [each[1 - side] for each in knowledge.maps]
        self._made: dict[int, np.ndarray] = {}

    def of(self, fold: int) -> np.ndarray:
        """(n, r), of unit length."""
        if fold not in self._made:
            projection = self._maps[fold]
            blocks = [
                unit_rows(multiply(self.other.block(start, stop), projection))
                for start, stop in tiles(len(self.other), BLOCK)
            ]  # fmt: skip
            self._made[fold] = np.concatenate(blocks)
        return self._made[fold]


def search(knowledge: Knowledge, side: int, new: np.ndarray, others: Signatures) -> Found:
    """The pairs of new rows (m, d) of one side, centred and of unit length, with their best partners."""
    if not len(new):  # all of them may be copies of known rows
        nothing, none = np.empty((0, len(knowledge.maps)), np.float32), np.empty(0, np.int64)
        return Found(none, none, cosine=nothing, density=nothing)
    if knowledge.whole is None:
        return _under_each_map(knowledge, side, new, others)
    return _under_one_map(knowledge, side, new, others.other)


def _under_each_map(knowledge: Knowledge, side: int, new: np.ndarray, others: Signatures) -> Found:
    """All rows of the other side, compared under every map."""
    known = knowledge.sides[1 - side]
    queries = [unit_rows(new @ maps[side]) for maps in knowledge.maps]
    density = np.empty((len(new), len(queries)), np.float32)
    keys = []
    for fold, query in enumerate(queries):
        signature = others.of(fold)
        for start, stop in tiles(len(new), QUERIES):
            cosine = multiply(query[start:stop], signature.T)
            density[start:stop, fold] = largest_values(cosine, knowledge.k).mean(axis=1)
            csls = 2 * cosine - known.density[:, fold]
            best = largest(csls, min(BEST_LISTED, csls.shape[1]))
            keys.append((np.arange(start, stop)[:, None] * len(known) + best).ravel())
    rows, places = np.divmod(np.unique(np.concatenate(keys)), len(known))
    cosines = [
        np.einsum("ij,ij->i", query[rows], others.of(fold)[places])
        for fold, query in enumerate(queries)
    ]  # fmt: skip
    return Found(rows, places, np.stack(cosines, axis=1), density)


def _under_one_map(knowledge: Knowledge, side: int, new: np.ndarray, other: Cloud) -> Found:
    """One pass over the rows of a large side as they are stored; what it lists is scored under the other maps."""
    known = knowledge.sides[1 - side]
    assert knowledge.whole is not None, "large collections have one map to search along"
    listed = [
        _nearest(_pulled_back(knowledge, side, new[start:stop]), known.scales, other)
        for start, stop in tiles(len(new), QUERIES)
    ]  # fmt: skip
    cosine = np.concatenate([each[0] for each in listed])
    place = np.concatenate([each[1] for each in listed])
    near = largest_values(cosine, knowledge.k).mean(axis=1)
    csls = 2 * cosine - known.density[place, 0]
    best = largest(csls, min(2 * BEST_LISTED, csls.shape[1]))
    rows = np.repeat(np.arange(len(new)), best.shape[1])
    places = np.take_along_axis(place, best, axis=1).ravel().astype(np.int64)
    cosines = np.empty((len(rows), len(knowledge.maps)), np.float32)
    for start, stop in tiles(len(rows), BLOCK):
        left, right = new[rows[start:stop]], other.take(places[start:stop])
        for fold, maps in enumerate(knowledge.maps):
            query, signature = unit_rows(left @ maps[side]), unit_rows(right @ maps[1 - side])
            cosines[start:stop, fold] = np.einsum("ij,ij->i", query, signature)
    density = np.repeat(near[:, None], len(knowledge.maps), axis=1)
    return Found(rows, places, cosines, density)


def _pulled_back(knowledge: Knowledge, side: int, new: np.ndarray) -> np.ndarray:
    """Queries (m, d + 1) whose products with scaled stored rows and −1/(c·s) are cosines of signatures.

    With P and Q the two projections, cos = ⟨uP/|uP|, vQ/|vQ|⟩ = ⟨(uP/|uP|)Qᵀ, v⟩/|vQ|, and v = (x/|x| − mean)/c. So no
    row of the large side is projected: what it takes beside the product is one multiplication of each row.
    """
    assert knowledge.whole is not None
    projection, other = knowledge.whole[side], knowledge.whole[1 - side]
    pulled = unit_rows(new @ projection) @ other.T
    of_mean = pulled @ knowledge.sides[1 - side].mean
    return np.column_stack([pulled, of_mean]).astype(np.float32)


def _nearest(queries: np.ndarray, scales: np.ndarray, other: Cloud) -> tuple[np.ndarray, np.ndarray]:
    """The largest cosines of each query, and the places of those rows: (m, LISTED_BY_COSINE) each, in no order."""
    n, width = len(other), min(LISTED_BY_COSINE, len(other))
    scaled = np.empty((TILES * OTHERS, queries.shape[1]), np.float32)
    # A row length that is a multiple of the page would put every row of the tile in the same few cache sets.
    spaces = np.empty((TILES, len(queries), OTHERS + 16), np.float32)
    m, room = len(queries), (len(queries), 2 * width + 16)
    value, place = np.full(room, -np.inf, np.float32), np.zeros(room, np.int32)
    kept = kernels.Kept(width, value, place, np.zeros(m, np.int64), np.full(m, -np.inf, np.float32))
    for start, stop in tiles(n, TILES * OTHERS):
        rows = scaled[: stop - start]
        np.multiply(source_rows(other, start, stop), scales[start:stop, :1], out=rows[:, :-1])
        rows[:, -1] = -scales[start:stop, 1]

        def product(first: int, last: int, rows: np.ndarray = rows) -> None:
            """The products with one tile of the rows, into the space of that tile."""
            np.matmul(queries, rows[first:last].T, out=spaces[first // OTHERS, :, : last - first])

        share(product, len(rows), step=OTHERS)
        for space, (begin, end) in zip(spaces, tiles(len(rows), OTHERS), strict=False):
            share(partial(kernels.keep_by_row, space, end - begin, start + begin, kept), m)
    share(partial(kernels.cut, kept), m)
    return value[:, :width], place[:, :width]
