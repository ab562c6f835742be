"""Rows that are read when they are asked for."""

from __future__ import annotations

import numpy as np

from directions import unit_rows
from veclink.backends import ProjectedRows
from veclink.geometry.arrays import ArrayRows


def test_rows_that_are_read_in_blocks_or_singly_are_the_same():
    class Wide:
        """Rows that are read when asked, as float64."""

        shape = (50, 6)

        def block(self, start: int, stop: int) -> np.ndarray:
            return unit_rows(50, 6, seed=4)[start:stop].astype(np.float64)

        def take(self, rows: np.ndarray) -> np.ndarray:
            return unit_rows(50, 6, seed=4)[rows].astype(np.float64)

    whole, chosen = unit_rows(50, 6, seed=4), np.array([49, 3, 3, 0])
    for rows in (ArrayRows(whole.astype(np.float16)), ArrayRows(Wide()), ArrayRows(Wide(), 10**6)):
        np.testing.assert_allclose(rows.take(chosen), whole[chosen], atol=1e-3)
        np.testing.assert_allclose(rows.block(10, 20), whole[10:20], atol=1e-3)
        assert rows.take(chosen).dtype == np.float32
    projected = ProjectedRows(ArrayRows(whole), np.eye(6, 4, dtype=np.float32))
    np.testing.assert_allclose(projected.take(chosen), projected.block(0, 50)[chosen], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(projected.block(0, 50), axis=1), 1, atol=1e-6)
