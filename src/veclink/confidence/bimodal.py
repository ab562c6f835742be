"""The count of wrong candidates from the shape of their log odds alone: two normal components.

Decoys are made of rows that have a partner. Where the rows without one are of another kind (other domains around what
is shared), the decoys' rate says nothing of them: between films in A and forum titles in B nearly every second row ends
in a wrong link, among the shared abstracts one in twenty-five. But such wrong links stand apart from the right ones,
and that shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.confidence.constants import (
    BIMODAL_CHANCE_ERROR,
    BIMODAL_ERROR,
    BIMODAL_FALL,
    BIMODAL_OVERLAP_ERROR,
    BIMODAL_OVERLAPPING,
    MIN_BIMODAL,
    OTHER_COUNT_DISAGREEMENT,
    OTHER_COUNT_ERROR,
)
from veclink.confidence.logistic import logit

MAX_STEPS = 200  # of fitting the two components, at most
COMPONENTS_CONVERGED = 1e-4  # change of a step from which no further one is made
MIN_VARIANCE = 1e-2  # added to both variances: a component of a few values that are alike keeps a width


@dataclass(frozen=True)
class Bimodal:
    """Two normal components of log odds.

    Attributes
    ----------
    wrong : float
        How many candidates are in the lower one.
    apart : float
        Distance of the means, in root mean variances (d′).
    """

    wrong: float
    apart: float

    def weight(self, other: float) -> float:
        """How far to trust this count against another one, from 0 to 1, by the relative errors of both.

        The other one's grows with how far the two are apart: where components are clearly two, a count that does not
        see them is wrong. A smaller count than the other one has no weight: components that overlap hide wrong links.
        """
        if self.wrong <= other:
            return 0.0
        count = max(self.wrong, 1.0)
        error = BIMODAL_ERROR
        error += BIMODAL_OVERLAP_ERROR * np.exp(-BIMODAL_FALL * (self.apart - BIMODAL_OVERLAPPING))
        error += BIMODAL_CHANCE_ERROR / np.sqrt(count)
        disagreement = abs(np.log(count / max(other, 1.0)))
        other_error = np.hypot(OTHER_COUNT_ERROR, OTHER_COUNT_DISAGREEMENT * disagreement)
        return float(1 / (1 + (error / other_error) ** 2))


def bimodal(probability: np.ndarray) -> Bimodal:
    """Two normal components of the log odds of these probabilities (n,), by expectation–maximisation from them.

    Of few there are none to be told apart, and none is counted.
    """
    if len(probability) < MIN_BIMODAL:
        return Bimodal(wrong=0.0, apart=0.0)
    log_odds = logit(probability, least=1e-6)
    upper = probability.astype(float)
    means, variances = _components(log_odds, upper)
    for _ in range(MAX_STEPS):
        fresh = _membership(log_odds, upper, means, variances)
        moved = float(np.abs(fresh - upper).max())
        upper = fresh
        means, variances = _components(log_odds, upper)
        if moved < COMPONENTS_CONVERGED:
            break
    spread = np.sqrt(variances.mean())
    return Bimodal(
        wrong=float((1 - upper).sum()),
        apart=float((means[1] - means[0]) / spread),
    )


def _components(log_odds: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (2,) of the lower and the upper component."""
    shares = np.stack([1 - upper, upper])
    totals = shares.sum(axis=1) + 1e-6
    means = shares @ log_odds / totals
    gaps = log_odds - means[:, None]
    variances = (shares * gaps**2).sum(axis=1) / totals + MIN_VARIANCE
    return means, variances


def _membership(
    log_odds: np.ndarray,
    upper: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
) -> np.ndarray:
    """The probability (n,) to be of the upper component; beyond the means, never more likely of the other one."""
    totals = np.array([(1 - upper).sum(), upper.sum()]) + 1e-6
    gaps = log_odds - means[:, None]
    density = np.log(totals / np.sqrt(variances))[:, None] - gaps**2 / (2 * variances[:, None])
    member = 1 / (1 + np.exp(np.clip(density[0] - density[1], -50, 50)))
    member = np.where(log_odds > means[1], np.maximum(member, 0.5), member)
    return np.where(log_odds < means[0], np.minimum(member, 0.5), member)
