"""The mixture: which share of the mutual candidates is right, and how likely each is, without labels.

A logistic regression separates the candidates from decoys; its output weighs the candidates for the next one, until
nothing moves (expectation–maximisation). How many candidates are wrong is counted twice, by the regression and by the
rate at which rows without a partner end in a wrong pair; the two are weighed by their errors. Where right and wrong
ones stand apart as two normal components, at least as many are wrong as are in the lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.confidence.constants import (
    DECOY_RATE_INFLATION,
    FIRST_GUESS_QUANTILES,
    MAX_ROUNDS,
    MIN_CANDIDATES_FOR_NORMALS,
    MIN_WRONG_SHARE,
    MIXTURE_CONVERGED,
    MUTUAL_SHARE,
    NORMALS_APART,
    OWN_DOUBT_SHARE,
    RATE_ERROR,
    REGRESSION_ERROR,
)
from veclink.confidence.decoys import Decoys
from veclink.confidence.logistic import logistic_regression, logit, sigmoid, with_total


@dataclass(frozen=True, eq=False)
class Sample:
    """What a mixture is fitted to: n mutual candidates and the decoys that are made of them."""

    score: np.ndarray  # (n,) float32
    features: np.ndarray  # (n, f) float64, standardised
    centre: np.ndarray  # (f,) their means before that
    scale: np.ndarray  # (f,) their spreads
    decoys: tuple[Decoys, Decoys]  # made on side A and on side B
    decoy_features: np.ndarray  # (d, f) of all decoys, those of side A first, standardised as those of the candidates
    n_a: float  # rows of the clouds; where only a part of the candidates is fitted, that part of the rows
    n_b: float


def fit_mixture(sample: Sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What tells right candidates from wrong ones, by expectation–maximisation.

    Every candidate stands in both classes of the regression, by its probability in the right one and by its doubt in
    the wrong one; the decoys stand in the wrong one.

    Returns
    -------
    probability : (n,) float64
        That each candidate is right.
    coefficients : (1 + f,) float64
        Of the last regression, the intercept first.
    decoy_weight : (d,) float64
        How much each decoy counted in it.
    """
    n = len(sample.score)
    probability = first_guess(sample.score)
    by_regression = n - float(probability.sum())
    log_odds = None
    lines = np.concatenate([sample.features, sample.features, sample.decoy_features])
    targets = np.r_[np.ones(n), np.zeros(len(lines) - n)]
    for _ in range(MAX_ROUNDS):
        by_rate, error = wrong_by_rate(sample, probability)
        counted = partial(joined, n, by_rate, error, right=float(probability.sum()))
        normals = None if log_odds is None else two_normals(log_odds, probability)
        decoy_weight = np.concatenate([decoys.weights(probability) for decoys in sample.decoys])
        wrong, doubt = counted(by_regression, normals), 1 - probability
        own_share = OWN_DOUBT_SHARE * wrong * doubt / max(doubt.sum(), 1e-9)
        decoy_share = (1 - OWN_DOUBT_SHARE) * wrong * decoy_weight / max(decoy_weight.sum(), 1e-9)
        coefficients = logistic_regression(lines, targets, np.r_[probability, own_share, decoy_share])
        log_odds = coefficients[0] + sample.features @ coefficients[1:]
        by_regression = n - float(sigmoid(log_odds).sum())
        fresh = with_total(log_odds, n - counted(by_regression, normals))
        moved = np.abs(fresh - probability).mean()
        probability = fresh
        if moved < MIXTURE_CONVERGED:
            break
    return probability, coefficients, decoy_weight


def wrong_by_rate(sample: Sample, probability: np.ndarray) -> tuple[float, float]:
    """How many candidates are wrong, of the rows without a partner as many as the decoys' rate says; and its error.

    Wrong pairs in the pool bend the maps towards themselves, which removing one does not undo: DECOY_RATE_INFLATION.
    """
    most_right = (1 - MIN_WRONG_SHARE) * MUTUAL_SHARE * min(sample.n_a, sample.n_b)
    right = min(float(probability.sum()), most_right)
    rates = np.array([decoys.rate(probability) for decoys in sample.decoys])
    alone = np.array([sample.n_a, sample.n_b]) - right / MUTUAL_SHARE
    count = (1 + DECOY_RATE_INFLATION * (1 - right / len(sample.score))) * float((alone * rates).mean())
    rate = np.clip(rates.mean(), MIN_WRONG_SHARE, 1 - MIN_WRONG_SHARE)
    # two decoys at most are made of each right link: that many draws, with this relative variance
    sampling = (1 - rate) / (rate * max(2 * right, 1.0))
    return count, count * float(np.sqrt(sampling + RATE_ERROR**2))


def joined(
    n: int, by_rate: float, error: float, by_regression: float, normals: tuple[float, float] | None, *, right: float
) -> float:
    """How many of n candidates are wrong: two counts weighed by their errors, some always wrong and some right.

    Where two normal components of the log odds stand apart (`two_normals`), there are at least as many wrong ones as
    they say: rows without a partner may be of another kind on both sides, which no decoy shows.

    right: how many seem to be right so far, for the error of the regression's count.
    """
    of_right, of_wrong = REGRESSION_ERROR
    error_by_regression = min(of_right * max(right, 1.0), of_wrong * max(n - right, 1.0))
    trust = 1 / (1 + (error / error_by_regression) ** 2)
    count = logit((trust * by_rate + (1 - trust) * by_regression) / n, least=MIN_WRONG_SHARE)
    if normals is not None and n >= MIN_CANDIDATES_FOR_NORMALS:
        wrong, apart = normals
        overlapping, clear = NORMALS_APART
        trust = np.clip((apart - overlapping) / (clear - overlapping), 0.0, 1.0)
        count += trust * max(0.0, logit(wrong / n, least=MIN_WRONG_SHARE) - count)
    return n * float(sigmoid(count))


def two_normals(log_odds: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """How many of the values (n,) are in the lower of two normal components, and how far apart these are (d′).

    upper: (n,) the probability that each is in the upper one, to begin with.
    """
    for _ in range(MAX_ROUNDS):
        shares = np.stack([1 - upper, upper])
        totals = shares.sum(axis=1) + 1e-6
        means = shares @ log_odds / totals
        gaps = log_odds - means[:, None]
        variances = (shares * gaps**2).sum(axis=1) / totals + 1e-2  # a few values that are alike keep a width
        density = np.log(totals / np.sqrt(variances))[:, None] - gaps**2 / (2 * variances[:, None])
        fresh = sigmoid(density[1] - density[0])
        # beyond the means never more likely of the other component
        fresh = np.where(log_odds > means[1], np.maximum(fresh, 0.5), fresh)
        fresh = np.where(log_odds < means[0], np.minimum(fresh, 0.5), fresh)
        moved = np.abs(fresh - upper).max()
        upper = fresh
        if moved < MIXTURE_CONVERGED:
            break
    return float((1 - upper).sum()), float((means[1] - means[0]) / np.sqrt(variances.mean()))


def first_guess(score: np.ndarray) -> np.ndarray:
    """Probabilities to start from, by the score alone: (n,)."""
    low, high = np.quantile(score, FIRST_GUESS_QUANTILES)
    width = max(float(high - low), 1e-9)
    return np.clip((score - low) / width, 0.0, 1.0) ** 2
