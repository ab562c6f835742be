"""Few rows, among as few or among many: growing follows what is there."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers
from veclink import link
from veclink.backends import CloudPair
from veclink.data.pairs import score
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.attempt import Search


def test_all_of_a_hundred_rows_are_found_among_many() -> None:
    papers = all_papers()
    rng = np.random.default_rng(0)
    shared = rng.permutation(papers.truth)[:100]
    truth = np.column_stack([np.arange(100), shared[:, 1]])
    links = link(papers.a[shared[:, 0]], papers.b, seeds=truth[:15], device="cpu")
    assert links.summary.verdict == "linkable"
    assert score(links.pairs, truth).f1 > 0.75


@pytest.mark.parametrize(("n_a", "n_b", "expected"), [(500, 500, 1.0), (100, 900, 1.8), (900, 100, 1.8)])
def test_the_more_unequal_the_sizes_the_more_agrees_by_chance(n_a: int, n_b: int, expected: float) -> None:
    rows = np.random.default_rng(0).standard_normal((1000, 4)).astype(np.float32)
    search = Search(CloudPair(rows[:n_a], rows[:n_b]), np.random.default_rng(0), SpanOptions())
    assert search.chance == pytest.approx(expected)
