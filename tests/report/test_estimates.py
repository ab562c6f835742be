"""The ranges around the estimates hold together: they hold the estimate, widen with doubt, and stay possible."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import span_papers
from veclink.links import Links, Summary
from veclink.report.estimates import estimate, ranges


def test_the_ranges_of_the_sample_hold_its_truth() -> None:
    found, demo = estimate(span_papers.linked()), span_papers.demo()
    assert found is not None
    assert found.precision.low <= demo.scores.precision <= found.precision.high
    assert found.recall.low <= demo.scores.recall <= found.recall.high
    assert found.overlap.low <= demo.n_shared <= found.overlap.high


@given(n=st.integers(1, 10_000), share=st.floats(0, 1), overlap=st.floats(1, 10_000), extra=st.integers(0, 5000))
def test_a_range_holds_its_estimate_and_nothing_impossible(n: int, share: float, overlap: float, extra: int) -> None:
    smaller = max(n, int(overlap) + 1) + extra
    found = ranges(n, share * n, overlap, share, smaller)
    for interval in (found.precision, found.recall):
        assert 0 <= interval.low <= interval.value + 1e-9 and interval.value <= interval.high + 1e-9 <= 1 + 2e-9
    assert found.overlap.low <= overlap <= found.overlap.high <= smaller


def test_more_doubt_makes_wider_ranges() -> None:
    widths = [
        (found.precision.high - found.precision.low, found.overlap.high - found.overlap.low)
        for found in (ranges(1000, doubt * 1000, 900, doubt, 2000) for doubt in (0.01, 0.05, 0.2))
    ]
    assert widths == sorted(widths) and len(set(widths)) == 3


def test_nothing_is_estimated_where_the_method_estimates_nothing() -> None:
    links = Links(np.array([[0, 0]]), np.ones(1), Summary("geh", 5, 5, 1))
    assert estimate(links) is None
