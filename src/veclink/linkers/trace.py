"""What a linker knew while it worked, in a form to keep with the links: for reports, not for further linking."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.confidence.calibration import Calibrated
from veclink.confidence.candidates import Candidates
from veclink.linkers.span.starts import Bootstrap


def trace_of_growth(bootstrap: Bootstrap) -> dict[str, Any]:
    """How the pool grew, and which starts were tried.

    growth: (links in the pool, pairs agreed on) after each round. starts: (name, agreed share of the smaller cloud).
    started_from: the one whose pool was taken.
    hubs: none yet.
    """
    return {
        "growth": [list(each) for each in bootstrap.pool.history],
        "starts": [[name, float(share)] for name, share in bootstrap.tried],
        "started_from": bootstrap.started_from if bootstrap.converged else None,
        "hubs": {},
    }


def trace_of_candidates(candidates: Candidates) -> dict[str, Any]:
    """hubs: (row, rows of the other cloud that prefer it to all others), the most preferred first."""
    return {
        "hubs": {
            "a": _hubs(candidates.rows_a[_first(candidates.best_b)]),
            "b": _hubs(candidates.rows_b[_first(candidates.best_a)]),
        }
    }


def trace_of_calibration(calibrated: Calibrated) -> dict[str, Any]:
    """What the probabilities follow from, where a model was fitted.

    model: log odds of a link = base + Σ weight·(feature − centre)/scale, over the features named. decoys: how many
    candidates are estimated to be wrong, as a histogram over the probability that decoys, which are wrong by
    construction, were given; made: how many there were.
    """
    model = calibrated.model
    if model is None:
        return {}
    expected, _ = np.histogram(model.decoy_probability, 50, (0.0, 1.0), weights=model.decoy_weight)
    return {
        "model": model.plain(),
        "decoys": {"probability": expected.round(3).tolist(), "made": len(model.decoy_probability)},
    }


def _first(best: np.ndarray) -> np.ndarray:
    return best[best[:, 0] >= 0, 0]


def _hubs(chosen: np.ndarray) -> list[list[int]]:
    """The rows chosen most often, with their counts."""
    counts = np.bincount(chosen)
    most = np.argsort(-counts, kind="stable")[:20]
    hubs = most[counts[most] >= 3]  # by chance alone some are chosen twice
    return np.column_stack([hubs, counts[hubs]]).tolist()
