"""Searching by queries: the score by its definition, and answers that are read from a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.uses.advising import ndcg, read_answers


def test_ndcg_is_that_of_the_definition() -> None:
    documents = np.eye(12, dtype=np.float32)
    queries = np.array([np.arange(12, 0, -1), np.arange(12, 0, -1), np.ones(12)], np.float32)
    found = ndcg(queries, lambda start, stop: documents[start:stop], 12, [{0: 1.0}, {1: 2.0, 11: 1.0}, {}])
    best = 2 / np.log2(2) + 1 / np.log2(3)
    np.testing.assert_allclose(found[:2], [1.0, (2 / np.log2(3)) / best], atol=1e-6)
    assert np.isnan(found[2])


def test_answers_name_ids_or_rows_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    queries = Collection.from_array(np.eye(2), ids=["q1", "q2"])
    documents = Collection.from_array(np.eye(3))
    (tmp_path / "qrels.csv").write_text("query,document,relevance\nq1,2,1\nq2,0,2\nq2,1,0\n")
    assert read_answers(tmp_path / "qrels.csv", queries, documents) == [{2: 1.0}, {0: 2.0}]
    for text, said in (
        ("query,document\nq3,0\n", "q3"),
        ("query,document\nq1,7\n", "7"),
        ("query,relevance\nq1,1\n", "document"),
        ("query,document,relevance\nq1,0,much\n", "not a number"),
        ("query,document,relevance\nq1,0,0\n", "no document"),
    ):
        (tmp_path / "qrels.csv").write_text(text)
        with pytest.raises(InputError, match=said):
            read_answers(tmp_path / "qrels.csv", queries, documents)
