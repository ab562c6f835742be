"""Span linking written again in plain numpy, from docs/method.md alone: does the page say enough?

    python bench/rebuild_span.py             # links the sample from three draws of 15 seeds, beside veclink.link
    python bench/rebuild_span.py --keep      # and keeps the figures in results/experiments/rebuild.json

The usual growth from seeds, on clouds of 1,000 to 12,000 rows; of the starts only the first. Nothing here is taken from
veclink, except the files of the sample, and `veclink.link` to compare with.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Growth.
NEIGHBOURS, RIDGE, ROUNDS, VIEWS = 10, 0.3, 14, 6
HELD_SHARE, ANCHORS_PER_VIEW, VOTE_SHARE, SCORE_WEIGHT = 0.5, 256, 0.5, 0.5
GROWTH_FACTOR, MIN_POOL_LIMIT, STEADY_CHANGE = 2, 60, 0.1
SETTLED, SETTLED_FACTOR = 0.2, 2
# Maps.
FOLDS, MAX_DIRECTIONS, MIN_AXIS_WEIGHT = 5, 256, 0.02
JOINED_RULES = ((0.3, 2.0), (1.0, 2.0), (0.3, 1.0))
# Evidence.
BEST_LISTED, NEAREST, DENSITY_NEAREST, NO_RIVAL_SCORE = 3, 20, 10, -1.0
# Calibration.
FIRST_GUESS_QUANTILES, MAX_ROUNDS, UNDAMPED_ROUNDS, MIXTURE_CONVERGED = (0.3, 0.95), 40, 6, 0.001
MIN_WRONG_SHARE, MUTUAL_SHARE, FEATURE_RIDGE, OWN_DOUBT_SHARE = 0.02, 0.97, 3.0, 0.5
DECOY_BASE_WEIGHT, DECOY_RATE_INFLATION, RATE_ERROR, REGRESSION_ERROR = 0.3, 0.2, 0.08, (0.2, 0.035)
BIMODAL_ERROR, BIMODAL_OVERLAP_ERROR, BIMODAL_OVERLAPPING, BIMODAL_FALL = 0.05, 1.0, 2.0, 2.0
BIMODAL_CHANCE_ERROR, OTHER_COUNT_ERROR, OTHER_COUNT_DISAGREEMENT, MIN_BIMODAL = 1.5, 0.15, 0.5, 100
COMPONENT_ROUNDS = 50

Array = np.ndarray


def link(a: Array, b: Array, seeds: Array, rng: np.random.Generator) -> Array:
    """Links (n, 2) between the rows of two clouds, from some pairs of rows."""
    a, b = centred(a), centred(b)
    pool = grown(a, b, seeds, rng)
    anchors = np.unique(np.concatenate([seeds, pool]), axis=0)
    scores, cosines, density = cross_fitted(a, b, anchors, rng)
    mutual = mutual_pairs(scores)
    evidence = Evidence(a, b, anchors, scores)
    decoys = [decoys_of(mutual, scores, cosines, density)]
    decoys.append(flipped(decoys_of(mutual[:, ::-1], scores.T, cosines.T, density[::-1])))
    p = calibrated(evidence, mutual, decoys, (len(a), len(b)))
    kept = mutual[threshold(p, min(len(a), len(b)))]
    return with_seeds(kept, seeds)


def unit(x: Array) -> Array:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def centred(x: Array) -> Array:
    """Unit rows less their mean, of unit length again."""
    x = unit(np.asarray(x, np.float64))
    return unit(x - x.mean(axis=0))


# ---------------------------------------------------------------- 1. grow a pool


def csls(x: Array, y: Array) -> tuple[Array, Array, tuple[Array, Array]]:
    """csls and cosine of every pair, and the mean cosine of each row of either side to its nearest."""
    cosine = x @ y.T
    r_x = np.partition(cosine, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS:].mean(axis=1)
    r_y = np.partition(cosine, -NEIGHBOURS, axis=0)[-NEIGHBOURS:].mean(axis=0)
    return 2 * cosine - r_x[:, None] - r_y[None, :], cosine, (r_x, r_y)


def mutual_pairs(scores: Array) -> Array:
    """Pairs in which each is the other's best."""
    best_b, best_a = scores.argmax(axis=1), scores.argmax(axis=0)
    rows = np.flatnonzero(best_a[best_b] == np.arange(len(scores)))
    return np.stack([rows, best_b[rows]], axis=1)


