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
JOINED_RULES_OF_FEW, FEW_ANCHORS = ((3.0, 0.7), (1.0, 0.7), (10.0, 0.7)), 1000
# Evidence.
BEST_LISTED, NEAREST, DENSITY_NEAREST, NO_RIVAL_SCORE = 3, 20, 10, -1.0
# Calibration.
FIRST_GUESS_QUANTILES, MAX_ROUNDS, MIXTURE_CONVERGED = (0.3, 0.95), 40, 0.001
MIN_WRONG_SHARE, MUTUAL_SHARE, FEATURE_RIDGE, OWN_DOUBT_SHARE = 0.02, 0.97, 3.0, 0.5
DECOY_BASE_WEIGHT, DECOY_RATE_INFLATION, RATE_ERROR, REGRESSION_ERROR = 0.3, 0.2, 0.08, (0.2, 0.035)
NORMALS_APART, MIN_NORMALS, NEWTON_STEPS = (2.0, 3.0), 100, 15

RESULTS = Path(__file__).parent / "results" / "experiments" / "rebuild.json"
Array = np.ndarray


def link(a: Array, b: Array, seeds: Array, rng: np.random.Generator) -> Array:
    """Links (n, 2) between the rows of two clouds, from some pairs of rows."""
    a, b = centred(a), centred(b)
    pool = grown(a, b, seeds, rng)
    anchors = with_seeds(pool, seeds)
    views = cross_fitted(a, b, anchors, rng)
    mutual = mutual_pairs(views[0].scores)
    p = calibrated(Evidence(a, b, anchors), views, mutual)
    return decided(mutual, p, seeds, min(len(a), len(b)))


def unit(x: Array) -> Array:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def centred(x: Array) -> Array:
    """Unit rows less their mean, of unit length again."""
    x = unit(np.asarray(x, np.float64))
    return unit(x - x.mean(axis=0))


# ---------------------------------------------------------------- 1. grow a pool


def csls(x: Array, y: Array) -> tuple[Array, tuple[Array, Array]]:
    """csls of every pair, and the mean cosine of each row of either side to its nearest."""
    cosine = x @ y.T
    r_x = np.partition(cosine, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS:].mean(axis=1)
    r_y = np.partition(cosine, -NEIGHBOURS, axis=0)[-NEIGHBOURS:].mean(axis=0)
    return 2 * cosine - r_x[:, None] - r_y, (r_x, r_y)


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
        fixed = given[:0] if settled else given
        agreed = agreed_pairs(a, b, without(pool, fixed), fixed, VIEWS if len(pool) else 1, rng)
        limit = max(MIN_POOL_LIMIT, GROWTH_FACTOR * max(len(pool), len(given)))
        before, pool = len(pool), agreed[:limit]
        steady = len(pool) < limit and abs(len(pool) - before) <= STEADY_CHANGE * len(pool)
        if steady and settled:
            break
        settled = settled or steady
    return pool


def agreed_pairs(a: Array, b: Array, pool: Array, fixed: Array, views: int, rng: np.random.Generator) -> Array:
    """Pairs that enough of the views that did not hold them propose, one partner each, the surest first."""
    votes, total, holding = np.zeros((3, len(a), len(b)))
    for _ in range(views):
        size = min(int(np.ceil(HELD_SHARE * len(pool))), ANCHORS_PER_VIEW)
        held = pool[rng.permutation(len(pool))[:size]]
        anchors = np.concatenate([fixed, held])
        scores, _ = csls(span_signatures(a, a[anchors[:, 0]]), span_signatures(b, b[anchors[:, 1]]))
        found = mutual_pairs(scores)
        is_held = np.zeros(scores.shape, bool)
        is_held[tuple(held.T)] = True
        holding += is_held
        found = found[~is_held[tuple(found.T)]]
        votes[tuple(found.T)] += 1
        total[tuple(found.T)] += scores[tuple(found.T)]
    pairs = np.argwhere(votes)
    at = tuple(pairs.T)
    share = votes[at] / (views - holding[at])
    rank = share + SCORE_WEIGHT * total[at] / votes[at]
    kept = share >= (VOTE_SHARE if views > 1 else 0)
    return one_partner_each(pairs[kept], rank[kept])


