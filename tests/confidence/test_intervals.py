"""The ranges around the estimates hold together: they hold the estimate, widen with doubt, and stay possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import span_papers
from veclink.confidence.intervals import Interval, estimate, estimates, ranges
from veclink.data.summary import Summary, with_ranges


def width(interval: Interval) -> float:
    return interval.high - interval.low


def test_the_ranges_of_the_sample_hold_its_truth() -> None:
    found, demo = estimate(span_papers.linked()), span_papers.demo()
    assert found is not None
    assert found.precision.low <= demo.scores.precision <= found.precision.high
    assert found.recall.low <= demo.scores.recall <= found.recall.high
    assert found.overlap.low <= demo.n_shared <= found.overlap.high


@given(n=st.integers(1, 10_000), share=st.floats(0, 1), overlap=st.floats(1, 10_000), extra=st.integers(0, 5000))
def test_a_range_holds_its_estimate_and_nothing_impossible(n: int, share: float, overlap: float, extra: int) -> None:
    smaller = max(n, int(overlap) + 1) + extra
    found = ranges(n, share * n, overlap, smaller)
    for interval in (found.precision, found.recall):
        assert 0 <= interval.low <= interval.value + 1e-9 and interval.value <= interval.high + 1e-9 <= 1 + 2e-9
    assert found.overlap.low <= overlap <= found.overlap.high <= smaller


def test_more_wrong_links_to_expect_make_a_wider_range_of_precision() -> None:
    found = [ranges(1000, doubt * 1000, 900, 2000).precision for doubt in (0.01, 0.05, 0.2)]
    widths = [each.high - each.low for each in found]
    assert widths == sorted(widths) and len(set(widths)) == 3


def test_the_less_is_shared_the_wider_recall_and_overlap_range() -> None:
    found = [ranges(300, 15, 300, smaller) for smaller in (400, 800, 2000, 6000)]
    recall, overlap = ([width(getattr(each, name)) for each in found] for name in ("recall", "overlap"))
    assert recall == sorted(recall) and overlap == sorted(overlap)
    assert recall[0] < 0.25 and recall[-1] > 0.5


def test_the_ranges_in_the_summary_are_those_of_the_links_that_are_kept() -> None:
    links = span_papers.linked()
    assert with_ranges(links.summary, links.probability) == links.summary, "linking has put them there"
    sure = links.at(precision=0.99)
    assert with_ranges(sure.summary, sure.probability) == sure.summary
    found = estimate(links.at(precision=0.99))
    assert sure.summary.precision_range == (found.precision.low, found.precision.high)
    assert sure.summary.recall_range == (found.recall.low, found.recall.high)
    assert sure.summary.recall_range[1] < links.summary.recall_range[1]
    none = with_ranges(Summary("geh", 5, 5, 1, overlap_range=(1, 2)), np.ones(1))
    assert none.overlap_range is None


def test_links_surer_than_the_default_may_be_wrong_as_often_as_caution_says() -> None:
    """Of 400 links with 8 expected to be wrong, 3 times as many are no surprise, times the usual error."""
    sure, usual = np.full(400, 0.98), np.concatenate([np.full(399, 0.981), [0.49]])
    told = [estimates(each, 900.0, 2000, caution) for each, caution in ((sure, 1.0), (sure, 3.0), (usual, 3.0))]
    plain, cautious, of_default = (each.precision for each in told if each is not None)
    assert plain.value == cautious.value and plain.high == cautious.high
    wrong = 8 + np.hypot(8 * (3 * np.exp(0.5) - 1), 1.645 * np.sqrt(8))
    assert cautious.low == pytest.approx(1 - wrong / 400, abs=1e-3)
    assert of_default.low == pytest.approx(plain.low, abs=1e-3)
