"""Random unit vectors."""

from __future__ import annotations

import numpy as np


def unit_rows(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    """Random directions."""
    rows = np.random.default_rng(seed).standard_normal((n, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
