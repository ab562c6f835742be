"""CSLS neighbours by a search in cells (faiss IVF), for sizes where the exact pass takes too long.

    argmax over v of csls(u, v)  =  argmax over v of ⟨[u, 1], [v, −density(v)/2]⟩

so that one more dimension turns CSLS into a search for the largest inner product, which an index over cells answers
from the cells nearest to u. Two searches of the plain rows give the densities, two of the longer rows the partners. How
many cells are looked into is chosen on a sample of rows whose nearest are known, and in the end an exact search for a
sample of rows says how often the partner found is the one that the exact pass gives.

On one core it is slower than the exact pass up to 40,000 rows at least (benchmarks/results/approximate.json).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from veclink.errors import InputError, needed
from veclink.geometry.rows import Rows, RowSource, checked
from veclink.matching.rankings import Matches, Ranking
from veclink.matching.threads import thread_count

WANTED = 0.98  # share of the nearest rows that the search has to find on the sample
SAMPLED = 256  # rows of either side that are searched exactly as well
CELLS_PER_ROOT, LEAST_CELLS = 4, 4  # cells: so many times the root of the rows
TRAINED, STEPS = 32, 5  # rows for each cell, and steps, of the k-means that makes the cells
FEWEST_LOOKED_INTO = 4  # cells
BLOCK = 1 << 14  # rows that are added, or searched for, at a time
FIRST, MOST = 2, 64  # candidates of a sampled row whose true densities are looked up: at first, and at most


@dataclass(frozen=True, eq=False)
class Approximation:
    """Matches, and the share of sampled rows (`sampled` in all) whose best partner is the one of an exact search."""

    matches: Matches
    recall: float
    sampled: int
    cells: tuple[int, int]
    looked_into: tuple[int, int]


def match_approximately(
    left: RowSource, right: RowSource, *, k: int = 10, depth: int = 1, random_state: int = 0
) -> Approximation:
    """As `matching.match`, but found by looking into some of the cells only. Holds one side at a time in an index."""
    faiss = needed("faiss", "An approximate pass", "veclink[faiss]")
    if left.shape[1] != right.shape[1]:
        raise InputError(f"Left rows have {left.shape[1]} dimensions and right rows {right.shape[1]}; make them equal.")
    faiss.omp_set_num_threads(thread_count())
    rng = np.random.default_rng(random_state)
    rows, others = Rows(left, 0, whole=False), Rows(right, 0, whole=False)
    for name, side in (("Left", rows), ("Right", others)):
        for start, stop in side.tiles(BLOCK):
            checked(side.block(start, stop), start, name)
    chosen = tuple(np.sort(rng.choice(len(side), min(SAMPLED, len(side)), replace=False)) for side in (rows, others))
    ahead = _Cells(faiss, others, rng)
    density_left, probes_right = ahead.densities(rows, chosen[0], k)
    back = _Cells(faiss, rows, rng)
    density_right, probes_left = back.densities(others, chosen[1], k)
    forward = ahead.partners(rows, density_left, density_right, depth, probes_right)
    backward = back.partners(others, density_right, density_left, depth, probes_left)
    found = [
        _agreement(rows, others, chosen[0], forward, density_right, k),
        _agreement(others, rows, chosen[1], backward, density_left, k),
    ]
    sampled = len(chosen[0]) + len(chosen[1])
    return Approximation(
        Matches(forward, backward),
        (found[0] + found[1]) / sampled,
        sampled,
        (back.count, ahead.count),
        (probes_left, probes_right),
    )


class _Cells:
    """The rows of one side in cells around k-means centres."""

    def __init__(self, faiss: ModuleType, rows: Rows, rng: np.random.Generator) -> None:
        self.faiss, self.rows = faiss, rows
        n, dimension = rows.shape
        self.count = int(np.clip(CELLS_PER_ROOT * np.sqrt(n), LEAST_CELLS, max(LEAST_CELLS, n // 8)))
        self.count = min(self.count, n)
        drawn = np.sort(rng.choice(n, min(n, TRAINED * self.count), replace=False))
        means = faiss.Kmeans(dimension, self.count, niter=STEPS, spherical=True, seed=1, min_points_per_centroid=1)
        means.train(rows.take(drawn))
        self.centres = np.asarray(means.centroids)

    def densities(self, queries: Rows, sample: np.ndarray, k: int) -> tuple[np.ndarray, int]:
        """Mean cosine of each query to its k nearest rows, and into how many cells was looked for them."""
        index = self._index(self.centres, None)
        k = min(k, len(self.rows))
        nearest = np.sort(_exact(queries.take(sample), self.rows, k), axis=1)
        asked, probes = queries.take(sample), FEWEST_LOOKED_INTO
        while True:
            index.nprobe = probes = min(probes, self.count)
            # A row counts as found if the k-th best is at least as near as the true k-th best is, and so on up.
            seen = np.sort(index.search(asked, k)[0], axis=1)
            if (seen >= nearest - 1e-5).mean() >= WANTED or probes == self.count:
                break
            probes = int(probes * 1.5) + 1
        density = np.empty(len(queries), np.float32)
        for start, stop in queries.tiles(BLOCK):
            cosine, place = index.search(queries.block(start, stop), k)
            density[start:stop] = np.where(place >= 0, cosine, -1.0).mean(axis=1)
        return density, probes

    def partners(self, queries: Rows, own: np.ndarray, penalty: np.ndarray, depth: int, probes: int) -> Ranking:
        """The rows with the largest csls for each query, of those in the cells that promise most."""
        index = self._index(self._longer_centres(penalty), penalty)
        index.nprobe = probes
        ranks = np.full((len(queries), depth), -1, np.int64)
        score = np.full((len(queries), depth), -np.inf, np.float32)
        width = min(depth, len(self.rows))
        for start, stop in queries.tiles(BLOCK):
            value, place = index.search(_longer(queries.block(start, stop), np.ones(stop - start)), width)
            there = place >= 0
            ranks[start:stop, :width] = place
            score[start:stop, :width] = np.where(there, 2 * np.where(there, value, 0) - own[start:stop, None], -np.inf)
        return Ranking(ranks, score, own)

    def _longer_centres(self, penalty: np.ndarray) -> np.ndarray:
        """The mean of the longer rows in each cell: its product with a query is the mean csls there, halved."""
        flat = self.faiss.IndexFlatIP(self.centres.shape[1])
        flat.add(self.centres)
        sums, counts = np.zeros((self.count, self.centres.shape[1] + 1), np.float64), np.zeros(self.count)
        for start, stop in self.rows.tiles(BLOCK):
            block = self.rows.block(start, stop)
            cell = flat.search(block, 1)[1][:, 0]
            np.add.at(sums, cell, _longer(block, -penalty[start:stop] / 2))
            counts += np.bincount(cell, minlength=self.count)
        means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        empty = counts == 0
        means[empty] = _longer(self.centres[empty], np.full(int(empty.sum()), -0.5))
        return means

    def _index(self, centres: np.ndarray, penalty: np.ndarray | None) -> Any:
        faiss, dimension = self.faiss, centres.shape[1]
        coarse = faiss.IndexFlatIP(dimension)
        coarse.add(centres)
        index = faiss.IndexIVFFlat(coarse, dimension, len(centres), faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
        for start, stop in self.rows.tiles(BLOCK):
            block = self.rows.block(start, stop)
            index.add(block if penalty is None else _longer(block, -penalty[start:stop] / 2))
        return index


def _agreement(rows: Rows, others: Rows, sample: np.ndarray, found: Ranking, penalty: np.ndarray, k: int) -> float:
    """How many of the sampled rows have the best partner that an exact search gives them.

    A density from a search in cells is never above the true one, so that csls from those densities is a bound from
    above: candidates are taken by it, and their true densities looked up, until none that is left can be better.
    """
    asked = rows.take(sample)
    width = min(MOST, len(others))
    bound, index = _best_bounds(asked, others, penalty, width)
    ours = found.index[sample, 0]
    index = np.concatenate([index, np.maximum(ours, 0)[:, None]], axis=1)  # the partner found is looked at in any case
    known: dict[int, float] = {}
    best, best_row = np.full(len(sample), -np.inf), np.full(len(sample), -1, np.int64)
    open_, first, last = np.arange(len(sample)), 0, FIRST
    while len(open_) and first < width:
        last = min(last, width)
        columns = np.r_[first:last, width] if first == 0 else np.r_[first:last]
        wanted = np.unique(index[open_][:, columns])
        new = np.array([row for row in wanted.tolist() if row not in known], np.int64)
        if len(new):
            near = _exact(others.take(new), rows, min(k, len(rows)))
            known.update(zip(new.tolist(), near.mean(axis=1).tolist(), strict=True))
        for place in open_:
            candidates = index[place, columns]
            cosine = others.take(candidates) @ asked[place]
            value = 2 * cosine - np.array([known[row] for row in candidates.tolist()])
            top = int(np.argmax(value))
            if value[top] > best[place] + 1e-6 or (value[top] >= best[place] - 1e-6 and candidates[top] == ours[place]):
                best[place], best_row[place] = value[top], candidates[top]
        open_ = open_[best[open_] < bound[open_, last]] if last < width else open_[:0]
        first, last = last, 2 * last
    return float((best_row == ours).sum())


def _best_bounds(asked: np.ndarray, others: Rows, penalty: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The `width` largest 2·cos − penalty of each row asked, descending, and where."""
    value = np.empty((len(asked), 0), np.float32)
    index = np.empty((len(asked), 0), np.int64)
    for start, stop in others.tiles(BLOCK):
        here = np.broadcast_to(np.arange(start, stop), (len(asked), stop - start))
        value = np.concatenate([value, 2 * (asked @ others.block(start, stop).T) - penalty[start:stop]], axis=1)
        index = np.concatenate([index, here], axis=1)
        if value.shape[1] > width:
            best = np.argpartition(-value, width - 1, axis=1)[:, :width]
            value, index = np.take_along_axis(value, best, axis=1), np.take_along_axis(index, best, axis=1)
    order = np.argsort(-value, axis=1, kind="stable")
    return np.take_along_axis(value, order, axis=1), np.take_along_axis(index, order, axis=1)


def _exact(asked: np.ndarray, others: Rows, k: int) -> np.ndarray:
    """The k largest cosines of each row asked, in no order."""
    largest = np.empty((len(asked), 0), np.float32)
    for start, stop in others.tiles(BLOCK):
        largest = np.concatenate([largest, asked @ others.block(start, stop).T], axis=1)
        beyond = max(0, largest.shape[1] - k)
        largest = np.partition(largest, beyond, axis=1)[:, beyond:]
    return largest


def _longer(rows: np.ndarray, last: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, last]).astype(np.float32)
