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
    every = np.concatenate([calibrated().positions, calibrated().others])
    assert len(np.unique(every)) == len(every)
    assert calibrated().other_probability.mean() < 0.5 * calibrated().probability.mean()


@pytest.mark.parametrize(("n_a", "n_b"), [(60, 90), (90, 60)])
def test_no_more_objects_are_shared_than_the_smaller_side_has(n_a: int, n_b: int) -> None:
    small, near = golden_calibration.one_small_side(n_a, n_b)
    found = calibrate(small, near, k=10)
    assert found.overlap == 60.0
    assert found.probability.sum() / 0.97 > 60.0, "the estimate alone would be more"


def test_another_count_of_right_candidates_moves_all_log_odds_alike() -> None:
    before, after = calibrated(), recounted(calibrated(), 0.3, smaller=300)
    assert after.probability.mean() == pytest.approx(0.3, abs=1e-6) and before.probability.mean() > 0.4
    assert after.overlap == pytest.approx(0.3 * len(before.positions) / MUTUAL_SHARE)
    moved = logit(after.probability) - logit(before.probability)
    inside = (before.probability > 1e-4) & (before.probability < 1 - 1e-4)
    assert moved[inside] == pytest.approx(np.full(inside.sum(), np.median(moved)), abs=1e-3)
    assert np.array_equal(after.positions, before.positions)
    assert recounted(before, 0.9, smaller=40).overlap == 40
