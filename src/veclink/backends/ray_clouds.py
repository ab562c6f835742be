"""CloudPair on a Ray cluster: each cloud lies in the object store, and what is asked of all its rows runs in tasks.

Every product has the rows that it has on one machine, so the numbers are the same there (other kinds of processor may
round the last bit differently, and GPUs do).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from veclink.backends import ray_matching as ray_backend
from veclink.backends import ray_tasks as tasks
from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.backends.ray_cluster import Call, Cluster
from veclink.backends.ray_matching import Pass, Stored
from veclink.backends.ray_tasks import Span
from veclink.geometry.rows import PROJECTED_AT_ONCE, Rows, Unfinished, tiles
from veclink.geometry.signatures import RIDGE
from veclink.matching import Matches
from veclink.matching.certify import Ranks
from veclink.matching.search import TILE, merged

STORED = 16 * PROJECTED_AT_ONCE  # rows in one block of the store
assert STORED % TILE == 0, "a block has to have whole tiles of a search"


class RayCloudPair(CloudPair):
    """Two clouds of unit rows in the object store of a cluster; single rows are read here, where they come from."""

    def __init__(
        self,
        a: np.ndarray | Rows,
        b: np.ndarray | Rows,
        cluster: Cluster,
        *,
        ridge: float = RIDGE,
        k: int = 10,
        memory: int | None = None,
    ) -> None:
        super().__init__(a, b, ridge=ridge, k=k, memory=memory)
        self.cluster = cluster
        self.stored = {"a": self._put(self.a), "b": self._put(self.b)}

    def _put(self, cloud: Rows) -> Stored:
        n, dimension = cloud.shape
        blocks = [self.cluster.put(cloud.block(start, stop)) for start, stop in tiles(n, STORED)]
        return Stored(blocks, STORED, (n, dimension))

    def projected(self, side: str, projection: np.ndarray) -> Stored:
        """All rows of one cloud under a projection (d, m), of unit length, in the store."""
        cloud, given = self.stored[side], (self.cluster.device, self.cluster.put(projection))
        blocks = [self.cluster.submit(tasks.projected, *given, block, on_device=True) for block in cloud.blocks]
        return Stored(blocks, cloud.size, (cloud.shape[0], projection.shape[1]))

    def matches(self, projections: Projections, depth: int = 1, unfinished: Unfinished | None = None) -> Matches:
        """All rows of both clouds matched under the projections; a cluster repeats what it loses and keeps nothing."""
        left, right = self.projected("a", projections[0]), self.projected("b", projections[1])
        ranks = Ranks(self.k, depth, 1 if self.large else None)
        return ray_backend.match(left, right, self.cluster, ranks, memory=self.memory)

    def _best_partners(
        self, of: int, among: int, projections: Projections, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        queries = self.cluster.put(self.signature("ab"[of], projections[of], rows))
        along, others = self.cluster.put(projections[among]), self.stored["ab"[among]]

        def calls() -> Iterator[tuple[int, Call]]:
            for place, block in enumerate(others.blocks):
                given = (self.cluster.device, self.k, place * others.size, queries, along, block)
                yield place, (tasks.searched, given)

        parts = dict(self.cluster.results(calls(), on_device=True))
        best, index, largest = merged((parts[place] for place in sorted(parts)), self.k)
        return index, best - largest.mean(axis=1)

    def cosines(self, projections: Projections, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """The cosine of each pair of rows under the projections, (c,) float32."""
        out = np.empty(len(rows_a), np.float32)
        whole = Pass.over(self.projected("a", projections[0]), self.projected("b", projections[1]), self.cluster)
        spans_a, spans_b = whole.spans()
        cell = _span_of(rows_a, spans_a) * len(spans_b) + _span_of(rows_b, spans_b)
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(len(spans_a) * len(spans_b) + 1))

        def calls() -> Iterator[tuple[np.ndarray, Call]]:
            for place, pair in enumerate(product(spans_a, spans_b)):
                here = order[ends[place] : ends[place + 1]]
                if len(here):
                    count, blocks = whole.blocks(pair)
                    yield here, (tasks.cosines, (pair, count, rows_a[here], rows_b[here], *blocks))

        for here, found in self.cluster.results(calls()):
            out[here] = found
        return out


def _span_of(rows: np.ndarray, spans: list[Span]) -> np.ndarray:
    return np.searchsorted([span.start for span in spans], rows, side="right") - 1
