"""How sure a link is: probabilities without labels, from what the best wrong partner of a linked point looks like.

**Knock-outs.** Take a link (u, v) and remove v: u has no partner any more, like all points outside the overlap. If
some v′ and u now choose each other, that pair is wrong by construction, and it was made just as wrong links are made.
Doing so for every likely link, on both sides, gives the features of wrong links and their rate: the share of points
without a partner that end in one. (Removing v also thins the surroundings of u: its density is corrected for that.)

**Mixture.** The mutual candidates are right links and wrong ones. A logistic regression separates them from the
knock-outs; its output weighs the candidates for the next one, until nothing moves (expectation–maximisation). The
number of wrong ones comes from the regression itself and, independently, from the knock-outs' rate; the two estimates
are weighed by their errors. The first is the better one where many links are right, and gives way where few are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.confidence.candidates import Candidates

ROUNDS = 40
FITTED = 20_000  # candidates that a regression needs at most
SETTLED = 1e-3
ECHO = 0.2  # wrong links bend the maps towards themselves: their rate is that of knock-outs times 1 + ECHO·share
SELF_TAUGHT = 0.5  # share of the wrong class that the candidates' own doubtful ones stand for; knock-outs are the rest
RATE_ERROR = 0.08  # of the knock-outs' rate, relative, besides that of sampling: linked rows are not quite like others
MIXTURE_ERROR = (0.2, 0.035)  # of the regression's count: the less of these shares of the right and of the wrong ones
TWIN = 0.25  # of the best score: how far below it a second copy of the same object may score
MUTUAL = 0.97  # share of true pairs that are mutual neighbours, where linking works
FEATURES = (
    "score",
    "narrow_margin",
    "wide_margin",
    "local_correlation",
    "shared_neighbours",
    "density_match",
    "density",
)


@dataclass(frozen=True, eq=False)
class Model:
    """What the probabilities follow from: log odds = base + Σ weight·(feature − centre)/scale, over FEATURES.

    decoy_probability, decoy_weight: of each knock-out; the weights add up to the candidates reckoned to be wrong.
    """

    base: float
    weights: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    decoy_probability: np.ndarray
    decoy_weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Mutual candidates with their probabilities, the surest first.

    positions: into the candidates. overlap: estimated number of shared objects. others, other_probability: candidates
    that are not mutual, judged by their score and surroundings alone. model: None where too few were there to fit one.
    """

    positions: np.ndarray
    probability: np.ndarray
    overlap: float
    others: np.ndarray
    other_probability: np.ndarray
    model: Model | None = None

    def ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """All candidates with their probabilities, mutual or not: for data in which one object may stand twice."""
        return np.concatenate([self.positions, self.others]), np.concatenate([self.probability, self.other_probability])


@dataclass(frozen=True, eq=False)
class Decoys:
    """Wrong links made by removing a partner: features and weight of each, and the share of removals that made one."""

    features: np.ndarray
    weight: np.ndarray
    rate: float


