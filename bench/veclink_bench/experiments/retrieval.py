"""Search in collections of documents, as merging is measured: Recall@100 and NDCG@100 of graded answers.

A row of a merged collection may stand for two documents (a wrong link), and then takes two of the hundred places; two
rows of one document (a missed link) take two as well, which can push an answer out of the hundred. The ranks in NDCG
are those of the documents that are left, each at its first place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veclink.errors import InputError
from veclink.geometry.signatures import unit_rows
from veclink.uses.merging import Merged
from veclink_bench.corpora import queries
from veclink_bench.experiments.setup import Setup

DEPTH = 100
ANSWERS_AT_MOST = 0.55  # of the documents: an overlap of 40 % without answers must still have room
Answers = dict[int, int]
"""Documents that answer a query, by corpus row, with their grades."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries of one corpus that have answers, by their rows in the file of queries."""

    corpus: str
    rows: np.ndarray
    answers: list[Answers]
    n: int

    def vectors(self, setup: Setup, model: str) -> np.ndarray:
        """The queries by a model."""
        return queries(setup.data, self.corpus, model)[0][self.rows]

    def is_answer(self) -> np.ndarray:
        """(n,) which documents answer a query."""
        marked = np.zeros(self.n, bool)
        marked[[row for each in self.answers for row in each]] = True
        return marked


def asked(setup: Setup, corpus: str, model: str, n: int) -> Asked:
    """The queries with answers among the first `n` documents.

    Where nearly every document is an answer, queries are left out, always the same ones, until 45 % of the documents
    answer none: those can be shared.
    """
    graded = [
        {row: grade for row, grade in each.items() if row < n and grade > 0}
        for each in queries(setup.data, corpus, model)[1]
    ]
    kept: list[int] = []
    marked: set[int] = set()
    for query in np.random.default_rng(0).permutation([i for i, each in enumerate(graded) if each]).tolist():
        if len(marked | graded[query].keys()) <= ANSWERS_AT_MOST * n:
            marked |= graded[query].keys()
            kept.append(query)
    if not kept:
        raise InputError(f"No query of {corpus} has an answer in its first {n:,} documents; take more of them.")
    return Asked(corpus, np.sort(kept), [graded[query] for query in sorted(kept)], n)


def documents_of(merged: Merged, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
    """(rows, 2): the corpus rows of the documents that each row of a merged collection stands for, −1 for none."""
    partner = np.where(merged.partner < 0, -1, rows_a[merged.partner])
    shared = np.column_stack([rows_b, np.where(partner == rows_b, -1, partner)])
    alone = np.column_stack([rows_a[merged.alone], np.full(len(merged.alone), -1)])
    return np.concatenate([shared, alone])


def searched(
    queries: np.ndarray, vectors: np.ndarray, documents: np.ndarray, answers: Sequence[Answers]
) -> dict[str, float]:
    """Recall@100 and NDCG@100 in percent, means over the queries; vectors are ranked by cosine.

    documents: (rows, 1 or more), those that a row stands for, −1 for none. NDCG is Σ grade/log₂(1 + rank) of what was
    found over the same of the best order.
    """
    if queries.shape[1] < vectors.shape[1]:
        queries = np.pad(queries, ((0, 0), (0, vectors.shape[1] - queries.shape[1])))
    similarity = unit_rows(queries.astype(np.float32)) @ unit_rows(vectors.astype(np.float32)).T
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    recalls, gains = [], []
    for cosines, right in zip(similarity, answers, strict=True):
        slots = documents[np.argsort(-cosines, kind="stable")[:DEPTH]].ravel()
        found = dict.fromkeys(slots[slots >= 0][:DEPTH].tolist())
        grades = np.array([right.get(document, 0) for document in found])
        best = np.sort(list(right.values()))[::-1][:DEPTH]
        recalls.append((grades > 0).sum() / len(right))
        gains.append((grades * discount[: len(grades)]).sum() / (best * discount[: len(best)]).sum())
    return {"recall": 100 * float(np.mean(recalls)), "ndcg": 100 * float(np.mean(gains))}
