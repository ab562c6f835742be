"""The mixture: which share of the mutual candidates is right, and how likely each is, without labels.

A logistic regression separates the candidates from decoys; its output weighs the candidates for the next one, until
nothing moves (expectation–maximisation). The number of wrong candidates comes from the regression itself and,
independently, from the decoys' rate; the two counts are weighed by their errors. The first is the better one where many
links are right, and gives way where few are. Where right and wrong ones stand clearly apart, a third count, by the
shape of the log odds alone (`bimodal`), corrects both. And where many are right, a fourth one has half the say: how
many candidates lie where most decoys do (`count_among_decoys`). Where few are right, the log odds are drawn together in
the end: a regression that teaches itself is too sure of what it found. And of few candidates too many are counted as
right where under 70 % are, and too few above, which is mended last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.confidence.bimodal import Bimodal, bimodal
from veclink.confidence.constants import (
    DECOY_RATE_INFLATION,
    FEW_CANDIDATES,
    FIRST_GUESS_QUANTILES,
    MAX_ROUNDS,
    MIN_WRONG_SHARE,
    MIXTURE_CONVERGED,
    MOST_DECOYS,
    MUTUAL_SHARE,
    OWN_DOUBT_SHARE,
    RATE_ERROR,
    REGRESSION_ERROR,
    RIGHT_OF_FEW,
    SAY_OF_DECOYS,
    SHARES_OF_SAY,
    TEMPERATURE,
    UNDAMPED_ROUNDS,
)
from veclink.confidence.decoys import Decoys
from veclink.confidence.features import Standard
from veclink.confidence.logistic import logistic_regression, logit, sigmoid, with_total


@dataclass(frozen=True, eq=False)
class Sample:
    """What a mixture is fitted to.

    Attributes
    ----------
    score : (n,) float32
        Of the mutual candidates.
    standard : Standard
        Of their features.
    features : (n, f) float64
        Their features, standardised.
    decoys : tuple of Decoys
        Made of these candidates, on side A and on side B.
    decoy_features : (d, f) float64
        Features of all decoys, those of side A first, standardised as those of the candidates are.
    n_a, n_b : float
        Rows of the clouds; where only a part of the candidates is fitted, that part of the rows.
    """

    score: np.ndarray
    standard: Standard
    features: np.ndarray
    decoys: tuple[Decoys, Decoys]
    decoy_features: np.ndarray
    n_a: float
    n_b: float

    def __len__(self) -> int:
        return len(self.score)

    def decoy_weights(self, probability: np.ndarray) -> np.ndarray:
        """How much each decoy counts, (d,), when the candidates are right with these probabilities."""
        return np.concatenate([decoys.weights(probability) for decoys in self.decoys])


@dataclass(frozen=True, eq=False)
class Mixture:
    """What was fitted.

    Attributes
    ----------
    probability : (n,) float64
        That each candidate is right.
    coefficients : (1 + f,) float64
        Of the last regression, the intercept first, tempered.
    decoy_weight : (d,) float64
        How much each decoy counted in it.
    """

    probability: np.ndarray
    coefficients: np.ndarray
    decoy_weight: np.ndarray

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        """By these coefficients, before they are shifted to the expected total: (m,) of features (m, f)."""
        return self.coefficients[0] + features @ self.coefficients[1:]


@dataclass(frozen=True)
class WrongCount:
    """How many candidates are wrong by the decoys' rate, and how far to trust that against the regression's count.

    shape: what the shape of the log odds says.
    """

    by_rate: float
    trust: float
    n_candidates: int
    shape: Bimodal

    def mixed(self, by_regression: float, among_decoys: float | None) -> float:
        """All counts in one; some are always wrong, and some right.

        among_decoys: `count_among_decoys`; None where there is none, as before the first regression.
        """
        count = self.trust * self.by_rate + (1 - self.trust) * by_regression
        count = _between(count, self.shape.wrong, self.shape.weight(count))
        if among_decoys is not None:
            count = _between(count, among_decoys, self._say_of_decoys(among_decoys))
        least = MIN_WRONG_SHARE * self.n_candidates
        most = (1 - MIN_WRONG_SHARE) * self.n_candidates
        return float(np.clip(count, least, most))

    def _say_of_decoys(self, among_decoys: float) -> float:
        """The weight of the count among the decoys: none where it says that few candidates are right."""
        share_right = 1 - among_decoys / self.n_candidates
        low, high = SHARES_OF_SAY
        return SAY_OF_DECOYS * float(np.clip((share_right - low) / (high - low), 0.0, 1.0))


def fit_mixture(sample: Sample) -> Mixture:
    """Probabilities of the candidates by expectation–maximisation."""
    n = len(sample)
    probability = first_guess(sample.score)
    right_by_regression = probability.sum()
    among_decoys = None
    for done in range(MAX_ROUNDS):
        count = wrong_count(sample, probability)
        decoy_weight = sample.decoy_weights(probability)
        wrong = count.mixed(n - right_by_regression, among_decoys)
        coefficients = _regression(sample, probability, decoy_weight, wrong)
        log_odds = coefficients[0] + sample.features @ coefficients[1:]
        among_decoys = count_among_decoys(sample, coefficients, probability)
        right_by_regression = sigmoid(log_odds).sum()
        wrong = count.mixed(n - right_by_regression, among_decoys)
        fresh = with_total(log_odds, n - wrong)
        moved = np.abs(fresh - probability).mean()
        if done < UNDAMPED_ROUNDS:
            probability = fresh
        else:
            probability = 0.5 * (fresh + probability)
        if moved < MIXTURE_CONVERGED:
            break
    return _recounted(_tempered(Mixture(probability, coefficients, decoy_weight)))


def _tempered(mixture: Mixture) -> Mixture:
    """The mixture with log odds drawn together where few candidates are right; as many are right as before."""
    probability = mixture.probability
    least, by_share = TEMPERATURE
    temper = min(1.0, least + by_share * float(probability.mean()))
    log_odds = temper * logit(probability)
    return Mixture(
        with_total(log_odds, float(probability.sum())),
        temper * mixture.coefficients,
        mixture.decoy_weight,
    )


def _recounted(mixture: Mixture) -> Mixture:
    """The mixture with another share of right candidates where there are few: less below 70 %, more above."""
    probability = mixture.probability
    n = len(probability)
    share = logit(probability.mean(), least=MIN_WRONG_SHARE)
    start, slope = RIGHT_OF_FEW
    moved = share + np.exp(-n / FEW_CANDIDATES) * (start + slope * share)
    total = n * float(sigmoid(moved))
    return replace(mixture, probability=with_total(logit(probability), total))


def first_guess(score: np.ndarray) -> np.ndarray:
    """Probabilities to start from, by the score alone: (n,)."""
    low, high = np.quantile(score, FIRST_GUESS_QUANTILES)
    width = max(float(high - low), 1e-9)
    return np.clip((score - low) / width, 0.0, 1.0) ** 2


def wrong_count(sample: Sample, probability: np.ndarray) -> WrongCount:
    """How many candidates are wrong: of the rows without a partner, as many as the decoys' rate says.

    The rate is inflated by the share of wrong candidates, see DECOY_RATE_INFLATION.
    """
    n = len(sample)
    smaller = min(sample.n_a, sample.n_b)
    most_right = (1 - MIN_WRONG_SHARE) * MUTUAL_SHARE * smaller
    right = min(probability.sum(), most_right)
    shared = right / MUTUAL_SHARE
    alone_a = sample.n_a - shared
    alone_b = sample.n_b - shared
    rate_a, rate_b = (decoys.rate(probability) for decoys in sample.decoys)
    inflation = 1 + DECOY_RATE_INFLATION * (1 - right / n)
    by_rate = 0.5 * (alone_a * rate_a + alone_b * rate_b) * inflation
    trust = _trust(
        rate=0.5 * (rate_a + rate_b),
        right=right,
        wrong=n - right,
        alone=0.5 * (alone_a + alone_b),
    )
    return WrongCount(by_rate, trust, n, bimodal(probability))


def count_among_decoys(
    sample: Sample,
    coefficients: np.ndarray,
    probability: np.ndarray,
) -> float | None:
    """How many candidates are wrong by where the decoys lie; None where there are too few decoys to say.

    Below the log odds that MOST_DECOYS of the decoys do not reach, right candidates are rare: what lies there is that
    share of the wrong ones. A decoy counts by how likely the link is right that it was made of: decoys of wrong links
    lie too low.

    Parameters
    ----------
    sample : Sample
    coefficients : (1 + f,) float64
        Of the regression that places candidates and decoys.
    probability : (n,) float64
        Of the candidates.
    """
    sources = np.concatenate([decoys.source for decoys in sample.decoys])
    weight = probability[sources]
    if not weight.sum() > 0:
        return None
    place = sample.decoy_features @ coefficients[1:]
    order = np.argsort(place)
    reached = np.cumsum(weight[order]) / weight.sum()
    at = min(int(np.searchsorted(reached, MOST_DECOYS)), len(order) - 1)
    bound = place[order[at]]
    decoys_below = float(weight[place < bound].sum() / weight.sum())
    if decoys_below < MIN_WRONG_SHARE:
        return None
    candidates_below = np.count_nonzero(sample.features @ coefficients[1:] < bound)
    return candidates_below / decoys_below


def _between(count: float, other: float, weight: float) -> float:
    """The geometric mean of two counts, of which the other has this weight."""
    return max(count, 1.0) ** (1 - weight) * max(other, 1.0) ** weight


def _trust(rate: float, right: float, wrong: float, alone: float) -> float:
    """Weight of the count by the decoys' rate against the regression's count, from the errors of both."""
    rate = np.clip(rate, MIN_WRONG_SHARE, 1 - MIN_WRONG_SHARE)
    # Two decoys at most are made of each right link: that many draws, with this relative variance.
    sampling = (1 - rate) / (rate * max(2 * right, 1.0))
    error_by_rate = alone * rate * np.sqrt(sampling + RATE_ERROR**2)
    of_right, of_wrong = REGRESSION_ERROR
    error_by_regression = min(
        of_right * max(right, 1.0),
        of_wrong * max(wrong, 1.0),
    )
    return float(1 / (1 + (error_by_rate / error_by_regression) ** 2))


def _regression(
    sample: Sample,
    probability: np.ndarray,
    decoy_weight: np.ndarray,
    wrong: float,
) -> np.ndarray:
    """Coefficients (1 + f,) that tell right candidates from wrong ones.

    Every candidate stands in both classes, by its probability in the right one and by its doubt in the wrong one; the
    decoys stand in the wrong one.
    """
    n = len(sample)
    doubt = 1 - probability
    own_share = OWN_DOUBT_SHARE * wrong * doubt / max(doubt.sum(), 1e-9)
    decoy_share = (1 - OWN_DOUBT_SHARE) * wrong * decoy_weight / max(decoy_weight.sum(), 1e-9)
    targets = np.r_[
        np.ones(n),
        np.zeros(n),
        np.zeros(len(decoy_weight)),
    ]
    features = np.concatenate(
        [
            sample.features,
            sample.features,
            sample.decoy_features,
        ]
    )
    weights = np.r_[probability, own_share, decoy_share]
    return logistic_regression(features, targets, weights)