def calibrate(
    candidates: Candidates, beside: np.ndarray, fitted: np.ndarray | None = None, *, k: int, runners_up: bool = True
) -> Calibrated:
    """Probabilities of the mutual candidates, and of the runners-up where wanted.

    beside: (c, f) features of all candidates beyond scores and margins. fitted: positions of those mutual candidates
    that the regression is fitted to, by default all; it is fitted as if the clouds were that much smaller.
    """
    every = candidates.mutual()
    links = every if fitted is None else fitted
    part = len(links) / max(len(every), 1)
    n_a, n_b, count = part * len(candidates.best_a), part * len(candidates.best_b), len(links)
    if count < 3:
        return Calibrated(links, np.zeros(count), 0.0, links[:0], np.zeros(0))
    features = _features(candidates, beside, links)
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    features = (features - centre) / scale
    probability = _first_guess(candidates.score[links])
    mixture_right = probability.sum()
    for step in range(ROUNDS):
        sides = [_decoys(candidates, beside, links, probability, k, side) for side in "ab"]
        wrong_features = (np.concatenate([each.features for each in sides]) - centre) / scale
        wrong_weight = np.concatenate([each.weight for each in sides])
        right = min(probability.sum(), 0.98 * MUTUAL * min(n_a, n_b))
        alone_a, alone_b = n_a - right / MUTUAL, n_b - right / MUTUAL
        counted = 0.5 * (alone_a * sides[0].rate + alone_b * sides[1].rate) * (1 + ECHO * (1 - right / count))
        trust = _trust(sides, right, count - right, 0.5 * (alone_a + alone_b))
        wrong = _mix(trust, counted, count - mixture_right, count)
        targets = np.r_[np.ones(count), np.zeros(count), np.zeros(len(wrong_features))]
        doubt = 1 - probability
        weights = np.r_[
            probability,
            SELF_TAUGHT * wrong * doubt / max(doubt.sum(), 1e-9),
            (1 - SELF_TAUGHT) * wrong * wrong_weight / max(wrong_weight.sum(), 1e-9),
        ]
        logit = _logistic(np.concatenate([features, features, wrong_features]), targets, weights)
        odds = logit[0] + features @ logit[1:]
        mixture_right = _sigmoid(odds).sum()
        fresh = _with_total(odds, count - _mix(trust, counted, count - mixture_right, count))
        moved = np.abs(fresh - probability).mean()
        probability = fresh if step < 6 else 0.5 * (fresh + probability)  # damped: two estimates can chase each other
        if moved < SETTLED:
            break
    overlap = float(min(probability.sum() / MUTUAL, n_a, n_b) / part)
    others, other_probability = np.empty(0, np.int64), np.empty(0)
    if runners_up:
        second = np.concatenate([candidates.best_a[:, :2].ravel(), candidates.best_b[:, :2].ravel()])
        others = np.setdiff1d(second, every)
        others = others[others >= 0]
        other_probability = _without_margins(candidates, beside, links, probability, others)
    model = _model(logit[1:], centre, scale, features, probability, wrong_features, wrong_weight)
    model = replace(model, decoy_weight=model.decoy_weight / part)
    if part < 1:
        features = (_features(candidates, beside, every) - centre) / scale
        probability = _with_total(logit[0] + features @ logit[1:], probability.sum() / part)
    order = np.argsort(-probability, kind="stable")
    return Calibrated(every[order], probability[order], overlap, others, other_probability, model)


def best_threshold(probability: np.ndarray, overlap: float) -> int:
    """How many of the links, sorted by falling probability, to keep for the largest expected F1."""
    if not len(probability):
        return 0
    expected = 2 * np.cumsum(probability) / (np.arange(1, len(probability) + 1) + max(overlap, 1.0))
    return int(np.argmax(expected)) + 1


