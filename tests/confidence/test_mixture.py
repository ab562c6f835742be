"""The mixture: how many candidates are wrong. Its numbers are in `test_golden`."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.decoys import Decoys
from veclink.confidence.mixture import Sample, first_guess, joined, two_normals, wrong_by_rate


def test_the_first_guess_rises_from_0_to_1_between_two_quantiles_of_the_score() -> None:
    guess = first_guess(np.linspace(0, 1, 101))
    assert guess[30] == pytest.approx(0) and guess[29] == 0
    assert guess[95] == pytest.approx(1) and guess[100] == 1
    assert guess[62] == pytest.approx(((0.62 - 0.3) / 0.65) ** 2)
    assert first_guess(np.ones(5)).tolist() == [0.0] * 5


def sample_of(n: int, made_of_a: int, made_of_b: int, rows: tuple[float, float]) -> Sample:
    """n candidates, of which so many make a decoy on either side."""
    features, one = np.zeros((n, 1)), np.ones(1)
    of_a, of_b = (
        Decoys(side, np.arange(made), np.arange(made), np.arange(made))
        for side, made in (("a", made_of_a), ("b", made_of_b))
    )
    none = np.zeros((made_of_a + made_of_b, 1))
    return Sample(np.zeros(n), features, one, one, (of_a, of_b), none, *rows)


def test_rows_without_a_partner_end_in_wrong_pairs_as_often_as_decoys_are_made() -> None:
    sample = sample_of(970, 194, 194, (2000.0, 2000.0))  # a fifth of the removals made one, 1,000 rows have no partner
    count, error = wrong_by_rate(sample, np.ones(970))
    assert count == pytest.approx(0.2 * 1000) and 0.08 < error / count < 0.12


def test_two_counts_are_weighed_by_their_errors() -> None:
    sure_of_rate, sure_of_regression = (joined(1000, 200, error, 400, None, right=600) for error in (0.1, 1e3))
    assert sure_of_rate == pytest.approx(200, abs=1) and sure_of_regression == pytest.approx(400, abs=1)
    error_of_regression = 0.035 * 400  # of the wrong ones, which is less than a fifth of the right ones
    assert joined(1000, 200, error_of_regression, 400, None, right=600) == pytest.approx(300, abs=1)


@pytest.mark.parametrize(("apart", "wrong"), [(1.9, 200), (3.1, 500)])
def test_components_that_stand_clearly_apart_raise_the_count(apart: float, wrong: float) -> None:
    assert joined(1000, 200, 0.1, 200, (500.0, apart), right=800) == pytest.approx(wrong, abs=1)
    assert joined(1000, 200, 0.1, 200, (50.0, apart), right=800) == pytest.approx(200, abs=1), "and never lower it"
    assert joined(99, 20, 0.1, 20, (50.0, apart), right=79) == pytest.approx(20, abs=1), "of few, chance makes them"


def test_some_candidates_are_always_right_and_some_wrong() -> None:
    assert joined(1000, 0, 1.0, -5, None, right=900) == pytest.approx(20)
    assert joined(1000, 2000, 1.0, 1000, None, right=10) == pytest.approx(980)


@pytest.mark.parametrize(("n_wrong", "n_right"), [(300, 700), (30, 970), (800, 200)])
def test_two_components_that_stand_apart_are_counted_from_a_poor_beginning(n_wrong: int, n_right: int) -> None:
    rng = np.random.default_rng(0)
    log_odds = np.r_[rng.normal(-3, 1, n_wrong), rng.normal(3, 1, n_right)]
    wrong, apart = two_normals(log_odds, 1 / (1 + np.exp(-(log_odds - 1))))
    assert wrong == pytest.approx(n_wrong, rel=0.1) and apart > 5
