"""The share of new rows that have a partner: of one row it is that of the fit, of many it is what they say."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.uses.new_rows import with_prior


def log_odds(n: int, shared: float, rng: np.random.Generator) -> np.ndarray:
    """Of n rows, of which so many have a partner, under a model fitted where half have: every row has a candidate."""
    is_right = np.arange(n) < shared * n
    return np.where(is_right, rng.normal(2, 2, n), rng.normal(-2, 2, n))  # the log ratio of the two is 2x/2 = x


def test_one_row_is_judged_as_the_rows_of_the_fit() -> None:
    probability, shared = with_prior(np.array([0.0]), 0.5, 1)
    assert probability[0] == pytest.approx(0.5, abs=0.02) and shared == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("share", [0.1, 0.7, 0.95])
def test_many_rows_say_how_many_of_them_have_a_partner(share: float) -> None:
    odds = log_odds(2000, share, np.random.default_rng(0))
    probability, shared = with_prior(odds, 0.5, 2000)
    assert shared == pytest.approx(share, abs=0.05)
    assert probability.mean() == pytest.approx(share, abs=0.05)


def test_rows_without_a_candidate_have_no_partner() -> None:
    _, shared = with_prior(np.full(50, 5.0), 0.5, 500)
    assert shared == pytest.approx(0.1, abs=0.03)
