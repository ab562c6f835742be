"""Corpora in the layouts people have them in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veclink.errors import InputError
from veclink_bench.corpora import file_name, read_corpus, vectors

DOCUMENTS = [
    {"_id": "d1", "title": "Vitamin D", "text": "and bones"},
    {"_id": "d2", "title": "", "text": "No title here"},
    {"_id": "d3", "title": None, "text": "None either"},
]
QUERIES = [{"_id": "q1", "text": "what helps bones"}, {"_id": "q2", "text": "nobody answers"}]
QRELS = [("q1", "d1", 2), ("q1", "d3", 1)]


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_beir_has_title_and_text_joined_and_only_queries_with_answers(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(lines(DOCUMENTS))
    (tmp_path / "queries.jsonl").write_text(lines(QUERIES))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{s}\n" for q, d, s in QRELS)
    )
    found = read_corpus(tmp_path)
    assert found.ids == ["d1", "d2", "d3"] and found.texts == ["Vitamin D and bones", "No title here", "None either"]
    assert found.queries == {"q1": "what helps bones"} and found.qrels == {"q1": {"d1": 2, "d3": 1}}


def test_mteb_retrieval_has_the_same_tables_in_parquet(tmp_path: Path) -> None:
    for name, rows in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name / "test-00000-of-00001.parquet")
    (tmp_path / "qrels").mkdir()
    rows = [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in QRELS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "qrels" / "test-00000-of-00001.parquet")
    found = read_corpus(tmp_path)
    assert found.texts[0] == "Vitamin D and bones" and found.qrels == {"q1": {"d1": 2, "d3": 1}}


def test_stored_vectors_are_read_by_the_model_s_name(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    stored = np.arange(12, dtype=np.float16).reshape(4, 3)
    np.save(tmp_path / "small" / "st_org_model.npy", stored)
    assert file_name("st:org/model") == "st_org_model"
    assert np.array_equal(vectors(tmp_path, "small", "st:org/model", rows=2), stored[:2])
    with pytest.raises(InputError, match="no corpus 'other'"):
        vectors(tmp_path, "other", "minilm")
