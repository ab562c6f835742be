"""The share of the smaller cloud that a pool has to agree on: asked of every start, whatever it began with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from veclink.backends import CloudPair
from veclink.linkers.span import attempt
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
# Each of the constants that decide it, a little and far off.
MUTANTS: tuple[tuple[str, Any], ...] = (
    ("CONVERGED", 0.16),
    ("CONVERGED", 2.0),
    ("CONVERGED_FEW_ROWS", 0.2),
    ("CONVERGED_FEW_ROWS", 0.4),
    ("CLEAR", (0.4, 0.2)),
    ("CLEAR", (0.3, 0.3)),
    ("MAX_SHARE", 0.5),
    ("MAX_SHARE", 1.0),
    ("CONVERGED_FEW_DIMENSIONS", 0.3),
    ("CONVERGED_FEW_DIMENSIONS", 0.6),
    ("MAX_CHANCE", 1.3),
    ("MAX_CHANCE", 2.0),
    ("FEW_ROWS", 999),
    ("FEW_ROWS", 1001),
    ("MIN_DIM_FOR_SEED_CHECK", 63),
    ("MIN_DIM_FOR_SEED_CHECK", 65),
)


def _asked(n_a: int, n_b: int, dimension: int) -> tuple[float, float]:
    clouds = CloudPair(np.zeros((n_a, dimension), np.float32), np.zeros((n_b, dimension), np.float32))
    search = Search(clouds, np.random.default_rng(0), DEFAULT_OPTIONS, None)
    return search.mark, search.clear


def _every() -> list[float]:
    return [share for sizes in MARKS for share in _asked(*sizes)]


EXPECTED = [share for shares in MARKS.values() for share in shares]


def test_few_rows_and_unequal_sizes_are_asked_for_more() -> None:
    assert _every() == pytest.approx(EXPECTED, abs=1e-3)


@pytest.mark.parametrize(("constant", "value"), MUTANTS)
def test_no_constant_that_accepts_a_pool_can_be_changed_unnoticed(
    constant: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, constant, value)
    assert _every() != pytest.approx(EXPECTED, abs=1e-3)