def span_signatures(rows: Array, anchors: Array) -> Array:
    """z(u) = (A·Aᵀ + λI)^(−1/2)·A·u, of unit length."""
    values, vectors = np.linalg.eigh(anchors @ anchors.T + RIDGE * np.eye(len(anchors)))
    root = (vectors / np.sqrt(values)) @ vectors.T
    return unit(rows @ anchors.T @ root)


def grown(a: Array, b: Array, given: Array, rng: np.random.Generator) -> Array:
    """The pool of links that the views agree on."""
    pool = np.empty((0, 2), np.int64)
    settled = False
    for _ in range(ROUNDS):
        settled = settled or len(pool) >= max(SETTLED * min(len(a), len(b)), SETTLED_FACTOR * len(given))
        agreed = agreed_pairs(a, b, pool, given[:0] if settled else given, rng)
        limit = max(MIN_POOL_LIMIT, GROWTH_FACTOR * max(len(pool), len(given)))
        before, pool = len(pool), agreed[:limit]
        steady = len(pool) < limit and abs(len(pool) - before) <= STEADY_CHANGE * before
        if steady and settled:
            break
        settled = settled or steady
    return pool


def agreed_pairs(a: Array, b: Array, pool: Array, given: Array, rng: np.random.Generator) -> Array:
    """Pairs that enough of the views that did not hold them propose, one partner each, the surest first."""
    shape = len(a), len(b)
    votes, total, holding = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    views = VIEWS if len(pool) else 1
    for _ in range(views):
        size = min(int(np.ceil(HELD_SHARE * len(pool))), ANCHORS_PER_VIEW)
        held = pool[rng.choice(len(pool), size, replace=False)] if len(pool) else pool
        anchors = np.unique(np.concatenate([held, given]), axis=0)
        scores, *_ = csls(span_signatures(a, a[anchors[:, 0]]), span_signatures(b, b[anchors[:, 1]]))
        holding[held[:, 0], held[:, 1]] += 1
        found = mutual_pairs(scores)
        is_held = np.zeros(shape, bool)
        is_held[held[:, 0], held[:, 1]] = True
        found = found[~is_held[found[:, 0], found[:, 1]]]
        votes[found[:, 0], found[:, 1]] += 1
        total[found[:, 0], found[:, 1]] += scores[found[:, 0], found[:, 1]]
    pairs = np.argwhere(votes)
    count = votes[pairs[:, 0], pairs[:, 1]]
    share = count / (views - holding[pairs[:, 0], pairs[:, 1]])
    rank = share + SCORE_WEIGHT * total[pairs[:, 0], pairs[:, 1]] / count
    kept = share >= VOTE_SHARE
    return one_partner_each(pairs[kept], rank[kept])


def one_partner_each(pairs: Array, rank: Array) -> Array:
    """Pairs taken greedily by rank, each row once."""
    used: tuple[set[int], set[int]] = (set(), set())
    taken = []
    for u, v in pairs[np.argsort(-rank, kind="stable")].tolist():
        if u not in used[0] and v not in used[1]:
            used[0].add(u)
            used[1].add(v)
            taken.append((u, v))
    return np.array(taken, np.int64).reshape(-1, 2)


# ---------------------------------------------------------------- 2. score by maps fitted without


def canonical_map(a: Array, b: Array) -> list[tuple[Array, Array]]:
    """The projections of both sides from paired anchors, by each of the rules."""
    bases = [principal(x) for x in (a, b)]
    p, q = ((x - x.mean(axis=0)) @ base for x, base in zip((a, b), bases, strict=True))
    found = []
    for ridge, power in JOINED_RULES:
        whiten = [whitening(x, ridge) for x in (p, q)]
        u, rho, vt = np.linalg.svd(whiten[0] @ (p.T @ q / len(p)) @ whiten[1])
        rho = rho[: min(len(u), len(vt))]
        weight = rho**power
        axes = weight >= MIN_AXIS_WEIGHT * weight[0]
        left = bases[0] @ whiten[0] @ u[:, : len(rho)][:, axes] * weight[axes]
        right = bases[1] @ whiten[1] @ vt[: len(rho)].T[:, axes] * weight[axes]
        found.append((left / root_mean_square(a @ left), right / root_mean_square(b @ right)))
    return found


def principal(x: Array) -> Array:
    """The leading principal directions of some rows, as columns."""
    _, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    return vectors[:, ::-1][:, :MAX_DIRECTIONS]


def whitening(x: Array, ridge: float) -> Array:
    covariance = x.T @ x / len(x)
    values, vectors = np.linalg.eigh(
        covariance + ridge * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    )
    return (vectors / np.sqrt(values)) @ vectors.T


def root_mean_square(x: Array) -> float:
    return float(np.sqrt((x**2).sum(axis=1).mean()))


