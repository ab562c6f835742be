"""Ranges hold their estimate, widen with doubt, and stay possible; thresholds keep what a wanted precision allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import span_papers
from veclink.confidence.intervals import (
    Interval,
    Threshold,
    best_threshold,
    caution_of,
    estimate,
    estimates,
    mutual_share,
    shared_objects,
    thresholds,
)
from veclink.data.links import Links
from veclink.data.summary import Summary, with_ranges


def width(interval: Interval) -> float:
    return interval.high - interval.low


def told(n: int, wrong: float, overlap: float, smaller: int, **more: object) -> Summary:
    return Summary("span", smaller, smaller, n, overlap=overlap, **{"caution": caution_of(n - wrong), **more})


def test_the_ranges_of_the_sample_hold_its_truth() -> None:
    found, demo = estimate(span_papers.linked()), span_papers.demo()
    assert found is not None
    assert found.precision.low <= demo.scores.precision <= found.precision.high
    assert found.recall.low <= demo.scores.recall <= found.recall.high
    assert found.overlap.low <= demo.n_shared <= found.overlap.high


@given(n=st.integers(1, 10_000), doubt=st.floats(0, 1), overlap=st.floats(1, 10_000), extra=st.integers(0, 5000))
def test_a_range_holds_its_estimate_and_nothing_impossible(n: int, doubt: float, overlap: float, extra: int) -> None:
    smaller = max(n, int(overlap) + 1) + extra
    found = estimates(np.full(n, 1 - doubt), told(n, doubt * n, overlap, smaller))
    assert found is not None
    for interval in (found.precision, found.recall):
        assert 0 <= interval.low <= interval.value + 1e-9 and interval.value <= interval.high + 1e-9 <= 1 + 2e-9
    assert min(found.precision.low * n, overlap) - 1e-6 <= found.overlap.low <= overlap <= found.overlap.high <= smaller


def test_more_wrong_links_to_expect_make_a_wider_range_of_precision() -> None:
    found = [estimates(np.full(1000, 1 - doubt), told(1000, 0, 900, 2000)) for doubt in (0.01, 0.05, 0.2)]
    widths = [width(each.precision) for each in found if each]
    assert widths == sorted(widths) and len(set(widths)) == 3


def test_few_right_pairs_make_wider_ranges_of_everything_than_many() -> None:
    few, many = (shared_objects(np.full(n, 0.8), 0, 0, 4 * n) for n in (50, 5000))
    assert width(few) / few.value > width(many) / many.value
    assert caution_of(40) > caution_of(400) > caution_of(4000) > 1


@pytest.mark.parametrize(("given_pairs", "found"), [(15, 6), (15, 15), (100, 36), (4, 0)])
def test_given_pairs_that_come_back_say_how_many_true_pairs_are_candidates(given_pairs: int, found: int) -> None:
    drawn = np.random.default_rng(0).beta(found + 0.5, given_pairs - found + 0.5, 200_000)
    share = mutual_share(given_pairs, found)
    expected = (drawn.mean(), *np.quantile(drawn, [0.05, 0.95]))
    assert (share.value, share.low, share.high) == pytest.approx(expected, abs=3e-3)


def test_without_given_pairs_twice_as_many_objects_may_be_shared_as_there_are_candidates() -> None:
    nothing, some = (shared_objects(np.full(500, 0.9), *each, 5000) for each in ((0, 0), (100, 97)))
    assert nothing.high > 1.9 * nothing.value > 1.5 * some.high
    assert shared_objects(np.zeros(3), 0, 0, 10).range == (0.0, 0.0)


def test_nothing_is_estimated_where_the_method_estimates_nothing() -> None:
    links = Links(np.array([[0, 0]]), np.ones(1), Summary("geh", 5, 5, 1))
    assert estimate(links) is None


def test_the_ranges_in_the_summary_are_those_of_the_links_that_are_kept() -> None:
    links = span_papers.linked()
    assert with_ranges(links.summary, links.probability) == links.summary, "linking has put them there"
    sure = links.at(precision=0.99)
    assert with_ranges(sure.summary, sure.probability) == sure.summary
    found = estimate(sure)
    assert sure.summary.precision_range == (found.precision.low, found.precision.high)
    assert sure.summary.recall_range == (found.recall.low, found.recall.high)
    assert sure.summary.overlap_range == links.summary.overlap_range
    none = with_ranges(Summary("geh", 5, 5, 1, overlap_range=(1, 2)), np.ones(1))
    assert none.overlap_range is None


@pytest.mark.parametrize("caution", [0.0, -1.0, float("nan"), float("inf")])
def test_a_caution_that_no_summary_has_does_no_harm(caution: float) -> None:
    found = estimates(np.full(400, 0.98), told(400, 8, 900.0, 2000, caution=caution))
    assert 0 <= found.precision.low <= found.precision.value <= found.precision.high <= 1
    assert found.overlap.low <= 900 <= found.overlap.high <= 2000


def test_the_best_threshold_has_the_largest_expected_f1() -> None:
    probability = np.array([1.0, 0.9, 0.8, 0.4, 0.3, 0.1])
    expected = [2 * probability[:n].sum() / (n + 3.0) for n in range(1, 7)]
    assert best_threshold(probability, 3.0) == int(np.argmax(expected)) + 1 == 3


def test_of_no_pairs_none_are_kept() -> None:
    assert best_threshold(np.empty(0), 3.0) == 0


def test_the_table_of_wanted_precisions_has_what_is_kept_and_its_recall() -> None:
    probability = np.array([1.0, 1.0, 0.96, 0.9, 0.5])
    pairs = np.column_stack([np.arange(5), np.arange(5)])
    summary = Summary("span", 9, 9, 5, precision=0.872, recall=0.545, overlap=8.0)
    found = thresholds(Links(pairs, probability, summary))
    assert [(line.precision, line.n_links) for line in found] == [(0.99, 2), (0.95, 4), (0.9, 4)]
    assert found[0].recall == pytest.approx(2 / 8) and found[1].recall == pytest.approx(3.86 / 8)
    assert isinstance(found[0], Threshold)


def test_there_is_no_such_table_where_precision_is_not_estimated() -> None:
    assert thresholds(Links(np.array([[0, 0]]), np.ones(1), Summary("geh", 5, 5, 1))) == ()


def test_where_less_than_one_object_seems_shared_one_is_taken_to_be() -> None:
    assert best_threshold(np.array([0.5, 0.3]), 0.0) == 2
    assert best_threshold(np.array([0.5, 0.2]), 0.0) == 1