def _features(candidates: Candidates, beside: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Score, smaller and larger margin over the best rival on either side, and what stands beside."""
    score = candidates.score[positions]
    margins = []
    for best, rows in ((candidates.best_a, candidates.rows_a), (candidates.best_b, candidates.rows_b)):
        listed = best[rows[positions]]
        rivals = np.where(listed == positions[:, None], -1, listed)
        margins.append(score - candidates.scores(rivals).max(axis=1))
    return _stack(score, margins[0], margins[1], beside[positions])


def _stack(score: np.ndarray, margin_a: np.ndarray, margin_b: np.ndarray, beside: np.ndarray) -> np.ndarray:
    narrow, wide = np.minimum(margin_a, margin_b), np.maximum(margin_a, margin_b)
    return np.column_stack([score, narrow, wide, beside]).astype(float)


def _decoys(
    candidates: Candidates, beside: np.ndarray, links: np.ndarray, probability: np.ndarray, k: int, side: str
) -> Decoys:
    """Removes the partner of every link's row on one side; the next best partner that takes its place, if mutual."""
    if side == "a":
        own, best, other, others_best = candidates.rows_a, candidates.best_a, candidates.rows_b, candidates.best_b
        density = candidates.density_a
    else:
        own, best, other, others_best = candidates.rows_b, candidates.best_b, candidates.rows_a, candidates.best_a
        density = candidates.density_b
    rows = own[links]
    second, third = best[rows, 1], best[rows, 2]
    weight = probability + 0.3 * probability.mean()
    # Without its partner the row's density is the mean over the other k − 1 neighbours: lower, so its csls is higher.
    lift = np.maximum(candidates.cosine[links] - density[rows], 0) / max(k - 1, 1)
    score = candidates.scores(second) + lift
    rival = np.where(
        others_best[other[second], 0] == second, others_best[other[second], 1], others_best[other[second], 0]
    )
    rival_score = candidates.scores(rival)
    made = (second >= 0) & (score > rival_score)
    margin = score - np.where(third >= 0, candidates.scores(third) + lift, -1.0)
    features = _stack(score[made], margin[made], (score - rival_score)[made], beside[second[made]])
    return Decoys(features, weight[made], float(weight[made].sum() / weight.sum()))


def _model(
    weights: np.ndarray,
    centre: np.ndarray,
    scale: np.ndarray,
    features: np.ndarray,
    probability: np.ndarray,
    decoys: np.ndarray,
    decoy_weight: np.ndarray,
) -> Model:
    certain = np.clip(probability, 1e-9, 1 - 1e-9)
    # The intercept and the shift that brought the sum to its total, as one number (the median: rounds are damped).
    base = float(np.median(np.log(certain / (1 - certain)) - features @ weights))
    wrong = float((1 - probability).sum()) * decoy_weight / max(float(decoy_weight.sum()), 1e-9)
    return Model(base, weights, centre, scale, _sigmoid(base + decoys @ weights), wrong)


def _trust(sides: list[Decoys], right: float, wrong: float, alone: float) -> float:
    """Weight of the count by the knock-outs' rate against the regression's count, from the errors of both."""
    rate = np.clip(0.5 * (sides[0].rate + sides[1].rate), 0.02, 0.98)
    by_rate = alone * rate * np.sqrt((1 - rate) / (rate * max(2 * right, 1.0)) + RATE_ERROR**2)
    by_regression = min(MIXTURE_ERROR[0] * max(right, 1.0), MIXTURE_ERROR[1] * max(wrong, 1.0))
    return float(1 / (1 + (by_rate / by_regression) ** 2))


def _mix(trust: float, counted: float, mixture: float, count: int) -> float:
    return float(np.clip(trust * counted + (1 - trust) * mixture, 0.02 * count, 0.98 * count))


def _first_guess(score: np.ndarray) -> np.ndarray:
    low, high = np.quantile(score, [0.3, 0.95])
    return np.clip((score - low) / max(float(high - low), 1e-9), 0.0, 1.0) ** 2


def _with_total(odds: np.ndarray, total: float) -> np.ndarray:
    """Probabilities with these log odds, all shifted alike so that they sum to `total`."""
    low, high = -40.0, 40.0
    for _ in range(50):
        shift = (low + high) / 2
        low, high = (shift, high) if _sigmoid(odds + shift).sum() < total else (low, shift)
    return _sigmoid(odds + (low + high) / 2)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def _logistic(features: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Coefficients (1 + f,) of a weighted logistic regression, by Newton's method; unit ridge but on the intercept."""
    design = np.column_stack([np.ones(len(features)), features])
    ridge = np.r_[1e-6, np.ones(features.shape[1])]
    coefficients = np.zeros(design.shape[1])
    for _ in range(50):
        fitted = _sigmoid(design @ coefficients)
        gradient = design.T @ (weights * (fitted - targets)) + ridge * coefficients
        curvature = (design * (weights * fitted * (1 - fitted))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        coefficients -= step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return coefficients


def _without_margins(
    candidates: Candidates, beside: np.ndarray, links: np.ndarray, probability: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Probabilities of candidates that are not mutual: what the mutual ones' are when read off score and surroundings.

    Margins would count against a true duplicate, whose best rival is as right as itself. Instead it has to come close
    to that rival: from its full probability at the same score down to none at TWIN below it.
    """
    columns = np.column_stack([candidates.score, beside]).astype(float)
    centre, scale = columns[links].mean(axis=0), columns[links].std(axis=0) + 1e-9
    features = (columns - centre) / scale
    both = np.concatenate([features[links], features[links]])
    targets = np.r_[np.ones(len(links)), np.zeros(len(links))]
    fitted = _logistic(both, targets, np.r_[probability, 1 - probability])
    best = np.maximum(
        candidates.scores(candidates.best_a[candidates.rows_a[others], 0]),
        candidates.scores(candidates.best_b[candidates.rows_b[others], 0]),
    )
    near = np.clip(1 - (best - candidates.score[others]) / np.maximum(TWIN * best, 1e-9), 0.0, 1.0)
    return near * _sigmoid(fitted[0] + features[others] @ fitted[1:])
