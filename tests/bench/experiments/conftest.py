"""A folder of data like the one experiments are run on, cut from the bundled sample: real vectors, few rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from span_papers import all_papers
from veclink_bench.diagnostics import nearest_rows

ROWS, QUERIES, LABELS = 420, 40, 4


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """papers (420 rows) and others (300), by minilm and mpnet; papers with queries, answers, labels and `half`.

    half: every second number of an mpnet vector, as a third model that is none of the two.
    """
    folder = tmp_path_factory.mktemp("data")
    papers = all_papers()
    left, right = papers.a[papers.truth[:, 0]], papers.b[papers.truth[:, 1]]
    for name, rows in (("papers", slice(0, ROWS)), ("others", slice(ROWS, 720))):
        (folder / name).mkdir()
        np.save(folder / name / "minilm.npy", left[rows].astype(np.float16))
        np.save(folder / name / "mpnet.npy", right[rows].astype(np.float16))
    # Queries are papers that are in neither collection; what answers one is what is nearest to it by the other model.
    asked = np.arange(720, 720 + QUERIES)
    np.save(folder / "papers" / "half.npy", right[:ROWS, ::2].astype(np.float16))
    np.save(folder / "papers" / "queries.mpnet.npy", right[asked])
    np.save(folder / "papers" / "queries.minilm.npy", left[asked])
    both = np.concatenate([left[:ROWS], left[asked]])
    answers = [[row for row in near if row < ROWS][:1] for near in nearest_rows(both, ROWS + np.arange(QUERIES), 60)]
    found = [f"{query}\t{row}\t1" for query, rows in enumerate(answers) for row in rows]
    (folder / "papers" / "qrels.tsv").write_text("\n".join(["query\tdocument\trelevance", *found]) + "\n")
    labels = KMeans(LABELS, n_init=3, random_state=0).fit_predict(left[:ROWS])
    (folder / "papers" / "labels.txt").write_text("\n".join(f"label {each}" for each in labels) + "\n")
    return folder
