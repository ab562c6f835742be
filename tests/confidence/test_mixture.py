"""The mixture: how many candidates are wrong, and the log odds of new ones. Its numbers are in `test_golden`."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.decoys import Decoys
from veclink.confidence.features import Standard
from veclink.confidence.mixture import Mixture, Sample, _recounted, _tempered, count_among_decoys, first_guess


def test_the_log_odds_of_new_candidates_follow_from_the_coefficients() -> None:
    mixture = Mixture(np.empty(0), np.array([0.5, 2.0, -1.0]), np.empty(0))
    assert mixture.log_odds(np.array([[1.0, 1.0], [0.0, 3.0]])).tolist() == [1.5, -2.5]


def test_the_first_guess_rises_from_0_to_1_between_two_quantiles_of_the_score() -> None:
    guess = first_guess(np.linspace(0, 1, 101))
    assert guess[30] == pytest.approx(0) and guess[29] == 0
    assert guess[95] == pytest.approx(1) and guess[100] == 1
    assert guess[62] == pytest.approx(((0.62 - 0.3) / 0.65) ** 2)
    assert first_guess(np.ones(5)).tolist() == [0.0] * 5


def sample_of(places: np.ndarray, decoy_places: np.ndarray, sources: np.ndarray) -> Sample:
    """Candidates and decoys with one feature; all decoys are of side A."""
    features, decoy_features = places[:, None], decoy_places[:, None]
    none = np.empty(0, np.int64)
    decoys = Decoys("a", sources, sources, sources, len(places)), Decoys("b", none, none, none, len(places))
    n = float(len(places))
    return Sample(places, Standard.of(features), features, decoys, decoy_features, n, n)


def test_candidates_that_lie_among_the_decoys_are_counted_as_wrong() -> None:
    rng = np.random.default_rng(0)
    places = np.r_[rng.normal(6, 1, 700), rng.normal(0, 1, 300)]
    probability = np.r_[np.ones(700), np.zeros(300)]
    sample = sample_of(places, rng.normal(0, 1, 700), np.arange(700))
    assert count_among_decoys(sample, np.array([0.0, 1.0]), probability) == pytest.approx(300, rel=0.15)


def test_without_decoys_nothing_is_counted_among_them() -> None:
    none = sample_of(np.arange(50.0), np.empty(0), np.empty(0, np.int64))
    assert count_among_decoys(none, np.array([0.0, 1.0]), np.ones(50)) is None
    one = sample_of(np.arange(50.0), np.zeros(1), np.zeros(1, np.int64))
    assert count_among_decoys(one, np.array([0.0, 1.0]), np.ones(50)) is None


def test_decoys_of_wrong_links_do_not_count() -> None:
    rng = np.random.default_rng(0)
    places = np.r_[rng.normal(6, 1, 700), rng.normal(0, 1, 300)]
    probability = np.r_[np.ones(700), np.zeros(300)]
    decoy_places = np.r_[rng.normal(0, 1, 700), rng.normal(-3, 1, 300)]
    sample = sample_of(places, decoy_places, np.arange(1000))
    assert count_among_decoys(sample, np.array([0.0, 1.0]), probability) == pytest.approx(300, rel=0.15)


def test_where_few_are_right_log_odds_are_drawn_together_and_as_many_stay_right() -> None:
    probability = np.r_[np.full(10, 0.99), np.full(90, 0.01)]
    tempered = _tempered(Mixture(probability, np.array([0.0, 1.0]), np.empty(0)))
    assert tempered.probability.sum() == pytest.approx(probability.sum())
    assert tempered.probability[0] < 0.97 and tempered.probability[-1] > 0.01
    assert tempered.coefficients[1] == pytest.approx(0.65 + 0.85 * probability.mean())


def test_where_many_are_right_nothing_is_tempered() -> None:
    probability = np.r_[np.full(60, 0.99), np.full(40, 0.01)]
    tempered = _tempered(Mixture(probability, np.array([0.0, 1.0]), np.empty(0)))
    assert tempered.probability == pytest.approx(probability, abs=1e-9)
    assert tempered.coefficients.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("share", "sign"), [(0.2, -1), (0.4, -1), (0.6, -1), (0.8, 1), (0.95, 1)])
def test_of_few_candidates_fewer_are_right_below_seventy_percent_and_more_above(share: float, sign: int) -> None:
    before = Mixture(np.full(100, share), np.empty(0), np.empty(0))
    after = _recounted(before).probability.mean()
    assert sign * (after - share) > 0.01


def test_of_many_candidates_nothing_is_recounted() -> None:
    probability = np.r_[np.full(1200, 0.9), np.full(2800, 0.05)]
    after = _recounted(Mixture(probability, np.empty(0), np.empty(0))).probability
    assert after == pytest.approx(probability, abs=1e-4)


def test_candidates_that_are_all_right_or_all_wrong_stay_so() -> None:
    for every in (0.0, 1.0):
        after = _recounted(Mixture(np.full(50, every), np.empty(0), np.empty(0))).probability
        assert after == pytest.approx(np.full(50, every), abs=0.01)
