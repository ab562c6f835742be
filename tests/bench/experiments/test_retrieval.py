"""Search in a merged collection: Recall@100 and NDCG@100 by their definitions, and which queries are asked."""

from __future__ import annotations

import numpy as np
import pytest

from veclink import merge
from veclink_bench.experiments.retrieval import DEPTH, documents_of, searched


def ranked(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A query, and n vectors of falling cosine to it."""
    angle = np.linspace(0.1, 1.5, n)
    return np.array([[1.0, 0.0]], np.float32), np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)


def test_recall_and_ndcg_are_what_their_definitions_say() -> None:
    query, vectors = ranked(5)
    found = searched(query, vectors, np.arange(5)[:, None], [{1: 2, 3: 1, 77: 1}])
    gain = 2 / np.log2(3) + 1 / np.log2(5)
    best = 2 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert found == pytest.approx({"recall": 200 / 3, "ndcg": 100 * gain / best})


def test_what_comes_after_a_hundred_places_is_not_found() -> None:
    query, vectors = ranked(DEPTH + 5)
    every = np.arange(DEPTH + 5)[:, None]
    assert searched(query, vectors, every, [{DEPTH - 1: 1}])["recall"] == 100
    assert searched(query, vectors, every, [{DEPTH: 1}]) == {"recall": 0, "ndcg": 0}
    twice = np.column_stack([every, np.full(DEPTH + 5, -1)])
    twice[0, 1] = DEPTH + 4  # a wrong link: the first row stands for two documents, and takes two places
    assert searched(query, vectors, twice, [{DEPTH - 1: 1}])["recall"] == 0
    missed = every.copy()
    missed[1] = 0  # a missed link: two rows of one document
    assert searched(query, vectors, missed, [{DEPTH - 1: 1}])["recall"] == 100
    assert searched(query, vectors, missed, [{DEPTH: 1}])["recall"] == 0


def test_merged_rows_are_traced_to_their_documents() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    merged = merge(a, b, np.array([[0, 0], [1, 1]]), union_only=True)
    # the first link is right (document 10 in both), the second is wrong (11 and 21 are two documents)
    found = documents_of(merged, np.array([10, 11, 12]), np.array([10, 21, 22]))
    assert found.tolist() == [[10, -1], [21, 11], [22, -1], [12, -1]]
