"""What the linker knew while it worked, in a form to keep with the links: for reports, not for further linking."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.confidence.calibration import Calibrated
from veclink.confidence.candidates import Candidates
from veclink.linkers.span.starts import Found

BINS = 50  # of the histogram of the decoys' probabilities, from 0 to 1
HUBS = 20
LEAST_CHOSEN = 3  # rows that are the first choice of fewer are no hubs: by chance alone some are chosen twice


def traced(found: Found, candidates: Candidates | None = None, calibrated: Calibrated | None = None) -> dict[str, Any]:
    """Plain values: how the pool grew, which starts were tried, and, where links were calibrated, what calibrated them.

    growth: (links in the pool, pairs agreed on) after each round. starts: (name, agreed share of the smaller cloud).
    model: log odds of a link = base + Σ weight·(feature − centre)/scale, over the features named. decoys: how many
    candidates are expected to be wrong, as a histogram over the probability that decoys, which are wrong by
    construction, were given; made: how many there were. hubs: (row, rows of the other cloud that prefer it to all
    others), the most preferred first.
    """
    trace: dict[str, Any] = {
        "growth": [list(each) for each in found.pool.history],
        "starts": [[name, float(share)] for name, share in found.tried],
    }
    if candidates is None or calibrated is None:
        return trace
    trace["hubs"] = {
        "a": _hubs(candidates.rows_a[_first(candidates.best_b)]),
        "b": _hubs(candidates.rows_b[_first(candidates.best_a)]),
    }
    model = calibrated.model
    if model is not None:
        expected, _ = np.histogram(model.decoy_probability, BINS, (0.0, 1.0), weights=model.decoy_weight)
        trace["model"] = {
            "features": list(model.features),
            "base": model.base,
            "weights": model.weights.tolist(),
            "centre": model.centre.tolist(),
            "scale": model.scale.tolist(),
        }
        trace["decoys"] = {"probability": expected.round(3).tolist(), "made": len(model.decoy_probability)}
    return trace


def _first(best: np.ndarray) -> np.ndarray:
    return best[best[:, 0] >= 0, 0]


def _hubs(chosen: np.ndarray) -> list[list[int]]:
    """The rows chosen most often, with their counts."""
    counts = np.bincount(chosen) if len(chosen) else np.zeros(0, np.int64)
    most = np.argsort(-counts, kind="stable")[:HUBS]
    return [[int(row), int(counts[row])] for row in most if counts[row] >= LEAST_CHOSEN]
