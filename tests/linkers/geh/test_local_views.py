"""GEH's local path: its parts, and that it links what the global path links from a part of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from span_papers import Papers, more_papers
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh.linker import Growth, geh
from veclink.linkers.geh.views import Neighbours
from veclink.linkers.linking import link
from veclink.linkers.options import GehOptions

LOCAL: dict[str, Any] = {"path": "local", "k": 10, "neighbours": 30, "max_iterations": 6}


def _clouds() -> tuple[Cloud, Cloud]:
    papers = more_papers()
    a, b = (prepare(Collection.from_array(each), centre=False) for each in (papers.a, papers.b))
    return a, b


def _grow(papers: Papers, **options: Any) -> Growth:
    a, b = _clouds()
    return geh(a, b, anchors_from_pairs(a, b, papers.seeds), GehOptions(**(LOCAL | options)))


def test_it_grows_beyond_the_seeds_neighbourhoods_and_most_links_are_right() -> None:
    papers = more_papers()
    found = _grow(papers, max_iterations=8, links_per_view=40)
    start = set(Neighbours(_clouds()[0], 30).of_rows(papers.seeds[:, 0]).ravel().tolist())
    assert not set(found.pairs[:, 0].tolist()) <= start
    everywhere = _grow(papers, path="global", max_iterations=8)
    assert score(found.pairs, papers.truth).f1 >= score(everywhere.pairs, papers.truth).f1 - 0.05
    assert score(found.pairs, papers.truth).f1 > 0.6 and found.history[-1].views > 1
    assert np.array_equal(found.pairs[: len(papers.seeds)], papers.seeds)
    assert len(np.unique(found.pairs[:, 0])) == len(np.unique(found.pairs[:, 1])) == len(found.pairs)


def test_confidence_counts_the_views_that_looked_at_a_pair_and_not_all() -> None:
    found = _grow(more_papers(), links_per_view=40)
    assert np.all(found.votes <= found.chances) and found.chances.max() <= found.views
    assert found.chances[found.n_seeds :].min() < found.views
    assert np.allclose(found.confidence, (1 + found.votes) / (2 + found.chances))


def test_the_larger_cloud_decides_which_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    papers = more_papers()
    options: dict[str, Any] = {"method": "geh", "k": 10, "neighbours": 30, "max_iterations": 2, "device": "cpu"}

    def linked(path: str) -> Any:
        return link(papers.a[:400], papers.b, seeds=papers.seeds[papers.seeds[:, 0] < 400], path=path, **options)

    local, everywhere = linked("local"), linked("global")
    assert local != everywhere
    assert np.array_equal(linked("auto").pairs, everywhere.pairs)
    monkeypatch.setattr("veclink.linkers.geh.linker.LOCAL_ABOVE", 499)
    assert np.array_equal(linked("auto").pairs, local.pairs)
