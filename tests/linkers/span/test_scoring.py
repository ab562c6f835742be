"""Scoring: which share of the true pairs are mutual candidates, by the pairs that were given."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.candidates import Candidates
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.scoring import anchor_weights, mutual_share, refits_of


def three_links() -> Candidates:
    """Rows 0, 1 and 2 of four on either side are each other's best."""
    rows = np.arange(3)
    best = np.full((4, 3), -1)
    best[:3, 0] = rows
    score = np.ones(3, np.float32)
    none = np.zeros(4, np.float32)
    return Candidates(rows, rows, score, score, none, none, best, best.copy())


def test_without_given_pairs_it_is_the_usual_share() -> None:
    assert mutual_share(three_links(), np.empty((0, 2), np.int64)) == pytest.approx(0.97)


def test_given_pairs_that_do_not_come_out_lower_it() -> None:
    given = np.array([[0, 0], [1, 1], [2, 3], [3, 2], [3, 3]])
    assert mutual_share(three_links(), given) == pytest.approx((2 + 5 * 0.97) / 10)


def test_many_given_pairs_outweigh_the_usual_share() -> None:
    given = np.repeat([[0, 0], [3, 3]], 500, axis=0)
    assert mutual_share(three_links(), given) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(("expected_f1", "refits"), [(0.0, 2), (0.89, 2), (0.9, 0), (1.0, 0)])
def test_maps_are_fitted_again_where_something_is_missing(expected_f1: float, refits: int) -> None:
    assert refits_of(SpanOptions(), expected_f1) == refits


def test_what_was_told_counts_whatever_is_missing() -> None:
    assert [refits_of(SpanOptions(refits=3), expected_f1) for expected_f1 in (0.1, 0.95)] == [3, 3]
    assert refits_of(SpanOptions(refits=0), 0.1) == 0


def test_a_candidate_that_seems_wrong_is_an_anchor_still() -> None:
    assert anchor_weights(np.array([0.0, 0.5, 1.0])) == pytest.approx([0.1, 0.55, 1.0])
