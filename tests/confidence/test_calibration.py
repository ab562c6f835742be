"""Confidence: probabilities without labels that agree with the labels kept back."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from span_papers import beside, candidates, some_papers
from veclink.confidence.calibration import Calibrated, _decoys, _logistic, _with_total, best_threshold, calibrate
from veclink.confidence.candidates import Candidates


@cache
def calibrated() -> Calibrated:
    return calibrate(candidates(), beside(), k=10)


def _right(found: Candidates, positions: np.ndarray) -> np.ndarray:
    return some_papers().right(np.column_stack([found.rows_a[positions], found.rows_b[positions]]))


def test_the_mean_probability_is_the_share_of_right_candidates() -> None:
    right = _right(candidates(), calibrated().positions)
    # On 500 rows the estimate runs some points high; on thousands it is within two (experiments/results/span.json).
    assert calibrated().probability.mean() == pytest.approx(right.mean(), abs=0.1)
    assert calibrated().overlap == pytest.approx(len(some_papers().truth), rel=0.15)


def test_probabilities_separate_right_from_wrong_candidates() -> None:
    right, probability = _right(candidates(), calibrated().positions), calibrated().probability
    assert np.all(np.diff(probability) <= 0) and probability.min() >= 0 and probability.max() <= 1
    assert probability[right].mean() > probability[~right].mean() + 0.4
    assert np.mean(probability[right][:, None] > probability[~right]) > 0.95


@pytest.mark.parametrize("side", ["a", "b"])
def test_knock_outs_are_wrong_pairs_by_the_truth(side: str) -> None:
    """Only links that are right are knocked out here: what takes a true partner's place is wrong."""
    found = candidates()
    links = found.mutual()
    links = links[_right(found, links)]
    made = _decoys(found, beside(), links, np.ones(len(links)), 10, side)
    rows, best = (found.rows_a, found.best_a) if side == "a" else (found.rows_b, found.best_b)
    replaced = best[rows[links], 1]
    assert not _right(found, replaced[replaced >= 0]).any()
    assert 0 < made.rate < 0.6 and len(made.features) == len(made.weight) > 30


def test_the_rate_of_knock_outs_is_near_that_of_points_without_a_partner() -> None:
    found, papers = candidates(), some_papers()
    links = found.mutual()
    wrong = links[~_right(found, links)]
    links = links[_right(found, links)]
    alone = np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])
    rate = np.isin(found.rows_a[wrong], alone).sum() / len(alone)
    assert _decoys(found, beside(), links, np.ones(len(links)), 10, "a").rate == pytest.approx(rate, abs=0.15)


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


def test_best_cut_has_the_largest_expected_f1() -> None:
    probability = np.array([1.0, 0.9, 0.8, 0.4, 0.3, 0.1])
    expected = [2 * probability[:n].sum() / (n + 3.0) for n in range(1, 7)]
    assert best_threshold(probability, 3.0) == int(np.argmax(expected)) + 1 == 3
    assert best_threshold(np.empty(0), 3.0) == 0


def test_logistic_regression_finds_the_weights_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 2))
    labels = rng.uniform(size=len(x)) < 1 / (1 + np.exp(-(0.5 + x @ [2.0, -1.0])))
    assert np.allclose(_logistic(x, labels.astype(float), np.ones(len(x))), [0.5, 2.0, -1.0], atol=0.1)
    twice = _logistic(x[:100], labels[:100].astype(float), np.full(100, 2.0))
    assert np.allclose(twice, _logistic(np.tile(x[:100], (2, 1)), np.tile(labels[:100], 2).astype(float), np.ones(200)))


def test_probabilities_are_shifted_to_the_wanted_total_in_the_same_order() -> None:
    odds = np.array([-3.0, 0.0, 2.0, 5.0])
    shifted = _with_total(odds, 1.5)
    assert shifted.sum() == pytest.approx(1.5, abs=1e-6) and np.all(np.diff(shifted) > 0)
