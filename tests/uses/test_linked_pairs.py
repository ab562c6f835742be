"""Which pairs of rows links name in collections, and links that do not fit them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from span_papers import all_papers
from veclink import Collection, Links, open_collection
from veclink.data.summary import Summary
from veclink.errors import InputError
from veclink.uses.linked_pairs import pairs_of


def test_links_of_other_collections_are_refused() -> None:
    links = Links(np.array([[0, 0]]), np.array([1.0]), Summary(method="span", n_a=10, n_b=10, n_links=1))
    ten, five = (Collection.from_array(np.eye(n, 4, dtype=np.float32)) for n in (10, 5))
    with pytest.raises(InputError, match=r"10 and 10.*10 and 5"):
        pairs_of(links, ten, five)


def test_links_whose_ids_moved_to_other_rows_are_refused() -> None:
    summary = Summary(method="span", n_a=3, n_b=3, n_links=1)
    links = Links(np.array([[0, 1]]), np.array([0.9]), summary, ids_a=np.array([7]), ids_b=np.array([5]))
    vectors = np.eye(3, dtype=np.float32)
    a, b = Collection.from_array(vectors, ids=[7, 8, 9]), Collection.from_array(vectors, ids=[4, 5, 6])
    rows, probability = pairs_of(links, a, b)
    assert rows.tolist() == [[0, 1]] and probability.tolist() == [0.9]
    with pytest.raises(InputError, match=r"other ids than A.*as it was"):
        pairs_of(links, Collection.from_array(vectors, ids=[8, 7, 9]), b)
    with pytest.raises(InputError, match=r"other ids than A.*A and B are exchanged"):
        pairs_of(links, b, a)
    with pytest.raises(InputError, match=r"other ids than B.*--payload-b FILE.*payload_b="):
        pairs_of(links, a, Collection.from_array(vectors))
    numbered = links.some(slice(1), summary, ids_a=np.array([0]))
    assert pairs_of(numbered, Collection.from_array(vectors), b)[0].tolist() == [[0, 1]], "row numbers lose nothing"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_probabilities_of_a_plain_table_count(tmp_path: Path, ending: str) -> None:
    papers = all_papers()
    file = tmp_path / f"pairs.{ending}"
    columns = {"a": papers.truth[:40, 0], "b": papers.truth[:40, 1], "probability": np.linspace(0.3, 1, 40)}
    table = pa.table(columns)
    csv.write_csv(table, file) if ending == "csv" else pq.write_table(table, file)
    rows, probability = pairs_of(file, open_collection(papers.a), open_collection(papers.b))
    assert rows.tolist() == papers.truth[:40].tolist() and np.allclose(probability, columns["probability"])
