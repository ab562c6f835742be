"""cluster(): clusters that span two collections of different models.

Each has a graph of near neighbours; the two are joined at their links, and Leiden finds the clusters of the whole.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veclink.backends import chosen_device
from veclink.data.pairs import one_to_one
from veclink.data.words import FIRST, Tabled, card
from veclink.errors import InputError, WrongLinksWarning, needed, plural
from veclink.files.memory import parse_memory
from veclink.files.tables import write_table
from veclink.geometry.arrays import ArrayRows, to_numpy
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.nearest import components
from veclink.matching import cpu
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection
from veclink.threads import computing
from veclink.uses.linked_pairs import GivenLinks, pairs_of, places_of
from veclink.uses.merged_rows import names
from veclink.uses.translating import Source

BLOCK = 8192  # rows at a time


@dataclass(frozen=True)
class ClusterOptions:
    """How clusters are looked for; `cluster` takes each of these as a keyword.

    Attributes
    ----------
    clusters : int, optional
        How many to look for; Leiden's resolution is then found by bisection.
    resolution : float, optional
        Or the resolution itself, 1 unless given.
    neighbours : int, optional
        Near neighbours of each row in the graph; unless given, 10, or as many more as it takes until the largest
        component holds 95 % of the graph.
    skip_zero : bool
        Leave out zero vectors instead of refusing them.
    device, memory, threads, random_state
        As for `link`.
    """

    clusters: int | None = None
    resolution: float | None = None
    neighbours: int | None = None
    skip_zero: bool = False
    device: str = "auto"
    memory: int | str | None = None
    threads: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.clusters is not None and self.resolution is not None:
            raise InputError("Both a number of clusters and a resolution were given; one follows from the other.")
        for what in ("clusters", "neighbours"):
            if (count := getattr(self, what)) is not None and count < 1:
                raise InputError(f"{count} {what} were asked for; ask for at least 1.")
        if self.resolution is not None and not 0 < self.resolution < np.inf:
            raise InputError(f"The resolution is {self.resolution}; it is a number above 0.")


@dataclass(frozen=True)
class ClusterSummary:
    """Counts, the resolution that was used, the neighbours per point, and how much of the graph hangs together.

    warning: a sentence where linked rows have no more neighbours in common than by chance, that is, links are wrong.
    """

    clusters: int
    resolution: float
    nodes: int
    linked: int
    neighbours_a: int
    neighbours_b: int
    largest_component_a: float
    largest_component_b: float
    warning: str | None = None


@dataclass(frozen=True, eq=False)
class Clusters(Tabled):
    """One cluster for every row of both collections, 0 being the largest; −1 for a skipped vector without direction.

    Attributes
    ----------
    labels_a, labels_b : ndarray of shape (n_a,) and (n_b,)
        The clusters.
    central_a, central_b : ndarray of shape (n_a,) and (n_b,)
        How near a row is to the mean of its cluster's rows in its own collection (cosine).
    names_a, names_b : ndarray of shape (n_a,) and (n_b,)
        Ids, or row numbers.
    summary : ClusterSummary
        Counts, and how they came about.
    """

    labels_a: np.ndarray
    labels_b: np.ndarray
    central_a: np.ndarray
    central_b: np.ndarray
    names_a: np.ndarray
    names_b: np.ndarray
    summary: ClusterSummary

    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """How many rows of A, and of B, are in each cluster."""
        count_a, count_b = (
            np.bincount(labels[labels >= 0], minlength=self.summary.clusters)
            for labels in (self.labels_a, self.labels_b)
        )
        return count_a, count_b

    def examples(self, cluster: int, count: int = 3) -> tuple[list[Any], list[Any]]:
        """The ids (or rows) of the most central members of a cluster in A and in B."""
        if not 0 <= cluster < self.summary.clusters:
            raise InputError(f"There is no cluster {cluster}; there are {self.summary.clusters:,}, counted from 0.")

        def shown(labels: np.ndarray, central: np.ndarray, ids: np.ndarray) -> list[Any]:
            members = np.flatnonzero(labels == cluster)
            return ids[members[np.argsort(-central[members], kind="stable")[:count]]].tolist()

        of_a = shown(self.labels_a, self.central_a, self.names_a)
        return of_a, shown(self.labels_b, self.central_b, self.names_b)

    def columns(self) -> dict[str, Any]:
        """A row for each vector: side, id (or row number), cluster, central."""
        ids = [self.names_a, self.names_b]
        if any(each.dtype == object for each in ids):
            ids = [each.astype(str).astype(object) for each in ids]
        return {
            "side": ["a"] * len(self.names_a) + ["b"] * len(self.names_b),
            "id": np.concatenate(ids),
            "cluster": np.concatenate([self.labels_a, self.labels_b]),
            "central": np.concatenate([self.central_a, self.central_b]),
        }

    def save(self, path: str | Path) -> None:
        """Write the columns side, id, cluster and central: .csv or .parquet, whole or not at all."""
        write_table(path, self.columns(), {"central": "{:.4f}".format})

    def __repr__(self) -> str:
        return f"Clusters({self._headline()})"

    def _headline(self) -> str:
        rows = len(self.labels_a) + len(self.labels_b)
        return f"{plural(self.summary.clusters, 'cluster')} of {rows:,} rows, {self.summary.linked:,} of them linked"

    def _repr_html_(self) -> str:
        warning, rows = self.summary.warning, []
        for each in self.describe(most=FIRST)["largest"]:
            central = (", ".join(map(str, some)) for some in each["examples"].values())
            rows.append((each["cluster"], *each["sizes"].values(), *central))
        head = ("cluster", "rows of A", "rows of B", "most central in A", "most central in B")
        return card(self._headline(), [] if warning is None else [("Warning", warning)], head, rows)

    def describe(self, examples: int = 3, most: int = 20) -> dict[str, Any]:
        """The summary with the largest clusters, their sizes and examples, ready for JSON."""
        count_a, count_b = self.sizes()
        shown = []
        for cluster in range(min(most, self.summary.clusters)):
            of_a, of_b = self.examples(cluster, examples)
            sizes = {"a": int(count_a[cluster]), "b": int(count_b[cluster])}
            shown.append({"cluster": cluster, "sizes": sizes, "examples": {"a": of_a, "b": of_b}})
        return {**asdict(self.summary), "largest": shown}


@shows_progress
def cluster(
    a: Source, b: Source, links: GivenLinks, *, progress: ProgressListener | bool | None = None, **options: Any
) -> Clusters:
    """Cluster two collections together: in a graph of near neighbours, each linked pair is one node.

    Warns if linked rows share no more neighbours than by chance (`summary.warning`).

    Parameters
    ----------
    a, b : array of shape (n, d), frame, Collection, path or URL
        The two collections.
    links : Links, pairs of shape (m, 2), or path
        Pairs name rows or ids.
    progress : callable or True, optional
        Called with the progress. True shows it.
    **options
        The fields of `ClusterOptions`.
    """
    how = ClusterOptions(**options)
    needed("graspologic_native", "Clustering", "veclink[cluster]")
    progress = heard(progress)
    left, right = (open_collection(side, payload=False, memory=how.memory, progress=progress) for side in (a, b))
    pairs, probability = pairs_of(links, left, right)
    pairs = pairs[one_to_one(pairs, probability)]
    # centred: e5 and others put all rows in a narrow cone, where cosines hardly differ
    clouds = [prepare(each, skip_zero=how.skip_zero, side=side) for side, each in (("A", left), ("B", right))]
    places = places_of(pairs, *clouds)
    pairs = places[(places >= 0).all(axis=1)]
    place, edges = chosen_device(how.device), []
    for step, (side, cloud) in enumerate(zip("AB", clouds, strict=True), 1):
        tell(progress, f"neighbours in {side}", len(pairs), step, 3)
        with computing(how.threads):
            edges.append(neighbour_edges(cloud, how.neighbours, device=place, memory=how.memory))
    warning = _warning(edges[0], edges[1], pairs)
    if warning is not None:
        warnings.warn(warning, WrongLinksWarning, stacklevel=2)
    tell(progress, "clustering", len(pairs), 3, 3)
    graph, node_b = joined(edges[0], edges[1], pairs)
    resolution = 1.0 if how.resolution is None else how.resolution
    if how.clusters is None:
        label = leiden(graph, resolution, how.random_state)
    else:
        label, resolution = leiden_into(graph, min(how.clusters, len(graph.indptr) - 1), how.random_state)
    labels, central = [], []
    for cloud, of_rows in zip(clouds, (label[: len(clouds[0])], label[node_b]), strict=True):
        labels.append(np.full(len(cloud.collection), -1))
        central.append(np.full(len(cloud.collection), np.nan, np.float32))
        labels[-1][cloud.rows], central[-1][cloud.rows] = of_rows, _centrality(cloud, of_rows)
    summary = ClusterSummary(
        clusters=int(label.max()) + 1,
        resolution=resolution,
        nodes=len(label),
        linked=len(pairs),
        neighbours_a=edges[0].k,
        neighbours_b=edges[1].k,
        largest_component_a=round(edges[0].largest, 4),
        largest_component_b=round(edges[1].largest, 4),
        warning=warning,
    )
    return Clusters(labels[0], labels[1], central[0], central[1], names(left), names(right), summary)


def _warning(a: Edges, b: Edges, pairs: np.ndarray) -> str | None:
    """A sentence where the edges of linked rows agree no more than if the links were exchanged among them."""
    share, count = agreement(a, b, pairs)
    if count < 50:  # too few to tell
        return None
    by_chance, _ = agreement(a, b, np.column_stack([pairs[:, 0], np.roll(pairs[:, 1], 1)]))
    by_chance = max(by_chance, b.k / b.n)
    if share > 2 * by_chance or by_chance > 0.25:  # in a small dense graph everything is a neighbour of everything
        return None
    return (
        f"Linked rows have no more neighbours in common than by chance ({share:.1%} of {count:,}, {by_chance:.1%} by "
        "chance); the links are wrong, or of other collections, or A and B are exchanged."
    )


def _centrality(cloud: Cloud, labels: np.ndarray) -> np.ndarray:
    """The cosine of each row to the mean of its cluster's rows."""
    means = np.zeros((int(labels.max()) + 1, cloud.shape[1]), np.float32)
    near = np.empty(len(cloud), np.float32)
    for start in range(0, len(cloud), BLOCK):
        np.add.at(means, labels[start : start + BLOCK], cloud.block(start, start + BLOCK))
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    for start in range(0, len(cloud), BLOCK):
        here = slice(start, start + BLOCK)
        near[here] = np.einsum("ij,ij->i", cloud.block(start, start + BLOCK), means[labels[here]])
    return near


