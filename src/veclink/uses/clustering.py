"""cluster(): clusters that span two collections of different models, joined at their links."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.backends import chosen_device
from veclink.data.pairs import one_to_one
from veclink.data.tabled import FIRST, Tabled, card
from veclink.errors import InputError, WrongLinksWarning, needed, plural
from veclink.files.tables import table_ending, write_table
from veclink.geometry.clouds import Cloud, prepare
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection
from veclink.threads import computing
from veclink.uses.graphs import Edges, agreement, joined, leiden, leiden_into, neighbour_edges
from veclink.uses.linked_pairs import GivenLinks, pairs_of
from veclink.uses.merged_rows import names
from veclink.uses.translating import Source

BLOCK = 8192
ENOUGH_EDGES = 50  # between linked rows, to tell from whether links are wrong


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
        if self.clusters is not None and self.clusters < 1:
            raise InputError(f"{self.clusters} clusters were asked for; ask for at least 1.")
        if self.resolution is not None and not 0 < self.resolution < np.inf:
            raise InputError(f"The resolution is {self.resolution}; it is a number above 0.")
        if self.neighbours is not None and self.neighbours < 1:
            raise InputError(f"{self.neighbours} neighbours were asked for; ask for at least 1.")


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
        shown = []
        for labels, central, ids in (
            (self.labels_a, self.central_a, self.names_a),
            (self.labels_b, self.central_b, self.names_b),
        ):
            members = np.flatnonzero(labels == cluster)
            shown.append(ids[members[np.argsort(-central[members], kind="stable")[:count]]].tolist())
        return shown[0], shown[1]

    def columns(self) -> dict[str, Any]:
        """A row for each vector: side, id (or row number), cluster, central."""
        ids = [self.names_a, self.names_b]
        if any(each.dtype == object for each in ids):
            ids = [each.astype(str).astype(object) for each in ids]
        central = np.concatenate([self.central_a, self.central_b])
        return {
            "side": ["a"] * len(self.names_a) + ["b"] * len(self.names_b),
            "id": np.concatenate(ids),
            "cluster": np.concatenate([self.labels_a, self.labels_b]),
            "central": central.astype(np.float32),
        }

    def save(self, path: str | Path) -> None:
        """Write the columns side, id, cluster and central: .csv or .parquet, whole or not at all."""
        path = Path(path)
        table_ending(path, "clusters are written as one of these")
        write_table(path, self.columns(), {"central": "{:.4f}".format})

    def __repr__(self) -> str:
        return f"Clusters({self._headline()})"

    def _headline(self) -> str:
        rows = len(self.labels_a) + len(self.labels_b)
        return f"{plural(self.summary.clusters, 'cluster')} of {rows:,} rows, {self.summary.linked:,} of them linked"

    def _repr_html_(self) -> str:
        warning = self.summary.warning
        figures = [] if warning is None else [("Warning", warning)]
        shown = self.describe(most=FIRST)["largest"]
        table = [
            (
                each["cluster"],
                *each["sizes"].values(),
                *(", ".join(map(str, some)) for some in each["examples"].values()),
            )
            for each in shown
        ]
        head = ("cluster", "rows of A", "rows of B", "most central in A", "most central in B")
        return card(self._headline(), figures, head, table)

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
    """Clusters of two collections at once: a graph of near neighbours each, one where links make two rows one node.

    Links whose rows have no more neighbours in common than by chance are warned of (`summary.warning`).

    Parameters
    ----------
    a, b : array of shape (n, d), Collection, path or URL
        The two collections.
    links : Links, pairs of shape (m, 2), or path
        Pairs name rows or ids.
    progress : callable or True, optional
        Hears how far it is; True shows it.
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
    pairs = pairs[np.isin(pairs[:, 0], clouds[0].rows) & np.isin(pairs[:, 1], clouds[1].rows)]
    pairs = np.column_stack([cloud.positions(rows) for cloud, rows in zip(clouds, pairs.T, strict=True)])
    place = chosen_device(how.device)
    edges = []
    for step, (side, cloud) in enumerate(zip("AB", clouds, strict=True), 1):
        tell(progress, f"neighbours in {side}", len(pairs), step, 3)
        with computing(how.threads):
            edges.append(neighbour_edges(cloud, how.neighbours, device=place, memory=how.memory))
    warning = _warning(edges[0], edges[1], pairs)
    if warning is not None:
        warnings.warn(warning, WrongLinksWarning, stacklevel=2)
    tell(progress, "clustering", len(pairs), 3, 3)
    graph, *nodes = joined(edges[0], edges[1], pairs)
    resolution = 1.0 if how.resolution is None else how.resolution
    if how.clusters is None:
        label = leiden(graph, resolution, how.random_state)
    else:
        label, resolution = leiden_into(graph, min(how.clusters, len(graph)), how.random_state)
    own = [label[each] for each in nodes]
    return Clusters(
        _on_all_rows(clouds[0], own[0], -1),
        _on_all_rows(clouds[1], own[1], -1),
        _on_all_rows(clouds[0], _centrality(clouds[0], own[0]), np.nan),
        _on_all_rows(clouds[1], _centrality(clouds[1], own[1]), np.nan),
        names(left),
        names(right),
        ClusterSummary(
            clusters=int(label.max()) + 1,
            resolution=resolution,
            nodes=len(graph),
            linked=len(pairs),
            neighbours_a=edges[0].k,
            neighbours_b=edges[1].k,
            largest_component_a=round(edges[0].largest, 4),
            largest_component_b=round(edges[1].largest, 4),
            warning=warning,
        ),
    )


def _warning(a: Edges, b: Edges, pairs: np.ndarray) -> str | None:
    """A sentence where the edges of linked rows agree no more than if the links were exchanged among them."""
    share, count = agreement(a, b, pairs)
    if count < ENOUGH_EDGES:
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


def _on_all_rows(cloud: Cloud, values: np.ndarray, skipped: float) -> np.ndarray:
    """Values of the rows of a cloud as values of all rows of its collection."""
    whole = np.full(len(cloud.collection), skipped, values.dtype)
    whole[cloud.rows] = values
    return whole
