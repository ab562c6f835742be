"""Two catalogues: which rows are the same is kept through every cut, and given pairs do not count as found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from span_papers import some_papers
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink_bench.experiments.catalogues import Catalogues, catalogues, compared


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The cut of the sample as two shops, and as two bibliographies; its first rows as texts of neither."""
    papers = some_papers()
    for name in ("abt-buy", "dblp-acm"):
        (tmp_path / "catalogues").mkdir(exist_ok=True)
        for model in ("minilm", "e5"):
            np.save(tmp_path / "catalogues" / f"{name}.a.{model}.npy", papers.a)
            np.save(tmp_path / "catalogues" / f"{name}.b.{model}.npy", papers.b)
        np.save(tmp_path / "catalogues" / f"{name}.truth.npy", papers.truth)
    (tmp_path / "scifact").mkdir()
    np.save(tmp_path / "scifact" / "minilm.npy", papers.a[papers.truth[:, 0]])
    np.save(tmp_path / "scifact" / "e5.npy", papers.b[papers.truth[:, 1]])
    return tmp_path


def settings(**more: Any) -> dict[str, Any]:
    return {"pair": ["abt-buy", "minilm", "e5"], "removed": 0.45, "seeds": 15, "method": "span", "state": 0} | more


def test_partners_that_are_removed_are_gone_and_the_others_stay_partners(folder: Path) -> None:
    papers, case = some_papers(), catalogues(folder / "catalogues", folder, settings())
    of_a = {row.tobytes(): place for place, row in enumerate(papers.a)}
    of_b = {row.tobytes(): place for place, row in enumerate(papers.b)}
    known = [[of_a[case.a[a].tobytes()], of_b[case.b[b].tobytes()]] for a, b in case.truth]
    assert papers.right(np.array(known)).all() and len(case.truth) == 180 - 81
    assert (len(case.a), len(case.b)) == (300, 300 - 81)
    assert np.array_equal(case.start["seeds"], case.truth[:15])


def test_given_pairs_are_no_new_links() -> None:
    truth = np.column_stack([np.arange(10)] * 2)
    case = Catalogues(np.zeros((10, 2)), np.zeros((10, 2)), truth, {"seeds": truth[:4]})
    pairs = np.array([[0, 0], [1, 1], [2, 2], [4, 4], [5, 6]])
    summary = Summary("span", 10, 10, 5, overlap=9.0, overlap_range=(8.0, 10.0), wrong_seeds=((3, 3), (7, 8)))
    found = compared(Links(pairs, np.linspace(1, 0.6, 5), summary), case)
    assert found["precision"] == pytest.approx(80) and found["recall"] == pytest.approx(40)
    assert found["new_precision"] == pytest.approx(50) and found["new_recall"] == pytest.approx(100 / 6)
    assert found["told"]["overlap"]["inside"] and found["right_called_wrong"] == 1