def without(pairs: Array, others: Array) -> Array:
    """Those of the pairs that share no row with others."""
    return pairs[~np.isin(pairs[:, 0], others[:, 0]) & ~np.isin(pairs[:, 1], others[:, 1])]


def with_seeds(pairs: Array, seeds: Array) -> Array:
    """The seeds, and the pairs that share no row with one."""
    return np.concatenate([seeds, without(pairs, seeds)])


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


@dataclass
class Scored:
    """Scores of all pairs, and the densities r of the rows of either side."""

    scores: Array
    density: tuple[Array, Array]

    def turned(self) -> Scored:
        """The same, seen from the other side."""
        return Scored(self.scores.T, self.density[::-1])


def canonical_maps(a: Array, b: Array, of_few: bool) -> list[tuple[Array, Array]]:
    """The projections of both sides from paired anchors, by each of the rules, those of few or of many."""
    rules = JOINED_RULES_OF_FEW if of_few else JOINED_RULES
    (variances_a, bases_a), (variances_b, bases_b) = principal(a), principal(b)
    cross = (a @ bases_a).T @ (b @ bases_b) / len(a)
    found = []
    for ridge, power in rules:
        white_a = 1 / np.sqrt(variances_a + ridge * (a**2).sum() / a.size)
        white_b = 1 / np.sqrt(variances_b + ridge * (b**2).sum() / b.size)
        u, rho, vt = np.linalg.svd(white_a[:, None] * cross * white_b, full_matrices=False)
        weight = np.clip(rho, 0, 1) ** power
        heavy = weight > MIN_AXIS_WEIGHT * weight[0]
        left = ((bases_a * white_a) @ u * weight)[:, heavy]
        right = ((bases_b * white_b) @ vt.T * weight)[:, heavy]
        found.append((left / root_mean_square(a @ left), right / root_mean_square(b @ right)))
    return found


def principal(x: Array) -> tuple[Array, Array]:
    """The leading variances of some rows about the origin, and their directions as columns."""
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    return np.maximum(values[::-1][:MAX_DIRECTIONS], 0), vectors[:, ::-1][:, :MAX_DIRECTIONS]


def root_mean_square(x: Array) -> float:
    return float(np.sqrt((x**2).sum(axis=1).mean()))


def cross_fitted(a: Array, b: Array, anchors: Array, rng: np.random.Generator) -> list[Scored]:
    """Scores by maps that neither row had a part in: of the three joined, and of each alone."""
    fold = rng.permutation(len(anchors)) % FOLDS
    fold_a, fold_b = np.full(len(a), -1), np.full(len(b), -1)
    fold_a[anchors[:, 0]], fold_b[anchors[:, 1]] = fold, fold
    apart = (fold_a[:, None] >= 0) & (fold_b >= 0) & (fold_a[:, None] != fold_b)
    total = np.zeros((1 + len(JOINED_RULES), len(a), len(b)))
    count = np.zeros((len(a), len(b)))
    density = np.zeros(len(a)), np.zeros(len(b))
    for each in range(FOLDS):
        used = anchors[fold != each]
        maps = canonical_maps(a[used[:, 0]], b[used[:, 1]], len(anchors) < FEW_ANCHORS)
        sides = [np.concatenate([x @ of[side] for of in maps], axis=1) for side, x in enumerate((a, b))]
        scores, (r_a, r_b) = csls(unit(sides[0]), unit(sides[1]))
        free_a, free_b = (fold_a < 0) | (fold_a == each), (fold_b < 0) | (fold_b == each)
        used_for = np.where(apart, free_a[:, None] | free_b, free_a[:, None] & free_b)
        total[0] += used_for * scores
        for single, (left, right) in zip(total[1:], maps, strict=True):
            single += used_for * (2 * unit(a @ left) @ unit(b @ right).T - r_a[:, None] - r_b)
        count += used_for
        density[0][:] += r_a / FOLDS
        density[1][:] += r_b / FOLDS
    return [Scored(each / count, density) for each in total]


