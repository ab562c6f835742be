"""Links against the truth: precision, recall and F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scores:
    """Precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def score(pairs: Any, truth: Any) -> Scores:
    """Precision, recall and F1 of `pairs` against `truth`, both (n, 2) rows or ids; 0 where nothing is to divide."""
    found, true = ({tuple(pair) for pair in np.asarray(each).reshape(-1, 2).tolist()} for each in (pairs, truth))
    hits = len(found & true)
    return Scores(
        precision=hits / len(found) if found else 0.0,
        recall=hits / len(true) if true else 0.0,
        f1=2 * hits / (len(found) + len(true)) if found or true else 0.0,
    )
