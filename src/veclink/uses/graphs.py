"""Graphs of near neighbours: each cloud's own, two joined at their links, and their clusters by Leiden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.errors import needed
from veclink.files.memory import parse_memory
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import components
from veclink.geometry.rows import ArrayRows
from veclink.matching import cpu

DEFAULT_MEMORY = 512_000_000
WHOLE = 0.95  # of the nodes, that the largest component should hold
MOST_NEIGHBOURS = 64
LOWEST, HIGHEST = 1e-4, 1e4  # resolutions between which a number of clusters is looked for
HALVINGS = 24


@dataclass(frozen=True, eq=False)
class Edges:
    """Neighbours of n points: edge (source, target, weight) for each listed neighbour, both ways not yet joined."""

    n: int
    k: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    largest: float


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph in compressed rows: the neighbours of i are indices[indptr[i]:indptr[i + 1]]."""

    indptr: np.ndarray
    indices: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.indptr) - 1


def neighbour_edges(
    cloud: Cloud, k: int | None, *, start: int = 10, device: str = "cpu", memory: int | str | None = None
) -> Edges:
    """Edges from each row to its k nearest by cosine, weighted by it; None: k grows until the graph hangs together.

    It does once the largest component holds 95 % of the nodes; k begins at `start` and never exceeds 64.
    """
    n = len(cloud)
    most = min(MOST_NEIGHBOURS, n - 1)
    width = min(k or start, n - 1)
    while True:
        near, cosine = nearest_rows(cloud, width, device=device, memory=memory)
        source = np.repeat(np.arange(n), width)
        edges = Edges(n, width, source, near.ravel(), np.maximum(cosine.ravel(), 1e-3), 0.0)
        share = float(np.bincount(components(n, edges.source, edges.target)).max() / n)
        if k is not None or share >= WHOLE or width >= most:
            return Edges(n, width, edges.source, edges.target, edges.weight, share)
        width = min(most, width + max(1, width // 2))


def nearest_rows(
    cloud: Cloud, k: int, *, device: str = "cpu", memory: int | str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of each row by cosine, nearest first: positions (n, k) and cosines (n, k)."""
    budget = DEFAULT_MEMORY if memory is None else parse_memory(memory)
    width = min(k + 1, len(cloud))  # a row is its own nearest
    if device == "cpu":
        rows = ArrayRows(cloud, budget // 2)
        near, _ = cpu.nearest(rows, rows, width, cpu.tile_in_parts(rows.shape, rows.shape, budget // 4))
        index, cosine = near.index, near.cosine
    else:
        needed("torch", f"Neighbours on {device!r}", "veclink[torch]")
        from veclink.matching import rankings
        from veclink.matching.torch_backend import DeviceRows, torch_device

        place = torch_device(device)
        there = DeviceRows(cloud, place, budget if place.type == "cpu" else 8 * budget)
        tile = cpu.tile_shape(there.shape, there.shape, budget, 8192, 8192)
        found, _ = rankings.nearest(there, there, width, tile)
        index, cosine = found.index.cpu().numpy(), found.cosine.float().cpu().numpy()
    own = index == np.arange(len(index))[:, None]
    # a row among many equal ones may not be in its own list: then its last entry goes instead
    cosine = np.where(own, -np.inf, cosine)
    order = np.lexsort((index, -cosine), axis=1)[:, :k]
    return np.take_along_axis(index, order, 1).astype(np.int64), np.take_along_axis(cosine, order, 1)


def agreement(a: Edges, b: Edges, pairs: np.ndarray) -> tuple[float, int]:
    """How many of A's edges between linked rows are edges of B too (a share), and how many such edges A has."""
    row_b = np.full(a.n, -1, np.int64)
    row_b[pairs[:, 0]] = pairs[:, 1]
    source, target = row_b[a.source], row_b[a.target]
    both = (source >= 0) & (target >= 0)
    found = np.isin(source[both] * b.n + target[both], b.source * b.n + b.target)
    return float(found.mean()) if len(found) else 0.0, len(found)


def joined(a: Edges, b: Edges, pairs: np.ndarray) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Both graphs as one in which each linked pair is one node with the edges of both; and the node of each row."""
    node_a = np.arange(a.n)
    node_b = np.full(b.n, -1, np.int64)
    node_b[pairs[:, 1]] = pairs[:, 0]
    free = node_b < 0
    node_b[free] = a.n + np.arange(int(free.sum()))
    source = np.concatenate([node_a[a.source], node_b[b.source]])
    target = np.concatenate([node_a[a.target], node_b[b.target]])
    weight = np.concatenate([a.weight, b.weight])
    return graph_of(a.n + int(free.sum()), source, target, weight), node_a, node_b


def graph_of(n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> Graph:
    """An undirected graph of edges that may be there several times: the weights of equal ones add up."""
    apart = source != target
    low, high = np.minimum(source, target)[apart], np.maximum(source, target)[apart]
    key, weight = low * n + high, weight[apart]
    order = np.argsort(key, kind="stable")
    key, first = np.unique(key[order], return_index=True)
    total = np.add.reduceat(weight[order].astype(np.float64), first) if len(key) else np.empty(0)
    low, high = key // n, key % n
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((columns, rows))
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return Graph(indptr, columns[order].astype(np.int32), np.concatenate([total, total])[order])


def leiden(graph: Graph, resolution: float, random_state: int = 0) -> np.ndarray:
    """A cluster for each node by modularity at this resolution, 0 for the largest."""
    native: Any = needed("graspologic_native", "Clustering", "veclink[cluster]")
    _, found = native.leiden_csr(
        graph.indptr, graph.indices, graph.weight, len(graph), resolution=resolution, seed=random_state
    )
    label = np.fromiter((found[node] for node in range(len(graph))), np.int64, len(graph))
    # numbered from the largest; equal ones by their first member
    _, first, inverse, counts = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[inverse]


def leiden_into(graph: Graph, clusters: int, random_state: int = 0) -> tuple[np.ndarray, float]:
    """The clusters whose number comes nearest to `clusters`, and the resolution that gave them, by bisection."""
    low, high = LOWEST, HIGHEST
    best: tuple[int, np.ndarray, float] | None = None
    for _ in range(HALVINGS):
        resolution = float(np.sqrt(low * high))
        label = leiden(graph, resolution, random_state)
        count = int(label.max()) + 1
        if best is None or abs(count - clusters) < best[0]:
            best = abs(count - clusters), label, resolution
        if count == clusters:
            break
        low, high = (resolution, high) if count < clusters else (low, resolution)
    assert best is not None
    return best[1], best[2]