# ---------------------------------------------------------------- 3. evidence


@dataclass
class Compared:
    """Pairs with their scores and those of the best rivals of either row; the source: which link a decoy is made of."""

    pairs: Array
    score: Array
    rival_of_a: Array
    rival_of_b: Array
    source: Array

    def margins(self) -> tuple[Array, Array]:
        """The narrow and the wide lead over rivals."""
        leads = self.score - self.rival_of_a, self.score - self.rival_of_b
        return np.minimum(*leads), np.maximum(*leads)


class Evidence:
    """What speaks for a pair: scores, margins, and what is near."""

    def __init__(self, a: Array, b: Array, links: Array) -> None:
        self.links = links
        self.near = a @ a[links[:, 0]].T, b @ b[links[:, 1]].T
        # Two links more than are wanted: those of u and of v themselves are left out.
        self.order = [np.argsort(-each, axis=1, kind="stable")[:, : NEAREST + 2] for each in self.near]
        self.density = [standardised(nearest_mean(x)) for x in (a, b)]

    def features(self, compared: list[Compared]) -> Array:
        """(n, 13), from the pairs under the joined maps and under each alone."""
        joined, *single = compared
        around = np.array([self._neighbourhood(*pair) for pair in joined.pairs.tolist()])
        delta_u, delta_v = self.density[0][joined.pairs[:, 0]], self.density[1][joined.pairs[:, 1]]
        columns = [joined.score, *joined.margins(), *around.T, -abs(delta_u - delta_v), delta_u + delta_v]
        columns += [each.score for each in single]
        columns += [each.margins()[0] for each in single]
        return np.column_stack(columns)

    def _neighbourhood(self, u: int, v: int) -> tuple[float, float]:
        of_u, of_v = self._nearest(0, u, u, v), self._nearest(1, v, u, v)
        near = np.concatenate([of_u, of_v])
        correlation = np.corrcoef(self.near[0][u, near], self.near[1][v, near])[0, 1]
        return correlation, len(np.intersect1d(of_u, of_v)) / NEAREST

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


def best_other(scores: Array, excluded: list[Array]) -> tuple[Array, Array]:
    """The best partner of each row (n, m) but those excluded (n,), and its score, NO_RIVAL_SCORE at least."""
    scores = scores.copy()
    for each in excluded:
        scores[np.arange(len(scores)), each] = -np.inf
    best = scores.argmax(axis=1)
    return best, np.maximum(scores[np.arange(len(scores)), best], NO_RIVAL_SCORE)


def compare_links(view: Scored, mutual: Array) -> Compared:
    """Mutual candidates and their rivals."""
    u, v = mutual.T
    rival_of_a = best_other(view.scores[u], [v])[1]
    rival_of_b = best_other(view.scores.T[v], [u])[1]
    return Compared(mutual, view.scores[u, v], rival_of_a, rival_of_b, np.arange(len(mutual)))


def without_partner(view: Scored, mutual: Array, replacement: Array) -> Compared:
    """Each u of the links (u, v) with another partner, v being gone."""
    u, v = mutual.T
    r_u, r_v = view.density[0][u], view.density[1][v]
    cosine = (view.scores[u, v] + r_u + r_v) / 2
    raised = np.maximum(cosine - r_u, 0) / (NEIGHBOURS - 1)
    rival_of_a = best_other(view.scores[u], [v, replacement])[1] + raised
    rival_of_b = best_other(view.scores.T[replacement], [u])[1]
    pairs = np.stack([u, replacement], axis=1)
    return Compared(pairs, view.scores[u, replacement] + raised, rival_of_a, rival_of_b, np.arange(len(u)))


