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
from veclink.backends import CloudPair
from veclink.confidence.calibration import Calibrated, _sample, calibrate
from veclink.confidence.candidates import Candidates, candidate_pairs, crossfit
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.confidence.decoys import Decoys, remove_partners
from veclink.confidence.evidence import feature_matrix, neighbourhood_features
from veclink.confidence.intervals import best_threshold, caution_of, shared_objects, wrong_links
from veclink.confidence.logistic import logit
from veclink.confidence.mixture import first_guess, joined, two_normals, wrong_by_rate
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
NORMALS = ((500.0, 1.9), (500.0, 2.4), (500.0, 3.5), (50.0, 3.5))
"""Members of the lower of two components, and how far apart these are."""
WRONG = ((40.0, 900, 1.6), (30.0, 120, 4.0), (0.4, 50, 1.0), (-1e-9, 40, 2.0))
"""Wrong links to expect, links, and caution, as ranges are asked for."""


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
        "wrong by rate": np.ravel([_wrong(candidates, neighbourhoods, each) for each in (guess, by_position)]),
        "normals": two_normals(logit(by_position), by_position),
        "joined": [joined(n, n / 5, 9.0, n / 9, each, right=0.8 * n) for n in (90, 900) for each in (None, *NORMALS)],
        "kept": best_threshold(whole.probability, whole.overlap),
        "caution": [caution_of(right) for right in (0.0, 30.0, 4000.0)],
        "small sides": [_small_side(*sizes) for sizes in ((60, 90), (90, 60))],
        "wrong links": [asdict(wrong_links(*each)) for each in WRONG],
        "shared": [asdict(shared_objects(whole.probability, *each, 180)) for each in ((0, 0), (15, 15), (15, 6))],
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


def _wrong(candidates: Candidates, neighbourhoods: np.ndarray, probability: np.ndarray) -> tuple[float, float]:
    """The count of wrong candidates by the decoys' rate, and its error."""
    return wrong_by_rate(_sample(candidates, neighbourhoods, candidates.mutual(), K, 1.0), probability)


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
