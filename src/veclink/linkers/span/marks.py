"""Marks: the share of the smaller cloud that a pool has to agree on, to have found the map and to be clear of doubt."""

from __future__ import annotations

from veclink.backends import CloudPair
from veclink.linkers.span.constants import (
    CLEAR,
    CONVERGED,
    CONVERGED_FEW_DIMENSIONS,
    CONVERGED_FEW_ROWS,
    FEW_ROWS,
    MAX_CHANCE,
    MIN_DIM_FOR_SEED_CHECK,
)

MAX_SHARE = 0.75  # of the smaller cloud: more is not asked for, however small it is against the other


def converged_share(clouds: CloudPair) -> float:
    """The share of the smaller cloud that a pool which has found the map agrees on."""
    if clouds.dimension < MIN_DIM_FOR_SEED_CHECK:
        return min(CONVERGED_FEW_DIMENSIONS * chance_factor(clouds), MAX_SHARE)
    if not has_few_rows(clouds):
        return CONVERGED
    return CONVERGED_FEW_ROWS * min(chance_factor(clouds), MAX_CHANCE)


def clear_share(clouds: CloudPair) -> float:
    """The share at which other starts need not be tried."""
    few_rows, others = CLEAR
    clear = few_rows if has_few_rows(clouds) else others
    return min(clear * chance_factor(clouds), MAX_SHARE)


def has_few_rows(clouds: CloudPair) -> bool:
    """Whether the smaller cloud is so small that growing has to be careful.

    In few dimensions random clouds follow seeds that stay for longer.
    """
    return clouds.extent_of_all <= FEW_ROWS and clouds.dimension >= MIN_DIM_FOR_SEED_CHECK


def chance_factor(clouds: CloudPair) -> float:
    """How much more of the smaller cloud agrees by chance than where both have as many rows: from 1 to 2.

    Of two unrelated clouds, a row of A is the nearest of its nearest row of B with the chance n_b / (n_a + n_b).
    """
    larger = max(clouds.n_a, clouds.n_b)
    return 2 * larger / (clouds.n_a + clouds.n_b)
