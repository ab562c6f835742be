"""Scoring: which share of the true pairs are mutual candidates, by the pairs that were given."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.candidates import Candidates
from veclink.linkers.span.scoring import mutual_share


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