def cross_fitted(a: Array, b: Array, anchors: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Mean csls and cosine of each pair over the maps that neither row had a part in, and each row's mean density."""
    fold = rng.permutation(len(anchors)) % FOLDS
    total, cosines, count = np.zeros((len(a), len(b))), np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
    density = [np.zeros(len(a)), np.zeros(len(b))]
    free_of = [np.zeros(len(a)), np.zeros(len(b))]
    for each in range(FOLDS):
        used = anchors[fold != each]
        rules = canonical_map(a[used[:, 0]], b[used[:, 1]])
        x = unit(np.concatenate([a @ left for left, _ in rules], axis=1))
        y = unit(np.concatenate([b @ right for _, right in rules], axis=1))
        scores, cosine, r = csls(x, y)
        free = [~np.isin(np.arange(len(s)), used[:, side]) for side, s in enumerate((a, b))]
        both = np.outer(free[0], free[1])
        total += both * scores
        cosines += both * cosine
        count += both
        for side in (0, 1):
            density[side] += free[side] * r[side]
            free_of[side] += free[side]
    seen = np.maximum(count, 1)
    scores = np.where(count > 0, total / seen, -np.inf)
    return scores, cosines / seen, [d / np.maximum(f, 1) for d, f in zip(density, free_of, strict=True)]


# ---------------------------------------------------------------- 3. evidence


@dataclass
class Candidates:
    """Pairs with their score and the scores of the best rivals of either row."""

    pairs: Array
    score: Array
    rival_a: Array
    rival_b: Array
    source: Array
    removals: int = 0


class Evidence:
    """What speaks for a pair besides its score."""

    def __init__(self, a: Array, b: Array, links: Array, scores: Array) -> None:
        self.scores = scores
        self.links = links
        self.near = a @ a[links[:, 0]].T, b @ b[links[:, 1]].T
        self.order = [np.argsort(-each, axis=1, kind="stable")[:, : NEAREST + 2] for each in self.near]
        self.density = [standardised(nearest_mean(x)) for x in (a, b)]

    def features(self, found: Candidates) -> Array:
        """(n, 7): score, margins, local correlation, shared neighbours, density match, density."""
        margins = np.stack([found.score - found.rival_a, found.score - found.rival_b])
        u, v = found.pairs.T
        around = np.array([self._neighbourhood(*pair) for pair in found.pairs.tolist()])
        delta = self.density[0][u], self.density[1][v]
        return np.column_stack(
            [found.score, margins.min(axis=0), margins.max(axis=0), around, -abs(delta[0] - delta[1]), sum(delta)]
        )

    def _neighbourhood(self, u: int, v: int) -> tuple[float, float]:
        nearest = [self._nearest(side, row, u, v) for side, row in enumerate((u, v))]
        either = np.union1d(*nearest)
        x, y = self.near[0][u, either], self.near[1][v, either]
        x, y = x - x.mean(), y - y.mean()
        correlation = x @ y / max(np.sqrt((x @ x) * (y @ y)), 1e-12)
        return correlation, len(np.intersect1d(*nearest)) / NEAREST

    def _nearest(self, side: int, row: int, u: int, v: int) -> Array:
        order = self.order[side][row]
        ends = self.links[order]
        return order[(ends[:, 0] != u) & (ends[:, 1] != v)][:NEAREST]


def nearest_mean(x: Array) -> Array:
    cosine = x @ x.T
    np.fill_diagonal(cosine, -np.inf)
    return np.partition(cosine, -DENSITY_NEAREST, axis=1)[:, -DENSITY_NEAREST:].mean(axis=1)


def standardised(x: Array) -> Array:
    return (x - x.mean()) / x.std()


# ---------------------------------------------------------------- 4. calibrate


def best_listed(scores: Array) -> tuple[Array, Array]:
    """The best partners of each row of A, the best first, and their scores."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, : BEST_LISTED + 1]
    return order, np.maximum(np.take_along_axis(scores, order, axis=1), NO_RIVAL_SCORE)


def candidates(pairs: Array, scores: Array) -> Candidates:
    """Mutual candidates: their rivals are the second best of either row."""
    u, v = pairs.T
    rival_a = best_listed(scores)[1][u, 1]
    rival_b = best_listed(scores.T)[1][v, 1]
    return Candidates(pairs, scores[u, v], rival_a, rival_b, np.arange(len(pairs)))


def decoys_of(mutual: Array, scores: Array, cosines: Array, density: Array) -> Candidates:
    """Remove v of each link (u, v): u's next best partner, where it would be a link then."""
    order, own = best_listed(scores)
    order_b, own_b = best_listed(scores.T)
    u, v = mutual.T
    raised = np.maximum(cosines[u, v] - density[0][u], 0) / (NEIGHBOURS - 1)
    replacement = order[u, 1]
    score = own[u, 1] + raised
    rival_a = own[u, 2] + raised
    rival_b = np.where(order_b[replacement, 0] == u, own_b[replacement, 1], own_b[replacement, 0])
    made = score > rival_b
    pairs = np.stack([u, replacement], axis=1)[made]
    return Candidates(pairs, score[made], rival_a[made], rival_b[made], np.flatnonzero(made), len(mutual))


def flipped(found: Candidates) -> Candidates:
    return Candidates(found.pairs[:, ::-1], found.score, found.rival_b, found.rival_a, found.source, found.removals)


def calibrated(evidence: Evidence, mutual: Array, decoys: list[Candidates], sizes: tuple[int, int]) -> Array:
    """The probability of each mutual candidate to be right, by expectation–maximisation."""
    own = candidates(mutual, evidence.scores)
    real = evidence.features(own)
    false = np.concatenate([evidence.features(each) for each in decoys])
    mean, deviation = real.mean(axis=0), real.std(axis=0)
    real, false = (real - mean) / deviation, (false - mean) / deviation
    n = len(mutual)
    low, high = np.quantile(own.score, FIRST_GUESS_QUANTILES)
    p = np.clip((own.score - low) / (high - low), 0, 1) ** 2
    log_odds = None
    for number in range(MAX_ROUNDS):
        weights = [p[each.source] + DECOY_BASE_WEIGHT * p.mean() for each in decoys]
        whole = (p + DECOY_BASE_WEIGHT * p.mean()).sum()
        rates = [np.clip(w.sum() / whole, MIN_WRONG_SHARE, 1 - MIN_WRONG_SHARE) for w in weights]
        wrong = wrong_count(p, log_odds, rates, sizes)
        doubt = (1 - p) / max((1 - p).sum(), 1e-12)
        decoy_weight = np.concatenate(weights)
        beta = regression(
            np.concatenate([real, real, false]),
            np.concatenate([np.ones(n), np.zeros(n), np.zeros(len(false))]),
            np.concatenate(
                [p, OWN_DOUBT_SHARE * wrong * doubt, (1 - OWN_DOUBT_SHARE) * wrong * decoy_weight / decoy_weight.sum()]
            ),
        )
        log_odds = real @ beta[1:] + beta[0]
        wrong = wrong_count(p, log_odds, rates, sizes)
        new = sigmoid(log_odds + shift_to(log_odds, n - wrong))
        if number >= UNDAMPED_ROUNDS:
            new = (p + new) / 2
        change, p = abs(new - p).mean(), new
        if change < MIXTURE_CONVERGED:
            break
    return p


def wrong_count(p: Array, log_odds: Array | None, rates: list[float], sizes: tuple[int, int]) -> float:
    """How many mutual candidates are wrong: by the decoys' rate, the regression and the two components."""
    n = len(p)
    right = min(p.sum(), (1 - MIN_WRONG_SHARE) * MUTUAL_SHARE * min(sizes))
    alone = [size - right / MUTUAL_SHARE for size in sizes]
    by_rate = 0.5 * sum(x * rate for x, rate in zip(alone, rates, strict=True))
    rate, lonely = np.mean(rates), np.mean(alone)
    error_rate = lonely * rate * np.sqrt((1 - rate) / (rate * 2 * right) + RATE_ERROR**2)
    by_rate *= 1 + DECOY_RATE_INFLATION * (1 - right / n)
    wrong = by_rate
    if log_odds is not None:
        by_regression = n - sigmoid(log_odds).sum()
        error_regression = min(REGRESSION_ERROR[0] * right, REGRESSION_ERROR[1] * (n - right))
        trust = 1 / (1 + (error_rate / max(error_regression, 1e-12)) ** 2)
        wrong = trust * by_rate + (1 - trust) * by_regression
    wrong = with_components(wrong, p)
    return float(np.clip(wrong, MIN_WRONG_SHARE * n, (1 - MIN_WRONG_SHARE) * n))


def with_components(wrong: float, p: Array) -> float:
    """The count raised towards that of the lower of two normal components of the log odds."""
    if len(p) < MIN_BIMODAL:
        return wrong
    p = np.clip(p, 1e-6, 1 - 1e-6)
    shape, distance = two_components(np.log(p / (1 - p)))
    if shape <= wrong:
        return wrong
    error = BIMODAL_ERROR + BIMODAL_OVERLAP_ERROR * np.exp(-BIMODAL_FALL * (distance - BIMODAL_OVERLAPPING))
    error += BIMODAL_CHANCE_ERROR / np.sqrt(shape)
    other = np.hypot(OTHER_COUNT_ERROR, OTHER_COUNT_DISAGREEMENT * np.log(shape / wrong))
    weight = 1 / (1 + (error / other) ** 2)
    return wrong ** (1 - weight) * shape**weight


def two_components(x: Array) -> tuple[float, float]:
    """Members of the lower of two normal components, and their distance in root mean variances."""
    means = np.quantile(x, [0.25, 0.75])
    variances = np.full(2, x.var() / 4 + 1e-9)
    shares = np.full(2, 0.5)
    for _ in range(COMPONENT_ROUNDS):
        logs = np.log(shares) - 0.5 * np.log(variances) - 0.5 * (x[:, None] - means) ** 2 / variances
        member = np.exp(logs - logs.max(axis=1, keepdims=True))
        member /= member.sum(axis=1, keepdims=True)
        shares = np.maximum(member.mean(axis=0), 1e-9)
        means = (member * x[:, None]).mean(axis=0) / shares
        variances = (member * (x[:, None] - means) ** 2).mean(axis=0) / shares + 1e-6
    lower = int(np.argmin(means))
    distance = abs(means[1] - means[0]) / np.sqrt(variances.mean())
    return float(member[:, lower].sum()), float(distance)


def regression(x: Array, y: Array, weight: Array) -> Array:
    """Weighted logistic regression with a ridge on all but the intercept, by Newton's method."""
    x = np.column_stack([np.ones(len(x)), x])
    penalty = FEATURE_RIDGE * np.eye(x.shape[1])
    penalty[0, 0] = 0
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        q = sigmoid(x @ beta)
        gradient = x.T @ (weight * (y - q)) - penalty @ beta
        curvature = (x * (weight * q * (1 - q))[:, None]).T @ x + penalty + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(curvature, gradient)
        beta += step
        if abs(step).max() < 1e-8:
            break
    return beta


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(x, -50, 50)))


