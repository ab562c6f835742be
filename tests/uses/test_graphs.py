"""Graphs of near neighbours: the right neighbours, nodes joined at links, and clusters where they are plain to see."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import some_papers
from veclink.data.collection import Collection
from veclink.geometry.clouds import Cloud, prepare
from veclink.uses.clustering import (
    Edges,
    agreement,
    graph_of,
    joined,
    leiden,
    leiden_into,
    nearest_rows,
)


def papers_cloud() -> Cloud:
    return prepare(Collection.from_array(some_papers().a))


def edges(n: int, *listed: tuple[int, int]) -> Edges:
    source, target = np.array(listed, np.int64).reshape(-1, 2).T
    return Edges(n, 1, source, target, np.ones(len(source)), 1.0)


def test_agreement_counts_edges_between_linked_rows_that_both_graphs_have() -> None:
    a, b = edges(4, (0, 1), (1, 2), (2, 0), (3, 0)), edges(4, (3, 2), (2, 1), (0, 1))
    assert agreement(a, b, np.array([[0, 3], [1, 2], [2, 1]])) == (2 / 3, 3)
    assert agreement(a, b, np.array([[3, 3]])) == (0.0, 0)


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
def test_neighbours_are_those_of_the_whole_matrix(device: str) -> None:
    cloud = papers_cloud()
    whole = cloud.dense() @ cloud.dense().T
    np.fill_diagonal(whole, -np.inf)
    found, cosine = nearest_rows(cloud, 7, device=device)
    expected = np.sort(whole, axis=1)[:, ::-1][:, :7]
    np.testing.assert_allclose(cosine, expected, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(whole, found, 1), expected, atol=1e-5)


def test_a_linked_pair_is_one_node_with_the_edges_of_both() -> None:
    graph, node_b = joined(edges(3, (0, 1), (1, 2)), edges(3, (0, 1), (1, 2)), np.array([[1, 1]]))
    assert len(graph.indptr) == 6 and node_b[1] == 1
    neighbours = graph.indices[graph.indptr[1] : graph.indptr[2]].tolist()
    assert neighbours == sorted([0, 2, int(node_b[0]), int(node_b[2])])


@pytest.mark.extras
def test_two_cliques_are_two_clusters_and_bisection_finds_the_wanted_number() -> None:
    cliques = [(i + 10 * c, j + 10 * c) for c in range(4) for i in range(10) for j in range(i)]
    bridges = [(9, 10), (19, 20), (29, 30)]
    source, target = np.array(cliques + bridges).T
    graph = graph_of(40, source, target, np.ones(len(source)))
    assert len(np.unique(leiden(graph, 1.0))) == 4
    label, resolution = leiden_into(graph, 4)
    assert label.reshape(4, 10).std(axis=1).max() == 0 and resolution > 0
    assert len(np.unique(leiden_into(graph, 2)[0])) == 2
    assert len(np.unique(leiden_into(graph, 40)[0])) == 40
