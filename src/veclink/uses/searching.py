"""Search with queries whose answers are known: NDCG@10 of each query, for comparing ways to search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, named
from veclink.files.tables import read_columns, readable
from veclink.geometry.nearest import largest
from veclink.geometry.signatures import unit_rows

DEPTH = 10
COLUMNS = ("query", "document", "relevance")
BLOCK = 16_384  # documents at a time
Answers = Sequence[Mapping[int, float]]
"""For each query the rows of the documents that answer it, with their grades."""
Documents = Callable[[int, int], np.ndarray]
"""Gives the unit vectors of documents start…stop−1."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries by both models, row i of both being the same, and the documents of A that answer them."""

    by_a: np.ndarray
    by_b: np.ndarray
    answers: Answers


def ndcg(queries: np.ndarray, documents: Documents, count: int, answers: Answers) -> np.ndarray:
    """NDCG@10 of each query (q,), 0 to 1; NaN where nothing answers it.

    `Σ grade/log₂(1 + rank)` of the ten documents with the largest cosine, over the same of the best order.
    """
    asked = unit_rows(np.array(queries, np.float32))
    best = np.empty((len(asked), 0), np.float32)
    rows = np.empty((len(asked), 0), np.int64)
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        here = np.broadcast_to(np.arange(start, stop), (len(asked), stop - start))
        best, rows = np.hstack([best, asked @ documents(start, stop).T]), np.hstack([rows, here])
        kept = largest(best, min(DEPTH, best.shape[1]))
        best, rows = np.take_along_axis(best, kept, axis=1), np.take_along_axis(rows, kept, axis=1)
    rows = np.take_along_axis(rows, np.argsort(-best, axis=1, kind="stable"), axis=1)
    gains, discount = np.full(len(asked), np.nan), 1 / np.log2(np.arange(2, DEPTH + 2))
    for place, (found, right) in enumerate(zip(rows.tolist(), answers, strict=True)):
        if right:
            grades = np.array([right.get(row, 0.0) for row in found])
            most = np.sort(list(right.values()))[::-1][:DEPTH]
            gains[place] = (grades * discount[: len(grades)]).sum() / (most * discount[: len(most)]).sum()
    return gains


def read_answers(path: str | Path, queries: Collection, documents: Collection) -> list[dict[int, float]]:
    """The answers in a CSV or Parquet file with the columns query, document and (unless all are 1) relevance.

    Queries and documents are named by id, or by row where a collection has no ids.
    """
    with readable(f"The answers in {path} cannot be read", "give a .csv or .parquet file"):
        table = read_columns(Path(path), COLUMNS)
    missing = [name for name in COLUMNS[:2] if name not in table.names]
    if missing:
        raise InputError(f"{path} has no column {named(missing)}; answers are in query, document and relevance.")
    rows = [_rows(table.values["query"], queries, f"query of {path}")]
    rows.append(_rows(table.values["document"], documents, f"document of {path}"))
    try:
        grades = [float(each) for each in table.values.get("relevance", [1.0] * len(rows[0]))]
    except (TypeError, ValueError) as error:
        raise InputError(f"The relevance in {path} is not a number everywhere ({error}).") from error
    answers: list[dict[int, float]] = [{} for _ in range(len(queries))]
    for query, document, grade in zip(*(each.tolist() for each in rows), grades, strict=True):
        if grade > 0:
            answers[query][document] = grade
    if not any(answers):
        raise InputError(f"{path} names no document that answers a query; give some with a relevance above 0.")
    return answers


def _rows(values: Sequence[Any], collection: Collection, what: str) -> np.ndarray:
    """Rows of the objects that are named, refusing unknown ones."""
    ids = np.arange(len(collection)) if collection.ids is None else collection.ids
    row_of = {str(each): row for row, each in enumerate(ids.tolist())}
    rows = [row_of.get(str(value), -1) for value in values]
    unknown = [value for value, row in zip(values, rows, strict=True) if row < 0]
    if unknown:
        raise InputError(f"The column {what} names {named(unknown)}, which {collection.name} does not have.")
    return np.array(rows, np.int64)