def shift_to(log_odds: Array, wanted: float) -> float:
    """What to add to log odds so that their probabilities have a sum."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(log_odds + middle).sum() < wanted else (low, middle)
    return (low + high) / 2


# ---------------------------------------------------------------- 5. decide


def threshold(p: Array, smaller: int) -> Array:
    """The candidates that are kept: the first by falling p that have the largest expected F1."""
    order = np.argsort(-p, kind="stable")
    overlap = min(p.sum() / MUTUAL_SHARE, smaller)
    expected = 2 * np.cumsum(p[order]) / (np.arange(1, len(p) + 1) + overlap)
    return order[: int(expected.argmax()) + 1]


def with_seeds(links: Array, seeds: Array) -> Array:
    """The seeds, and the links that share no row with one."""
    free = ~np.isin(links[:, 0], seeds[:, 0]) & ~np.isin(links[:, 1], seeds[:, 1])
    return np.concatenate([seeds, links[free]])


# ---------------------------------------------------------------- beside veclink


def f1(links: Array, truth: Array) -> float:
    right = len(set(map(tuple, links.tolist())) & set(map(tuple, truth.tolist())))
    return 200 * right / (len(links) + len(truth))


def sample() -> tuple[Array, Array, Array]:
    """Vectors of both collections of the sample, and the true pairs as rows."""
    from veclink import open_collection
    from veclink import sample as files
    from veclink.data.pairs import resolve_pairs

    a, b = open_collection(files.A), open_collection(files.B)
    return np.asarray(a.vectors[:]), np.asarray(b.vectors[:]), resolve_pairs(files.TRUTH, a, b)


def compared(draw: int) -> dict[str, float]:
    """F1 of both from the same 15 seeds."""
    import veclink

    a, b, truth = sample()
    seeds = truth[np.random.default_rng(draw).choice(len(truth), 15, replace=False)]
    rebuilt = link(a, b, seeds, np.random.default_rng(draw))
    theirs = veclink.link(a, b, seeds=seeds, random_state=draw).pairs
    return {"draw": draw, "rebuilt": f1(rebuilt, truth), "veclink": f1(np.asarray(theirs), truth)}


def main() -> None:
    """Compare three draws of seeds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=3)
    options.add_argument("--keep", action="store_true", help="write the results file")
    given = options.parse_args()
    rows = []
    for draw in range(given.draws):
        rows.append(compared(draw))
        print(rows[-1], flush=True)
    if given.keep:
        file = Path(__file__).parent / "results" / "experiments" / "rebuild.json"
        file.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
