"""Features: rivals are the best others, and what is worth measuring is measured."""

from __future__ import annotations

import numpy as np

import golden_calibration
from span_papers import candidates, neighbourhoods
from veclink.confidence.candidates import Candidates
from veclink.confidence.features import Standard, best_other, candidate_pairs, worth_measuring


def test_the_best_other_is_the_first_of_a_list_that_is_not_excluded() -> None:
    listed = np.array([[4, 7, 9], [4, 7, 9], [4, 7, -1], [4, -1, -1]])
    assert best_other(listed, np.array([4, 7, 9, 4])).tolist() == [7, 4, 4, -1]
    assert best_other(listed, np.array([4, 4, 4, 4]), np.array([7, 9, 7, 4])).tolist() == [9, 7, -1, -1]


def test_the_rival_of_a_mutual_candidate_is_the_best_of_all_others_of_its_row() -> None:
    found = candidates()
    mutual = found.mutual()[::25]
    pairs = candidate_pairs(found, neighbourhoods(), mutual)
    for line, position in enumerate(mutual):
        others_of_a = (found.rows_a == found.rows_a[position]) & (np.arange(len(found.rows_a)) != position)
        others_of_b = (found.rows_b == found.rows_b[position]) & (np.arange(len(found.rows_b)) != position)
        assert pairs.rival_in_b[line] == max(found.score[others_of_a], default=-1.0)
        assert pairs.rival_in_a[line] == max(found.score[others_of_b], default=-1.0)


def test_the_neighbourhoods_of_links_and_of_their_rivals_are_measured_and_no_others() -> None:
    found = candidates()
    mutual = found.mutual()
    few = worth_measuring(found, mutual[:10])
    every = worth_measuring(found, None)
    assert set(mutual) <= set(few) <= set(every)
    assert len(few) <= len(mutual) + 20 < len(every)
    unmeasured = np.setdiff1d(np.arange(len(found.rows_a)), every)
    assert np.all(neighbourhoods()[unmeasured, :2] == 0)


def test_standardised_features_have_mean_0_and_spread_1() -> None:
    features = np.random.default_rng(0).normal(3.0, 2.0, (500, 3))
    standardised = Standard.of(features).applied(features)
    assert np.allclose(standardised.mean(axis=0), 0) and np.allclose(standardised.std(axis=0), 1)


def test_the_best_other_candidate_is_the_first_that_is_not_excluded() -> None:
    listed = np.array([[4, 0, 7], [0, 4, -1], [4, -1, -1]])
    assert best_other(listed, np.array([4, 4, 4])).tolist() == [0, 0, -1]
    assert best_other(listed, np.array([4, 0, 4]), np.array([0, 4, 9])).tolist() == [7, -1, -1]


def test_the_two_best_of_the_rows_of_fitted_links_are_measured() -> None:
    found, _ = golden_calibration.one_small_side(6, 9)
    mutual = found.mutual()
    last = len(found.rows_a) - 1
    assert last in found.best_a[:, :2], "the last candidate is one like any other"
    everything = worth_measuring(found, None)
    assert everything.tolist() == sorted({*found.best_a[:, :2].ravel(), *found.best_b[:, :2].ravel()} - {-1})
    for fitted in (mutual[:1], mutual[-1:], mutual[2:4]):
        near_a = found.best_a[found.rows_a[fitted], :2].ravel()
        near_b = found.best_b[found.rows_b[fitted], :2].ravel()
        assert worth_measuring(found, fitted).tolist() == sorted({*mutual, *near_a, *near_b} - {-1})


def test_a_third_candidate_is_not_measured() -> None:
    rows = np.zeros(3, np.int64)
    listed = np.array([[2, 0, 1]])
    alone = np.array([[0, -1, -1], [1, -1, -1], [2, -1, -1]])
    few = Candidates(rows, np.arange(3), np.array([0.5, 0.1, 0.9], np.float32), np.ones(3, np.float32),
                     np.zeros(1), np.zeros(3), listed, alone)  # fmt: skip
    assert worth_measuring(few, np.array([2])).tolist() == [0, 2]
    turned = Candidates(np.arange(3), rows, few.score, few.cosine, np.zeros(3), np.zeros(1), alone, listed)
    assert worth_measuring(turned, np.array([2])).tolist() == [0, 2]
