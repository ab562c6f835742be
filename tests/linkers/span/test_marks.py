"""The share of the smaller cloud that a pool has to agree on: asked of every start, whatever it began with."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.backends import CloudPair
from veclink.linkers.span.attempt import Search
from veclink.linkers.span.starts import DEFAULT_OPTIONS

# Rows of A and of B, dimensions; the share that has found the map, and the one at which no other start is tried.
MARKS = {
    (3000, 3000, 384): (0.18, 0.3),
    (1000, 1000, 384): (0.35, 0.4),
    (1001, 1001, 384): (0.18, 0.3),
    (300, 300, 63): (0.45, 0.3),
    (300, 2500, 16): (0.75, 0.5357),
    (300, 300, 64): (0.35, 0.4),
    (2000, 6000, 384): (0.18, 0.45),
    (500, 1000, 384): (0.4667, 0.5333),
    (360, 3600, 384): (0.49, 0.7273),
    (100, 4900, 384): (0.49, 0.75),
}


def _asked(n_a: int, n_b: int, dimension: int) -> tuple[float, float]:
    clouds = CloudPair(np.zeros((n_a, dimension), np.float32), np.zeros((n_b, dimension), np.float32))
    search = Search(clouds, np.random.default_rng(0), DEFAULT_OPTIONS, None)
    return search.mark, search.clear


def test_few_rows_and_unequal_sizes_are_asked_for_more() -> None:
    for sizes, shares in MARKS.items():
        assert _asked(*sizes) == pytest.approx(shares, abs=1e-3)
