"""Few rows, among as few or among many: growing follows what is there."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers
from veclink import link
from veclink.backends.cloud_pair import CloudPair
from veclink.data.pairs import score
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import GrowthSchedule
from veclink.linkers.span.attempt import FEW_ROWS_SCHEDULE, Search
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.marks import chance_factor


def test_all_of_a_hundred_rows_are_found_among_many() -> None:
    papers = all_papers()
    rng = np.random.default_rng(0)
    shared = rng.permutation(papers.truth)[:100]
    truth = np.column_stack([np.arange(100), shared[:, 1]])
    links = link(papers.a[shared[:, 0]], papers.b, seeds=truth[:15], device="cpu")
    assert links.summary.verdict == "linkable"
    assert score(links.pairs, truth).f1 > 0.75


def test_what_is_found_from_nothing_among_many_grows_as_carefully_as_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    papers, shared = all_papers(), 150
    pairs = np.random.default_rng(1).permutation(papers.truth)[:shared]
    alone_a = np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])[:150]
    alone_b = np.setdiff1d(np.arange(len(papers.b)), papers.truth[:, 1])
    truth = np.column_stack([np.arange(shared)] * 2)
    told: list[GrowthSchedule | None] = []
    grow = Search.grow

    def noted(search: Search, anchors: Anchors, schedule: GrowthSchedule | None = None) -> Pool:
        told.append(schedule)
        return grow(search, anchors, schedule)

    monkeypatch.setattr(Search, "grow", noted)
    links = link(papers.a[np.r_[pairs[:, 0], alone_a]], papers.b[np.r_[pairs[:, 1], alone_b]], device="cpu")
    assert links.summary.verdict == "linkable"
    assert score(links.pairs, truth).f1 > 0.85
    assert told[-1] == FEW_ROWS_SCHEDULE


@pytest.mark.parametrize(("n_a", "n_b", "expected"), [(500, 500, 1.0), (100, 900, 1.8), (900, 100, 1.8)])
def test_the_more_unequal_the_sizes_the_more_agrees_by_chance(n_a: int, n_b: int, expected: float) -> None:
    rows = np.random.default_rng(0).standard_normal((1000, 4)).astype(np.float32)
    assert chance_factor(CloudPair(rows[:n_a], rows[:n_b])) == pytest.approx(expected)
