"""Calibration: probabilities of candidates without labels.

The mutual candidates are right links and wrong ones. `decoys` shows what wrong ones look like, `mixture` tells the two
apart; here the candidates go in and come out as probabilities, with the model that explains them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veclink.confidence.candidates import Candidates, candidate_pairs
from veclink.confidence.constants import DUPLICATE_TOLERANCE, MIN_CANDIDATES, MUTUAL_SHARE
from veclink.confidence.decoys import decoy_pairs, remove_partners
from veclink.confidence.evidence import feature_matrix, model_evidence
from veclink.confidence.logistic import logistic_regression, logit, sigmoid, with_total
from veclink.confidence.mixture import Sample, fit_mixture


@dataclass(frozen=True, eq=False)
class Model:
    """What the probabilities follow from: log odds = base + Σ weight·(feature − centre)/scale.

    Attributes
    ----------
    features : tuple of str
        The names of the evidence.
    base : float
        Log odds of a candidate with average evidence.
    weights, centre, scale : (f,) float64
    decoy_probability : (d,) float64
        What the model says of each decoy.
    decoy_weight : (d,) float64
        How many wrong candidates each decoy stands for: they sum to the expected number of them.
    """

    features: tuple[str, ...]
    base: float
    weights: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    decoy_probability: np.ndarray
    decoy_weight: np.ndarray

    def plain(self) -> dict[str, Any]:
        """Features, weights and scales as JSON has them; the decoys are left out."""
        return {
            "features": list(self.features),
            "base": self.base,
            "weights": self.weights.tolist(),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Mutual candidates with their probabilities, the surest first.

    Attributes
    ----------
    positions : (n,) int64
        Of the mutual candidates, among all.
    probability : (n,) float64
    overlap : float
        Estimated number of shared objects.
    others : (m,) int64
        Positions of candidates that are not mutual.
    other_probability : (m,) float64
        Theirs, by the evidence that does not compare rivals.
    model : Model or None
        None where too few candidates were there to fit one.
    """

    positions: np.ndarray
    probability: np.ndarray
    overlap: float
    others: np.ndarray
    other_probability: np.ndarray
    model: Model | None = None


def calibrate(
    candidates: Candidates,
    neighbourhoods: np.ndarray,
    fitted: np.ndarray | None = None,
    *,
    k: int,
    runners_up: bool = True,
) -> Calibrated:
    """Probabilities of the mutual candidates, and of the runners-up where wanted.

    Parameters
    ----------
    candidates : Candidates
    neighbourhoods : (c, f) float32
        `evidence.neighbourhood_features` of all candidates.
    fitted : (m,) int64, optional
        Positions of those mutual candidates that the mixture is fitted to, by default all; it is fitted as if the
        clouds were that much smaller.
    k : int
        Neighbours that the densities of the candidates are means over.
    runners_up : bool
        Whether candidates that are not mutual get a probability too.
    """
    every = candidates.mutual()
    links = every if fitted is None else fitted
    if len(links) < MIN_CANDIDATES:  # too few to say anything of
        return Calibrated(links, np.zeros(len(links)), 0.0, links[:0], np.zeros(0))
    part = len(links) / len(every)
    sample = _sample(candidates, neighbourhoods, links, k, part)
    probability, coefficients, decoy_weight = fit_mixture(sample)
    weights, expected_right = coefficients[1:], probability.sum()
    # The intercept and the shift that brought the sum to its total, as one number (the median: rounds are damped).
    base = float(np.median(logit(probability) - sample.features @ weights))
    expected_wrong = float((1 - probability).sum())
    model = Model(
        tuple(entry.name for entry in model_evidence()),
        base,
        weights,
        sample.centre,
        sample.scale,
        decoy_probability=sigmoid(base + sample.decoy_features @ weights),
        decoy_weight=expected_wrong * decoy_weight / max(float(decoy_weight.sum()), 1e-9) / part,
    )
    others, other_probability = np.empty(0, np.int64), np.empty(0)
    if runners_up:  # the two best candidates of every row that are not mutual
        best_two = np.concatenate([candidates.best_a[:, :2].ravel(), candidates.best_b[:, :2].ravel()])
        others = np.setdiff1d(best_two, every)
        others = others[others >= 0]
        other_probability = _probability_without_rivals(candidates, neighbourhoods, links, probability, others)
    overlap = min(expected_right / MUTUAL_SHARE, sample.n_a, sample.n_b) / part
    if part < 1:
        features = feature_matrix(candidate_pairs(candidates, neighbourhoods, every))
        log_odds = coefficients[0] + ((features - sample.centre) / sample.scale) @ weights
        probability = with_total(log_odds, expected_right / part)
    order = np.argsort(-probability, kind="stable")
    return Calibrated(every[order], probability[order], float(overlap), others, other_probability, model)