def decoys_of(views: list[Scored], mutual: Array) -> list[Compared]:
    """Wrong pairs of rows of A that lost their partner, under the joined maps and under each alone."""
    replacement, _ = best_other(views[0].scores[mutual[:, 0]], [mutual[:, 1]])
    every = [without_partner(view, mutual, replacement) for view in views]
    made = np.flatnonzero(every[0].score > every[0].rival_of_b)
    return [Compared(x.pairs[made], x.score[made], x.rival_of_a[made], x.rival_of_b[made], made) for x in every]


def turned(decoys: list[Compared]) -> list[Compared]:
    """Decoys made on the other side, seen from this one."""
    return [Compared(x.pairs[:, ::-1], x.score, x.rival_of_b, x.rival_of_a, x.source) for x in decoys]


def calibrated(evidence: Evidence, views: list[Scored], mutual: Array) -> Array:
    """The probability of each mutual candidate to be right, by expectation–maximisation."""
    sizes = views[0].scores.shape
    links = [compare_links(view, mutual) for view in views]
    decoys = decoys_of(views, mutual), turned(decoys_of([view.turned() for view in views], mutual[:, ::-1]))
    right = evidence.features(links)
    false = np.concatenate([evidence.features(each) for each in decoys])
    mean, deviation = right.mean(axis=0), right.std(axis=0)
    right, false = (right - mean) / deviation, (false - mean) / deviation
    n = len(mutual)
    low, high = np.quantile(links[0].score, FIRST_GUESS_QUANTILES)
    p = np.clip((links[0].score - low) / (high - low), 0, 1) ** 2
    by_regression, log_odds = n - p.sum(), None
    for _ in range(MAX_ROUNDS):
        weights = p + DECOY_BASE_WEIGHT * p.mean()
        of_decoys = [weights[each[0].source] for each in decoys]
        rates = [each.sum() / weights.sum() for each in of_decoys]
        normals, right_before = two_normals(log_odds, p), p.sum()
        by_rate = wrong_by_rate(p, rates, sizes)
        wrong = joined(n, by_rate, by_regression, normals, right_before)
        doubt, decoy = 1 - p, np.concatenate(of_decoys)
        log_odds = regression(
            np.concatenate([right, right, false]),
            np.repeat([1.0, 0.0, 0.0], [n, n, len(false)]),
            np.concatenate(
                [p, OWN_DOUBT_SHARE * wrong * doubt / doubt.sum(), (1 - OWN_DOUBT_SHARE) * wrong * decoy / decoy.sum()]
            ),
        )[:n]
        by_regression = n - sigmoid(log_odds).sum()
        wrong = joined(n, by_rate, by_regression, normals, right_before)
        new = sigmoid(log_odds + shift_to(log_odds, n - wrong))
        moved = abs(new - p).mean()
        p = new
        if moved < MIXTURE_CONVERGED:
            break
    return p


def wrong_by_rate(p: Array, rates: list[float], sizes: tuple[int, ...]) -> tuple[float, float]:
    """How many mutual candidates are wrong by the decoys' rates, and the error of that count."""
    right = min(p.sum(), (1 - MIN_WRONG_SHARE) * MUTUAL_SHARE * min(sizes))
    alone = [size - right / MUTUAL_SHARE for size in sizes]
    count = 0.5 * (alone[0] * rates[0] + alone[1] * rates[1]) * (1 + DECOY_RATE_INFLATION * (1 - right / len(p)))
    rate = np.clip(np.mean(rates), MIN_WRONG_SHARE, 1 - MIN_WRONG_SHARE)
    return count, count * np.sqrt((1 - rate) / (rate * 2 * right) + RATE_ERROR**2)


