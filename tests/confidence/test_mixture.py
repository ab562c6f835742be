"""The mixture: how many candidates are wrong, and the log odds of new ones. Its numbers are in `test_golden`."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.mixture import Mixture, first_guess


def test_the_log_odds_of_new_candidates_follow_from_the_coefficients() -> None:
    mixture = Mixture(np.empty(0), np.array([0.5, 2.0, -1.0]), np.empty(0))
    assert mixture.log_odds(np.array([[1.0, 1.0], [0.0, 3.0]])).tolist() == [1.5, -2.5]


def test_the_first_guess_rises_from_0_to_1_between_two_quantiles_of_the_score() -> None:
    guess = first_guess(np.linspace(0, 1, 101))
    assert guess[30] == pytest.approx(0) and guess[29] == 0
    assert guess[95] == pytest.approx(1) and guess[100] == 1
    assert guess[62] == pytest.approx(((0.62 - 0.3) / 0.65) ** 2)
    assert first_guess(np.ones(5)).tolist() == [0.0] * 5
