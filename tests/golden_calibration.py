"""The golden numbers of the calibration: a small fixed problem of the sample, and what is said of it.

    PYTHONPATH=src:tests python tests/golden_calibration.py

makes `tests/fixtures/calibration.json` again. Do so when the calibration is meant to change, and give it another
CALIBRATION_VERSION; `tests/confidence/test_golden.py` compares the numbers.

The candidates are in the file too, so that the calibration of them is the same on every machine: what was computed from
vectors differs in the last digits from one BLAS to another.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from veclink import sample
from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.calibration import Calibrated, _sample, calibrate
from veclink.confidence.candidates import Candidates, crossfit
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.confidence.decoys import Decoys, remove_partners
from veclink.confidence.evidence import feature_matrix, neighbourhood_features
from veclink.confidence.features import candidate_pairs
from veclink.confidence.intervals import ranges
from veclink.confidence.mixture import (
    Mixture,
    Sample,
    _recounted,
    _tempered,
    _trust,
    count_among_decoys,
    first_guess,
    wrong_count,
)
from veclink.confidence.threshold import best_threshold, false_discovery_inflation
from veclink.data.collection import Collection
from veclink.data.pairs import resolve_pairs
from veclink.geometry.clouds import prepare
from veclink.stores.opening import open_collection

FIXTURE = Path(__file__).parent / "fixtures" / "calibration.json"
N_SHARED, N_ALONE_A, N_ALONE_B = 110, 70, 100
N_POOL, N_WRONG = 60, 8
K = 10
DIGITS = 7
"""Of the candidates' numbers, which are float32: as many as those have."""
FLOATS = ("score", "cosine", "density_a", "density_b", "single_scores")
ESTIMATED = (
    (900, 40.0, 930.0, 1950),
    (120, 30.0, 150.0, 2000),
    (50, 0.4, 49.0, 60),
    (300, 100.0, 400.0, 9000),
    (1, 0.8, 0.5, 20),
    (40, -1e-9, 41.0, 60),
)
"""Links, wrong ones among them, shared objects and rows of the smaller side, as ranges are asked for."""
TRUSTED = ((0.3, 100.0, 50.0, 200.0), (0.3, 5.0, 400.0, 500.0), (0.0, 0.1, 300.0, 400.0), (1.0, 300.0, 0.2, 40.0))
"""The decoys' rate, right and wrong candidates and rows without a partner, as the trust in the rate is asked for."""


