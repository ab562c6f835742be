"""Logistic regression of weighted targets, and probabilities that sum to a wanted total."""

from __future__ import annotations

import numpy as np

from veclink.confidence.constants import FEATURE_RIDGE


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    """The probability with these log odds: 1 / (1 + exp(−x))."""
    bounded = np.clip(log_odds, -60.0, 60.0)  # no sound fit goes so far
    return 1 / (1 + np.exp(-bounded))


def logit(probability: np.ndarray | float, least: float = 1e-9) -> np.ndarray:
    """The log odds of these probabilities, which are taken to be at least `least` from 0 and from 1."""
    bounded = np.clip(probability, least, 1 - least)
    return np.log(bounded / (1 - bounded))


def with_total(log_odds: np.ndarray, total: float) -> np.ndarray:
    """Probabilities with these log odds (n,), all shifted alike so that they sum to `total`; by bisection."""
    low, high = -40.0, 40.0
    for _ in range(50):
        shift = (low + high) / 2
        if sigmoid(log_odds + shift).sum() < total:
            low = shift
        else:
            high = shift
    return sigmoid(log_odds + (low + high) / 2)


def logistic_regression(features: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Coefficients (1 + f,) by Newton's method, the intercept first; FEATURE_RIDGE on all but the intercept.

    Parameters
    ----------
    features : (n, f) float64
    targets : (n,) float64
        0 or 1, or anything between.
    weights : (n,) float64
        How much each line counts.
    """
    design = np.column_stack([np.ones(len(features)), features])
    ridge = np.r_[1e-6, np.full(features.shape[1], FEATURE_RIDGE)]
    coefficients = np.zeros(design.shape[1])
    for _ in range(50):
        fitted = sigmoid(design @ coefficients)
        residual = weights * (fitted - targets)
        gradient = design.T @ residual + ridge * coefficients
        spread = weights * fitted * (1 - fitted)
        curvature = (design * spread[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        coefficients -= step * min(1.0, 5.0 / max(largest, 1e-12))
        if largest < 1e-6:
            break
    return coefficients
