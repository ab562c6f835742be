"""Calibration: probabilities without labels that agree with the labels kept back."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import golden_calibration
from span_papers import candidates, neighbourhoods, some_papers
from veclink.confidence.calibration import Calibrated, calibrate, recounted
from veclink.confidence.candidates import Candidates
from veclink.confidence.constants import MUTUAL_SHARE
from veclink.confidence.logistic import logit


@cache
def calibrated() -> Calibrated:
    return calibrate(candidates(), neighbourhoods(), k=10)


def _right(found: Candidates, positions: np.ndarray) -> np.ndarray:
    return some_papers().right(np.column_stack([found.rows_a[positions], found.rows_b[positions]]))


def test_the_mean_probability_is_the_share_of_right_candidates() -> None:
    right = _right(candidates(), calibrated().positions)
    # On 300 rows the estimate runs some points high; on thousands it is within two: `veclink bench real`.
    assert calibrated().probability.mean() == pytest.approx(right.mean(), abs=0.1)
    assert calibrated().overlap == pytest.approx(len(some_papers().truth), rel=0.15)


def test_probabilities_separate_right_from_wrong_candidates() -> None:
    right, probability = _right(candidates(), calibrated().positions), calibrated().probability
    assert np.all(np.diff(probability) <= 0) and probability.min() >= 0 and probability.max() <= 1
    assert probability[right].mean() > probability[~right].mean() + 0.4
    assert np.mean(probability[right][:, None] > probability[~right]) > 0.95


def test_candidates_that_are_not_mutual_are_less_probable() -> None:
    every, probability = calibrated().ranked()
    assert len(np.unique(every)) == len(every) == len(probability)
    assert calibrated().other_probability.mean() < 0.5 * calibrated().probability.mean()


def test_fewer_than_three_candidates_get_no_probability() -> None:
    two = Candidates(
        np.array([0, 1]), np.array([0, 1]), np.ones(2, np.float32), np.ones(2, np.float32), np.zeros(2), np.zeros(2),
        np.array([[0, -1, -1], [1, -1, -1]]), np.array([[0, -1, -1], [1, -1, -1]]),
    )  # fmt: skip
    result = calibrate(two, np.zeros((2, 4)), k=10)
    assert result.probability.tolist() == [0.0, 0.0] and result.overlap == 0
    assert len(result.others) == len(result.other_probability) == 0
    assert result.model is None


def test_calibrating_a_part_of_the_candidates_gives_all_of_them_about_the_same_probability() -> None:
    """As for very many: the mixture is fitted to some, as if the clouds were that much smaller."""
    mutual = candidates().mutual()
    some = np.sort(np.random.default_rng(0).choice(mutual, len(mutual) * 2 // 3, replace=False))
    part = calibrate(candidates(), neighbourhoods(), some, k=10, runners_up=False)
    assert len(part.positions) == len(mutual) and not len(part.others)
    assert part.probability.mean() == pytest.approx(calibrated().probability.mean(), abs=0.08)
    assert part.overlap == pytest.approx(calibrated().overlap, rel=0.12)
    order = np.argsort(part.positions), np.argsort(calibrated().positions)
    both = part.probability[order[0]], calibrated().probability[order[1]]
    assert np.corrcoef(*both)[0, 1] > 0.98


def test_the_decoys_of_the_model_stand_for_the_candidates_that_are_expected_to_be_wrong() -> None:
    model = calibrated().model
    assert model is not None and len(model.features) == len(model.weights)
    assert model.decoy_weight.sum() == pytest.approx((1 - calibrated().probability).sum())
    of_decoys = np.average(model.decoy_probability, weights=model.decoy_weight)
    assert of_decoys < calibrated().probability.mean() - 0.3


@pytest.mark.parametrize(("n_a", "n_b"), [(60, 90), (90, 60)])
def test_no_more_objects_are_shared_than_the_smaller_side_has(n_a: int, n_b: int) -> None:
    small, near = golden_calibration.one_small_side(n_a, n_b)
    found = calibrate(small, near, k=10)
    assert found.overlap == 60.0
    assert found.probability.sum() / 0.97 > 60.0, "the estimate alone would be more"


def test_a_runner_up_is_a_runner_up_wherever_it_stands_among_the_candidates() -> None:
    small, near = golden_calibration.one_small_side(60, 90)
    assert 0 not in small.mutual()
    assert 0 in calibrate(small, near, k=10).others


def test_three_candidates_are_enough_for_a_probability() -> None:
    small, near = golden_calibration.one_small_side(3, 5)
    assert len(small.mutual()) == 3
    found = calibrate(small, near, k=10)
    assert found.model is not None and found.probability.min() > 0


def test_another_count_of_right_candidates_moves_all_log_odds_alike() -> None:
    before, after = calibrated(), recounted(calibrated(), 0.3, smaller=300)
    assert after.share_right == pytest.approx(0.3, abs=1e-6) and before.share_right > 0.4
    assert after.overlap == pytest.approx(0.3 * len(before.positions) / MUTUAL_SHARE)
    moved = logit(after.probability) - logit(before.probability)
    inside = (before.probability > 1e-4) & (before.probability < 1 - 1e-4)
    assert moved[inside] == pytest.approx(np.full(inside.sum(), np.median(moved)), abs=1e-3)
    assert np.array_equal(after.positions, before.positions)
    assert recounted(before, 0.9, smaller=40).overlap == 40


def test_the_model_and_its_decoys_follow_another_count() -> None:
    before, after = calibrated(), recounted(calibrated(), 0.3, smaller=300)
    assert before.model is not None and after.model is not None
    moved = float(np.median(logit(after.probability) - logit(before.probability)))
    assert after.model.base - before.model.base == pytest.approx(moved)
    assert after.model.decoy_probability.max() < before.model.decoy_probability.max()
    assert after.model.decoy_weight.sum() == pytest.approx(0.7 * len(before.positions), rel=1e-6)
    assert np.array_equal(after.model.weights, before.model.weights)


def test_candidates_that_are_not_mutual_follow_another_count_too() -> None:
    before, after = calibrated(), recounted(calibrated(), 0.3, smaller=300)
    moved = float(np.median(logit(after.probability) - logit(before.probability)))
    some = (before.other_probability > 1e-4) & (before.other_probability < 1 - 1e-4)
    assert some.any()
    expected = logit(before.other_probability[some]) + moved
    assert logit(after.other_probability[some]) == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(after.other_probability == 0, before.other_probability == 0)


def test_no_candidates_have_no_share_that_is_right() -> None:
    none = Calibrated(np.empty(0, np.int64), np.empty(0), 0.0, np.empty(0, np.int64), np.empty(0))
    assert none.share_right == 0.0 and none.best_f1 == 0.0


def test_the_f1_to_be_expected_is_that_of_the_surest_candidates() -> None:
    two = Calibrated(np.arange(3), np.array([1.0, 0.8, 0.1]), 2.0, np.empty(0, np.int64), np.empty(0))
    assert two.best_f1 == pytest.approx(2 * 1.8 / (2 + 2.0))