def clouds_and_pool() -> tuple[Any, np.ndarray]:
    """180 × 210 papers, of which 110 are shared and rows i of both, and a pool of 60 right links and 8 wrong ones."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:N_ALONE_A]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:N_ALONE_B]
    rows_a = np.concatenate([truth[:N_SHARED, 0], alone_a])
    rows_b = np.concatenate([truth[:N_SHARED, 1], alone_b])
    sides = (np.asarray(side.vectors, np.float32)[rows] for side, rows in ((a, rows_a), (b, rows_b)))
    clouds = CloudPair(*(prepare(Collection.from_array(side)).dense() for side in sides), k=K)
    right = np.column_stack([np.arange(N_POOL)] * 2)
    wrong = np.column_stack([np.arange(N_POOL, N_POOL + N_WRONG), np.arange(N_SHARED, N_SHARED + N_WRONG)])
    return clouds, np.concatenate([right, wrong])


def problem_from_vectors() -> tuple[Candidates, np.ndarray]:
    """Candidates and their neighbourhood features, computed from the sample."""
    clouds, pool = clouds_and_pool()
    candidates = crossfit(clouds, pool, np.random.default_rng(1)).candidates
    return candidates, neighbourhood_features(clouds, candidates, pool, np.random.default_rng(2))


def stored_problem(told: dict[str, Any]) -> tuple[Candidates, np.ndarray]:
    """The same as they are in the file."""
    arrays = {
        name: np.array(values, np.float32 if name in FLOATS else np.int64)
        for name, values in told["candidates"].items()
    }  # fmt: skip
    return Candidates(**arrays), np.array(told["neighbourhoods"], np.float32)


def one_small_side(n_a: int, n_b: int) -> tuple[Candidates, np.ndarray]:
    """Made up, with neighbourhoods: rows i are one object, for all rows of the smaller side, and rivals far behind."""
    smaller, rng = min(n_a, n_b), np.random.default_rng(0)
    first = np.arange(smaller)
    # The runner-up of row 0 stands before its partner, so that a candidate at position 0 is not mutual.
    shifted = (first - 1) % smaller
    rows_a, rows_b = np.r_[shifted, first], np.r_[first, first]
    order = np.lexsort((-rows_b, rows_a))
    rows_a, rows_b = rows_a[order], rows_b[order]
    score = np.where(rows_a == rows_b, 0.9, 0.1) + rng.uniform(0, 0.05, 2 * smaller)
    best_a, best_b = np.full((n_a, 3), -1), np.full((n_b, 3), -1)
    for best, rows in ((best_a, rows_a), (best_b, rows_b)):
        for row in range(smaller):
            listed = np.flatnonzero(rows == row)
            best[row, : len(listed)] = listed[np.argsort(-score[listed])]
    alike = score.astype(np.float32)
    neighbourhoods = rng.uniform(0, 1, (2 * smaller, 4)).astype(np.float32)
    return Candidates(rows_a, rows_b, alike, alike, np.zeros(n_a), np.zeros(n_b), best_a, best_b), neighbourhoods


def numbers(candidates: Candidates, neighbourhoods: np.ndarray) -> dict[str, Any]:
    """What the calibration says of the problem."""
    mutual = candidates.mutual()
    whole = calibrate(candidates, neighbourhoods, k=K)
    part = calibrate(candidates, neighbourhoods, mutual[::2], k=K, runners_up=False)
    guess = first_guess(candidates.score[mutual])
    by_position = whole.probability[np.argsort(whole.positions)]
    return {
        "mutual": mutual,
        "features": feature_matrix(candidate_pairs(candidates, neighbourhoods, mutual)).sum(axis=0),
        "whole": _calibrated(whole),
        "part": _calibrated(part),
        "decoys": {side: _decoys(remove_partners(candidates, mutual, K, side), guess, by_position) for side in "ab"},
        "expected wrong": (1 - whole.probability).sum(),
        "wrong counts": [_wrong(candidates, neighbourhoods, each) for each in (guess, by_position)],
        "among decoys": _among_decoys(_sample(candidates, neighbourhoods, mutual, K, 1.0), by_position),
        "tempered": _tempered_parts(),
        "recounted": [_recounted_total(n, share) for n in (30, 300, 3000) for share in (0.15, 0.5, 0.95)],
        "kept": best_threshold(whole.probability, whole.overlap),
        "inflation": false_discovery_inflation(whole.probability),
        "small sides": [_small_side(*sizes) for sizes in ((60, 90), (90, 60))],
        "trust": [_trust(*each) for each in TRUSTED],
        "ranges": [asdict(ranges(*each)) for each in ESTIMATED],
    }


def _small_side(n_a: int, n_b: int) -> dict[str, Any]:
    candidates, neighbourhoods = one_small_side(n_a, n_b)
    found = calibrate(candidates, neighbourhoods, k=K)
    every = np.ones(len(candidates.mutual()))
    return {
        "probability": found.probability,
        "overlap": found.overlap,
        "others": len(found.others),
        "wrong": _wrong(candidates, neighbourhoods, every),
    }


def _calibrated(calibrated: Calibrated) -> dict[str, Any]:
    model = calibrated.model
    assert model is not None
    return {
        "positions": calibrated.positions,
        "probability": calibrated.probability,
        "overlap": calibrated.overlap,
        "others": calibrated.others,
        "other probability": calibrated.other_probability,
        "model": {
            "base": model.base,
            "weights": model.weights,
            "centre": model.centre,
            "scale": model.scale,
            "decoy probability": model.decoy_probability,
            "decoy weight": model.decoy_weight,
        },
    }


def _decoys(decoys: Decoys, *probabilities: np.ndarray) -> dict[str, Any]:
    return {
        "source": decoys.source,
        "replacement": decoys.replacement,
        "rates": [decoys.rate(probability) for probability in probabilities],
        "weights": [decoys.weights(probability).sum() for probability in probabilities],
    }


def _wrong(candidates: Candidates, neighbourhoods: np.ndarray, probability: np.ndarray) -> dict[str, Any]:
    """The count of wrong candidates by the decoys' rate, its trust, and what it makes of three other counts."""
    mutual = candidates.mutual()
    count = wrong_count(_sample(candidates, neighbourhoods, mutual, K, 1.0), probability)
    n = len(mutual)
    others = [-10.0 * n, 0.3 * n, 10.0 * n]
    among_decoys = (None, 0.1 * n, 0.45 * n, 0.58 * n, 0.7 * n)
    return asdict(count) | {"mixed": [count.mixed(other, among) for other in others for among in among_decoys]}


def _among_decoys(sample: Sample, probability: np.ndarray) -> dict[str, Any]:
    """The count among the decoys, by the score alone and by all features."""
    n_features = sample.features.shape[1]
    by_score = np.r_[0.0, 1.0, np.zeros(n_features - 1)]
    by_all = np.r_[0.5, np.linspace(1.0, 0.1, n_features)]
    ways = (by_score, by_all)
    weights = (probability, np.ones(len(probability)), probability**2)
    return {"counts": [count_among_decoys(sample, way, weight) for way in ways for weight in weights]}


def _tempered_parts() -> dict[str, Any]:
    """What tempering makes of candidates of which a tenth, a third and a half is right."""
    parts = {}
    for share in (0.1, 0.33, 0.5):
        probability = np.clip(np.linspace(0.0, 2 * share, 9), 1e-6, 1 - 1e-6)
        mixture = _tempered(Mixture(probability, np.array([-1.0, 2.0]), np.ones(3)))
        parts[str(share)] = {"probability": mixture.probability, "coefficients": mixture.coefficients}
    return parts


def _recounted_total(n: int, share: float) -> float:
    """How many of n candidates are right, when this share of them was counted."""
    probability = np.clip(np.linspace(2 * share - 1, 1.0, n), 0.01, 0.99)
    return float(_recounted(Mixture(probability, np.empty(0), np.empty(0))).probability.sum())


def plain(value: Any) -> Any:
    """As JSON has it; twelve digits of a number."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(each) for each in value]
    number = value.item() if isinstance(value, np.generic) else value
    return float(f"{number:.12g}") if isinstance(number, float) else number


def _stored(values: np.ndarray) -> Any:
    return plain(np.round(values.astype(float), DIGITS) if values.dtype.kind == "f" else values)


def main() -> None:
    """Write the fixture."""
    candidates, neighbourhoods = problem_from_vectors()
    told = {
        "made by": "PYTHONPATH=src:tests python tests/golden_calibration.py",
        "calibration": CALIBRATION_VERSION,
        "candidates": {each.name: _stored(getattr(candidates, each.name)) for each in fields(candidates)},
        "neighbourhoods": _stored(neighbourhoods),
    }
    told["numbers"] = plain(numbers(*stored_problem(told)))
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in told.items()]
    FIXTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
