"""What maps of other kinds would add to the evidence: local reconstruction and kernel regression, by labels and not.

    veclink bench other-maps --data DIR [--trials 1] [--only TEXT] [--seconds 600] [--output FILE.json] [--table]

Each case is linked up to its last probabilities. Then every candidate is also scored by where its row lies among the
nearest links (local linear reconstruction) and by kernel ridge regression, both ways, its own link left out. The
candidates are ranked by the product, by a regression that is fitted to labels (in five folds) on the product's
evidence, by one on that and the other maps', and by the product's own calibration with the other maps' evidence as
more columns, of candidates and decoys alike. Runs are kept in results/experiments/other_maps.json.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from veclink.confidence import evidence
from veclink.confidence.calibration import Calibrated, calibrate
from veclink.confidence.candidates import Candidates
from veclink.confidence.evidence import REGISTRY, Evidence, feature_matrix
from veclink.confidence.features import Standard, candidate_pairs
from veclink.confidence.logistic import logistic_regression
from veclink.geometry.canonical import JOINED_RULES
from veclink.geometry.sides import Sides
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span import linker
from veclink.linkers.span.results import Estimated
from veclink.linkers.span.scoring import anchor_weights
from veclink_bench.places import results_folder
from veclink_bench.real_cases import Problem
from veclink_bench.studies.few_candidates import Prepared, candidates, estimated, missing_to_choose, prepared
from veclink_bench.studies.kept_runs import Run, measure_missing
from veclink_bench.studies.refits import figures

OUTPUT = results_folder("experiments") / "other_maps.json"
OTHER_MAPS = ("local reconstruction to B", "local reconstruction to A", "kernel regression")
KINDS = ("even 0.15", "even 0.05", "half of 600")
NEIGHBOURS, LOCAL_RIDGE = 150, 1.0
KERNEL_WIDTH, KERNEL_RIDGE = 0.2, 0.3
LABELLED_FOLDS = 5
WANTED = 0.95
ROWS_AT_ONCE = 256
PRODUCT, LABELLED, LABELLED_MORE = "product", "labelled, its evidence", "labelled, other maps too"
MORE = "product, other maps too"
WHAT = (
    "Best F1 by any threshold and recall at 95 % true precision, in points: as the product ranks the candidates, as a "
    "regression with labels does on its evidence, and on that of other maps too; F1 and told − true precision of the "
    "product's calibration, made once on its evidence and once with that of the other maps."
)
HOW = "Cases to choose on; 15 seeds. Local reconstruction from 150 links (ridge 1), kernel width .2 (ridge .3)."


def measure(problem: Problem, random_state: int) -> dict[str, Any] | None:
    """All rankings of the candidates of one run; None where nothing grew."""
    ready = prepared(problem, random_state)
    first = estimated(ready.task)
    if first is None:
        return None
    last = linker.refit(ready.task, first)
    more = with_other_maps(ready, last)
    ranked = {
        PRODUCT: _in_order(problem, ready, last),
        LABELLED: _labelled(problem, ready, last, more, REGISTRY),
        LABELLED_MORE: _labelled(problem, ready, last, more, more_evidence()),
    }
    shared = len(problem.shared)
    found: dict[str, Any] = {name: _best(right, shared) for name, right in ranked.items()}
    for name, entries in ((PRODUCT, REGISTRY), (MORE, more_evidence())):
        calibrated = _calibrated(ready, last, more, entries)
        found[name] = found.get(name, {}) | _told(problem, ready, _with_candidates(last, more), calibrated)
    return found


def more_evidence() -> tuple[Evidence, ...]:
    """The registry, and the score and margin under each of OTHER_MAPS."""
    more = []
    for place in range(len(JOINED_RULES), len(JOINED_RULES) + len(OTHER_MAPS)):
        more.append(_entry(f"other_score{place}", partial(_score, place)))
        more.append(_entry(f"other_margin{place}", partial(_margin, place)))
    return (*REGISTRY, *more)


def with_other_maps(ready: Prepared, last: Estimated) -> Candidates:
    """The candidates with their scores under each of OTHER_MAPS after those of the joined maps."""
    every = last.scored.matched.candidates
    clouds = ready.task.on(last.scored.matched.grown.bootstrap).clouds
    sides = clouds.all_rows("a"), clouds.all_rows("b")
    links = np.column_stack(candidates(last))
    weights = anchor_weights(last.calibrated.probability)
    rows = every.rows_a, every.rows_b
    to_b, to_a = (_cosines(local_images, sides, links, weights, rows, way) for way in (0, 1))
    by_kernel = sum(_cosines(kernel_images, sides, links, weights, rows, way) for way in (0, 1))
    densities = every.density_a[every.rows_a] + every.density_b[every.rows_b]
    others = np.stack([2 * to_b - densities, 2 * to_a - densities, by_kernel - densities])
    assert len(every.single_scores) == len(JOINED_RULES), "each of the joined maps scores small clouds"
    return replace(every, single_scores=np.vstack([every.single_scores, others]).astype(np.float32))


def local_images(rows: np.ndarray, anchors: Sides, weights: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Where rows (n, d1) lie on the other side: as they lie among their nearest anchors, so among those' partners.

    own: (n,) the anchor that each row is itself, which is left out; −1 for none.
    """
    left, right = anchors
    count = min(NEIGHBOURS, len(left) - 1)
    images = np.empty((len(rows), right.shape[1]), np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        cosine = rows[part] @ left.T
        is_anchor = np.flatnonzero(own[part] >= 0)
        cosine[is_anchor, own[part][is_anchor]] = -np.inf
        near = np.argpartition(-cosine, count - 1, axis=1)[:, :count]
        among = left[near]
        gram = among @ among.transpose(0, 2, 1)
        gram[:, np.arange(count), np.arange(count)] += LOCAL_RIDGE / weights[near]
        coordinates = np.linalg.solve(gram, np.take_along_axis(cosine, near, 1)[..., None])[..., 0]
        images[part] = np.einsum("nk,nkd->nd", coordinates, right[near])
    return images


def kernel_images(rows: np.ndarray, anchors: Sides, weights: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The same by kernel ridge regression; of a row that is an anchor, without that anchor, in closed form."""
    left, right = anchors
    gram = np.exp((left @ left.T - 1) / KERNEL_WIDTH).astype(np.float64)
    inverse = np.linalg.inv(gram + np.diag(KERNEL_RIDGE / weights))
    coefficients = inverse @ right
    images = np.exp((rows @ left.T - 1) / KERNEL_WIDTH) @ coefficients
    is_anchor = np.flatnonzero(own >= 0)
    place = own[is_anchor]
    images[is_anchor] = right[place] - coefficients[place] / np.diag(inverse)[place][:, None]
    return images.astype(np.float32)


def _cosines(
    images: Callable[..., np.ndarray],
    sides: Sides,
    links: np.ndarray,
    weights: np.ndarray,
    rows: Sides,
    way: int,
) -> np.ndarray:
    """Cosine of the image of each pair's row on one side (0: A) and its row on the other, (c,)."""
    here, there = sides[way], sides[1 - way]
    own = np.full(len(here), -1)
    own[links[:, way]] = np.arange(len(links))
    anchors = here[links[:, way]], there[links[:, 1 - way]]
    placed = unit_rows(images(here, anchors, weights, own))
    return np.einsum("nd,nd->n", placed[rows[way]], there[rows[1 - way]])


def _score(place: int, pairs: Any) -> np.ndarray:
    return pairs.under_map(place).score


def _margin(place: int, pairs: Any) -> np.ndarray:
    return np.minimum(*pairs.under_map(place).margins())


def _entry(name: str, of_pairs: Callable[[Any], np.ndarray]) -> Evidence:
    return Evidence(name=name, label=name, against=name, help=name, of_pairs=of_pairs, compares_rivals=True)


def _right(problem: Problem, ready: Prepared, every: Candidates, positions: np.ndarray) -> np.ndarray:
    of_a = problem.object_a[ready.a.rows[every.rows_a[positions]]]
    of_b = problem.object_b[ready.b.rows[every.rows_b[positions]]]
    return of_a == of_b


def _in_order(problem: Problem, ready: Prepared, way: Estimated) -> np.ndarray:
    """Which candidates are right, the surest first."""
    return _right(problem, ready, way.scored.matched.candidates, way.calibrated.positions)


def _labelled(
    problem: Problem,
    ready: Prepared,
    last: Estimated,
    more: Candidates,
    entries: tuple[Evidence, ...],
) -> np.ndarray:
    """Which candidates are right, the surest first by a regression that labels of the other folds were given to."""
    mutual = more.mutual()
    right = _right(problem, ready, more, mutual)
    used = tuple(entry for entry in entries if entry.in_model)
    features = feature_matrix(candidate_pairs(more, last.scored.features, mutual), used)
    features = Standard.of(features).applied(features)
    fold = np.random.default_rng(0).integers(LABELLED_FOLDS, size=len(mutual))
    log_odds = np.empty(len(mutual))
    for each in range(LABELLED_FOLDS):
        known = fold != each
        coefficients = logistic_regression(features[known], right[known].astype(float), np.ones(known.sum()))
        log_odds[~known] = coefficients[0] + features[~known] @ coefficients[1:]
    return right[np.argsort(-log_odds, kind="stable")]


def _best(right: np.ndarray, shared: int) -> dict[str, float]:
    found = np.cumsum(right)
    count = np.arange(1, len(right) + 1)
    sure = np.flatnonzero((found >= WANTED * count) & (count >= 10))
    points = {"best": (2 * found / (count + shared)).max(), "recall": found[sure[-1]] / shared if len(sure) else 0.0}
    return {name: round(100 * float(value), 1) for name, value in points.items()}


def _calibrated(ready: Prepared, last: Estimated, more: Candidates, entries: tuple[Evidence, ...]) -> Calibrated:
    """The last candidates calibrated once, without the mean of all counts that a run ends with."""
    with patch.object(evidence, "REGISTRY", entries):
        return calibrate(more, last.scored.features, last.scored.fitted, k=ready.task.clouds.k, runners_up=False)


def _with_candidates(last: Estimated, more: Candidates) -> Estimated:
    return replace(last, scored=replace(last.scored, matched=replace(last.scored.matched, candidates=more)))


def _told(problem: Problem, ready: Prepared, way: Estimated, calibrated: Calibrated) -> dict[str, float]:
    said = figures(problem, ready, replace(way, calibrated=calibrated), calibrated)
    return {"f1": said["f1"], "told": said["told"], "true": said["true"]}


def summary(runs: list[Run]) -> dict[str, Any]:
    """The means, kind by kind, and of all."""
    kinds = sorted({run["kind"] for run in runs})
    chosen = {kind: [run for run in runs if run["kind"] == kind] for kind in kinds} | {"all": runs}
    return {kind: {"runs": len(mine), **_means(mine)} for kind, mine in chosen.items() if mine}


def _means(runs: list[Run]) -> dict[str, dict[str, float]]:
    ways = [name for name in runs[0] if name not in ("case", "kind")]
    return {way: {name: _mean([run[way][name] for run in runs]) for name in runs[0][way]} for way in ways}


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 1)


def heading(runs: list[Run]) -> dict[str, Any]:
    """What was asked, and a summary of the runs."""
    return {"what": WHAT, "how": HOW, "summary": summary(runs)}


def main() -> None:
    """Measure what the output file lacks."""
    measure_missing(__doc__, OUTPUT, missing_to_choose(measure, lambda kind: kind in KINDS), heading)