def joined(
    n: int, rate: tuple[float, float], by_regression: float, normals: tuple[float, float], right: float
) -> float:
    """Two counts weighed by their errors; raised to the lower of two components where these stand apart."""

    def log_odds(count: float) -> float:
        share = np.clip(count / n, MIN_WRONG_SHARE, 1 - MIN_WRONG_SHARE)
        return float(np.log(share / (1 - share)))

    (by_rate, error), (wrong, apart) = rate, normals
    trust = 1 / (1 + (error / min(REGRESSION_ERROR[0] * right, REGRESSION_ERROR[1] * (n - right))) ** 2)
    count = log_odds(trust * by_rate + (1 - trust) * by_regression)
    clear = np.clip((apart - NORMALS_APART[0]) / (NORMALS_APART[1] - NORMALS_APART[0]), 0, 1)
    return n * float(sigmoid(np.array(count + clear * max(0.0, log_odds(wrong) - count))))


def two_normals(x: Array | None, p: Array) -> tuple[float, float]:
    """Members of the lower of two normal components of log odds, and how far the two are apart."""
    if x is None or len(p) < MIN_NORMALS:
        return 0.0, 0.0
    member = np.stack([1 - p, p])
    for _ in range(MAX_ROUNDS):
        total = member.sum(axis=1, keepdims=True) + 1e-6
        mean = (member * x).sum(axis=1, keepdims=True) / total
        variance = (member * (x - mean) ** 2).sum(axis=1, keepdims=True) / total + 0.01
        height = np.log(total / np.sqrt(variance)) - (x - mean) ** 2 / (2 * variance)
        upper = sigmoid(height[1] - height[0])
        upper = np.where(x > mean[1], np.maximum(upper, 0.5), upper)
        upper = np.where(x < mean[0], np.minimum(upper, 0.5), upper)
        member = np.stack([1 - upper, upper])
    return float(member[0].sum()), float((mean[1] - mean[0])[0] / np.sqrt(variance.mean()))


def regression(x: Array, y: Array, weight: Array) -> Array:
    """Log odds of all lines by weighted logistic regression, a ridge on all but the intercept; Newton's method."""
    x = np.column_stack([np.ones(len(x)), x])
    ridge = np.full(x.shape[1], FEATURE_RIDGE)
    ridge[0] = 1e-6
    beta = np.zeros(x.shape[1])
    for _ in range(NEWTON_STEPS):
        q = sigmoid(x @ beta)
        gradient = x.T @ (weight * (y - q)) - ridge * beta
        curvature = (x * (weight * q * (1 - q))[:, None]).T @ x + np.diag(ridge)
        beta += np.linalg.solve(curvature, gradient)
    return x @ beta


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


def decided(mutual: Array, p: Array, seeds: Array, smaller: int) -> Array:
    """The seeds, and the surest of the others, as many as have the largest expected F1."""
    found = sum(pair in mutual.tolist() for pair in seeds.tolist())
    overlap = min(p.sum() * (len(seeds) + 1) / (found + 0.5), smaller)
    order = np.argsort(-p, kind="stable")
    free = np.isin(mutual[order], without(mutual, seeds)).all(axis=1)
    order = order[free]
    links = np.concatenate([seeds, mutual[order]])
    right = np.cumsum(np.concatenate([np.ones(len(seeds)), p[order]]))
    expected = 2 * right / (np.arange(1, len(links) + 1) + overlap)
    return links[: int(expected.argmax()) + 1]


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
    return {"rebuilt": f1(rebuilt, truth), "veclink": f1(np.asarray(theirs), truth)}


def keep(draw: int, found: dict[str, float]) -> None:
    """Put the figures of a draw into the results file, beside those of the page before it was mended."""
    from veclink_bench.versions import version_of

    held = json.loads(RESULTS.read_text(encoding="utf-8"))
    for method, value in found.items():
        cell = {"page": "mended", "method": method, "draw": draw, "f1": round(value, 5)}
        cell["version"] = version_of("span")
        held["cells"][f"page=mended method={method} draw={draw}"] = cell
    RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Compare some draws of seeds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=3)
    options.add_argument("--keep", action="store_true", help="write the results file")
    given = options.parse_args()
    for draw in range(given.draws):
        found = compared(draw)
        print(draw, found, flush=True)
        if given.keep:
            keep(draw, found)


if __name__ == "__main__":
    main()