def recounted(calibrated: Calibrated, share_right: float, smaller: int) -> Calibrated:
    """The same candidates in the same order, of which another share is right; log odds of all others move alike.

    Parameters
    ----------
    calibrated : Calibrated
        With a model.
    share_right : float
        Of the mutual candidates.
    smaller : int
        Rows of the smaller cloud: no more objects are shared.
    """
    assert calibrated.model is not None, "there is something to count"
    log_odds = logit(calibrated.probability)
    total = share_right * len(log_odds)
    probability = with_total(log_odds, total)
    shift = float(np.median(logit(probability) - log_odds))
    model = calibrated.model
    wrong_before = max(len(log_odds) - float(calibrated.probability.sum()), 1e-9)
    return replace(
        calibrated,
        probability=probability,
        other_probability=_moved(calibrated.other_probability, shift),
        overlap=min(total / MUTUAL_SHARE, float(smaller)),
        model=replace(
            model,
            base=model.base + shift,
            decoy_probability=_moved(model.decoy_probability, shift),
            decoy_weight=model.decoy_weight * (len(log_odds) - total) / wrong_before,
        ),
    )


def _moved(probability: np.ndarray, shift: float) -> np.ndarray:
    """Probabilities with their log odds moved; none stays none."""
    return np.where(probability > 0, sigmoid(logit(probability) + shift), 0.0)


def _sample(candidates: Candidates, neighbourhoods: np.ndarray, links: np.ndarray, k: int, part: float) -> Sample:
    """The links at these positions (m,) and the decoys that are made of them."""
    pairs = candidate_pairs(candidates, neighbourhoods, links)
    features = feature_matrix(pairs)
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    decoys = (remove_partners(candidates, links, k, "a"), remove_partners(candidates, links, k, "b"))
    of_decoys = [feature_matrix(decoy_pairs(candidates, neighbourhoods, each, k)) for each in decoys]
    return Sample(
        pairs.score,
        (features - centre) / scale,
        centre,
        scale,
        decoys,
        (np.concatenate(of_decoys) - centre) / scale,
        n_a=part * len(candidates.best_a),
        n_b=part * len(candidates.best_b),
    )


def _probability_without_rivals(
    candidates: Candidates, neighbourhoods: np.ndarray, links: np.ndarray, probability: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Probabilities of candidates that are not mutual (m,): what those of the links are, without looking at rivals.

    A lead over rivals would count against a true duplicate, whose best rival is as right as itself. Instead it has to
    come close to that rival: from its full probability at the same score down to none at DUPLICATE_TOLERANCE below it.
    """
    if not len(others):
        return np.empty(0)
    entries = tuple(entry for entry in model_evidence() if not entry.compares_rivals)
    of_links = feature_matrix(candidate_pairs(candidates, neighbourhoods, links), entries)
    of_others = feature_matrix(candidate_pairs(candidates, neighbourhoods, others), entries)
    centre, scale = of_links.mean(axis=0), of_links.std(axis=0) + 1e-9
    features = (of_links - centre) / scale
    coefficients = logistic_regression(
        np.concatenate([features, features]),
        np.r_[np.ones(len(links)), np.zeros(len(links))],
        np.r_[probability, 1 - probability],
    )
    log_odds = coefficients[0] + ((of_others - centre) / scale) @ coefficients[1:]
    best_of_a = candidates.best_a[candidates.rows_a[others], 0]
    best_of_b = candidates.best_b[candidates.rows_b[others], 0]
    best = np.maximum(candidates.scores(best_of_a), candidates.scores(best_of_b))
    gap = (best - candidates.score[others]) / np.maximum(DUPLICATE_TOLERANCE * best, 1e-9)
    return np.maximum(1 - gap, 0.0) * sigmoid(log_odds)