class Edges(NamedTuple):
    """Neighbours of n points: edge (source, target, weight) for each listed neighbour, both ways not yet joined."""

    n: int
    k: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    largest: float


class Graph(NamedTuple):
    """An undirected graph in compressed rows: the neighbours of i are indices[indptr[i]:indptr[i + 1]]."""

    indptr: np.ndarray
    indices: np.ndarray
    weight: np.ndarray


def neighbour_edges(cloud: Cloud, k: int | None, *, device: str = "cpu", memory: int | str | None = None) -> Edges:
    """Edges from each row to its k nearest by cosine, weighted by it; None: k grows until the graph hangs together.

    It does once the largest component holds 95 % of the nodes; k begins at 10 and never exceeds 64.
    """
    n = len(cloud)
    most = min(64, n - 1)
    width = min(k or 10, n - 1)
    while True:
        near, cosine = nearest_rows(cloud, width, device=device, memory=memory)
        source, target = np.repeat(np.arange(n), width), near.ravel()
        share = float(np.bincount(components(n, source, target)).max() / n)
        if k is not None or share >= 0.95 or width >= most:
            return Edges(n, width, source, target, np.maximum(cosine.ravel(), 1e-3), share)
        width = min(most, width + max(1, width // 2))


def nearest_rows(
    cloud: Cloud, k: int, *, device: str = "cpu", memory: int | str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of each row by cosine, nearest first: positions (n, k) and cosines (n, k)."""
    budget = parse_memory("512MB" if memory is None else memory)
    width = min(k + 1, len(cloud))  # a row is its own nearest
    near: Any
    if device == "cpu":
        rows = ArrayRows(cloud, budget // 2)
        near, _ = cpu.nearest(rows, rows, width, budget // 8)
    else:
        needed("torch", f"Neighbours on {device!r}", "veclink[torch]")
        from veclink.matching import rankings
        from veclink.matching.torch_backend import DeviceRows, torch_device

        place = torch_device(device)
        there = DeviceRows(cloud, place, budget if place.type == "cpu" else 8 * budget)
        near, _ = rankings.nearest(there, there, width, cpu.tile_shape(there.shape, there.shape, budget, BLOCK, BLOCK))
    index, cosine = to_numpy(near.index), to_numpy(near.cosine)
    # a row among many equal ones may not be in its own list: then its last entry goes instead
    cosine = np.where(index == np.arange(len(index))[:, None], -np.inf, cosine)
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


def joined(a: Edges, b: Edges, pairs: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Both graphs as one in which each linked pair is one node with the edges of both; and the node of each row of B.

    Rows of A are the first nodes.
    """
    node_b = np.full(b.n, -1, np.int64)
    node_b[pairs[:, 1]] = pairs[:, 0]
    (free,) = np.nonzero(node_b < 0)
    node_b[free] = a.n + np.arange(len(free))
    source = np.concatenate([a.source, node_b[b.source]])
    target = np.concatenate([a.target, node_b[b.target]])
    return graph_of(a.n + len(free), source, target, np.concatenate([a.weight, b.weight])), node_b


def graph_of(n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> Graph:
    """An undirected graph of edges that may be there several times: the weights of equal ones add up."""
    apart = source != target
    low, high = np.minimum(source, target)[apart], np.maximum(source, target)[apart]
    key, edge = np.unique(low * n + high, return_inverse=True)
    total = np.bincount(edge, weight[apart], len(key))
    low, high = np.divmod(key, n)
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(n + 1))
    return Graph(indptr, columns[order].astype(np.int32), np.tile(total, 2)[order])


def leiden(graph: Graph, resolution: float, random_state: int = 0) -> np.ndarray:
    """A cluster for each node by modularity at this resolution, 0 for the largest."""
    native: Any = needed("graspologic_native", "Clustering", "veclink[cluster]")
    n = len(graph.indptr) - 1
    _, found = native.leiden_csr(*graph, n, resolution=resolution, seed=random_state)
    label = np.fromiter((found[node] for node in range(n)), np.int64, n)
    # numbered from the largest; equal ones by their first member
    _, first, inverse, counts = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, -counts)))[inverse]


def leiden_into(graph: Graph, clusters: int, random_state: int = 0) -> tuple[np.ndarray, float]:
    """The clusters whose number comes nearest to `clusters`, and the resolution that gave them, by bisection."""
    low, high = 1e-4, 1e4
    gap, best = np.inf, (np.empty(0, np.int64), 0.0)
    for _ in range(24):
        resolution = float(np.sqrt(low * high))
        label = leiden(graph, resolution, random_state)
        count = int(label.max()) + 1
        if abs(count - clusters) < gap:
            gap, best = abs(count - clusters), (label, resolution)
        if not gap:
            break
        low, high = (resolution, high) if count < clusters else (low, resolution)
    return best
