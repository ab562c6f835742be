"""Logistic regression against data whose weights are known, and totals that are met."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.logistic import logistic_regression, with_total


def test_logistic_regression_finds_the_weights_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 2))
    labels = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-(0.5 + x @ [2.0, -1.0])))).astype(float)
    found = logistic_regression(x, labels, np.ones(len(x)))
    assert np.allclose(found, [0.5, 2.0, -1.0], atol=0.1)


def test_a_line_that_weighs_two_counts_like_two_lines() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 2))
    labels = (rng.uniform(size=100) < 0.5).astype(float)
    twice = logistic_regression(x, labels, np.full(100, 2.0))
    doubled = logistic_regression(np.tile(x, (2, 1)), np.tile(labels, 2), np.ones(200))
    assert np.allclose(twice, doubled)


def test_probabilities_are_shifted_to_the_wanted_total_in_the_same_order() -> None:
    shifted = with_total(np.array([-3.0, 0.0, 2.0, 5.0]), 1.5)
    assert shifted.sum() == pytest.approx(1.5, abs=1e-6)
    assert np.all(np.diff(shifted) > 0)
