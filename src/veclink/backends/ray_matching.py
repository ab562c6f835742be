"""CSLS rankings on a Ray cluster: tasks list the nearest over large tiles, and the lists are merged and proven here.

The tiles are those of `cpu` on one machine, many of them to a task, and the lists hold the same cosines; so the same
rows are proven, and the same ones searched again, which is done in tasks too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, sqrt
from typing import Any

import numpy as np

from veclink.backends import ray_tasks as tasks
from veclink.backends.ray_cluster import Call, Cluster
from veclink.backends.ray_tasks import Lists, Span
from veclink.matching.certify import Ranks, Wanted, proven
from veclink.matching.cpu import DEFAULT_MEMORY, rounding_error, tile_in_parts
from veclink.matching.rankings import Matches

PER_WORKER = 4  # tasks of a pass for each worker: one that is late then holds up little
LARGEST_SPAN = 65_536  # rows; a worker holds two spans and the lists of both


@dataclass(frozen=True)
class Stored:
    """The rows of one side in the object store: references to blocks of `size` rows (the last may have fewer)."""

    blocks: list[Any]
    size: int
    shape: tuple[int, int]

    def spans(self, tile: int, parts: int) -> list[Span]:
        """The rows in about so many spans of whole tiles."""
        tiles = ceil(self.shape[0] / tile)
        step = tile * min(ceil(tiles / parts), max(1, LARGEST_SPAN // tile))
        starts = range(0, self.shape[0], step)
        return [Span(start, min(start + step, self.shape[0]), start // self.size * self.size) for start in starts]

    def under(self, span: Span) -> list[Any]:
        """The blocks that hold the rows of a span."""
        return self.blocks[span.stored_from // self.size : ceil(span.stop / self.size)]


@dataclass(frozen=True)
class Pass:
    """All pairs of spans of two sides, each the work of a task."""

    left: Stored
    right: Stored
    tile: tuple[int, int]
    cluster: Cluster

    @classmethod
    def over(cls, left: Stored, right: Stored, cluster: Cluster, memory: int | None = None) -> Pass:
        """A pass over the tiles that `cpu.match` has in `memory` bytes."""
        tile = tile_in_parts(left.shape, right.shape, (memory or DEFAULT_MEMORY) // 2)
        return cls(left, right, tile, cluster)

    @property
    def turned(self) -> Pass:
        """The same with the sides exchanged."""
        return Pass(self.right, self.left, self.tile[::-1], self.cluster)

    def spans(self) -> tuple[list[Span], list[Span]]:
        """The spans of both sides."""
        parts = ceil(sqrt(PER_WORKER * self.cluster.workers))
        return self.left.spans(self.tile[0], parts), self.right.spans(self.tile[1], parts)

    def blocks(self, spans: tuple[Span, Span]) -> tuple[int, list[Any]]:
        """The blocks of a pair of spans, and how many of them are of the first."""
        left = self.left.under(spans[0])
        return len(left), left + self.right.under(spans[1])

    def lists(self, ranks: Ranks) -> tuple[Lists, Lists]:
        """The nearest of each row of either side."""
        n_left, n_right, width = self.left.shape[0], self.right.shape[0], ranks.list_width
        near = Lists.none(n_left, min(width, n_right)), Lists.none(n_right, min(width, n_left))

        def calls() -> Iterator[tuple[tuple[Span, Span], Call]]:
            for pair in product(*self.spans()):
                count, blocks = self.blocks(pair)
                yield pair, (tasks.listed, (self.cluster.device, ranks, self.tile, pair, count, *blocks))

        for pair, found in self.cluster.results(calls(), on_device=True):
            for side in (0, 1):
                near[side].take_in(pair[side].start, found[side])
        return near

    def scan(self, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
        """`certify.scan` for rows of left."""
        chosen, width = wanted.rows, wanted.width
        value, index = np.full((len(chosen), width), -np.inf), np.full((len(chosen), width), -1, np.int64)

        def calls() -> Iterator[tuple[slice, Call]]:
            for pair in product(*self.spans()):
                here = slice(*np.searchsorted(chosen, [pair[0].start, pair[0].stop]).tolist())
                if here.start < here.stop:
                    count, blocks = self.blocks(pair)
                    penalty = wanted.penalty[pair[1].start : pair[1].stop]
                    part = wanted._replace(rows=chosen[here], penalty=penalty, least=wanted.least[here])
                    yield here, (tasks.scanned, (self.cluster.device, self.tile, pair, count, part, *blocks))

        for here, (new_value, new_index) in self.cluster.results(calls(), on_device=True):
            values = np.concatenate([value[here], new_value], axis=1)
            places = np.concatenate([index[here], new_index], axis=1)
            best = np.lexsort((places, -values), axis=1)[:, :width]
            value[here], index[here] = np.take_along_axis(values, best, 1), np.take_along_axis(places, best, 1)
        return value, index


def match(left: Stored, right: Stored, cluster: Cluster, ranks: Ranks, *, memory: int | None = None) -> Matches:
    """What `matching.match` returns for rows of unit length that lie in the object store."""
    whole = Pass.over(left, right, cluster, memory)
    of_left, of_right = whole.lists(ranks)
    near_left, exact_left = of_left.nearest(right.shape[0])
    near_right, exact_right = of_right.nearest(left.shape[0])
    rounding = rounding_error(left.shape[1]) if cluster.device == "cpu" else np.inf
    scans = whole.scan, whole.turned.scan
    return proven((near_left, near_right), (exact_left, exact_right), scans, ranks, rounding)
