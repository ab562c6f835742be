"""The search from many beginnings: it finds a turn that no hint is given for, and its sum tells right from wrong."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers, whole_cloud_pair
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span import search
from veclink.linkers.span.search import searched
from veclink.matching import match


def _clouds() -> tuple[np.ndarray, np.ndarray]:
    clouds = whole_cloud_pair()
    return clouds.a.array, clouds.b.array


def _turned_away(points: np.ndarray) -> np.ndarray:
    square = np.random.default_rng(0).normal(size=(points.shape[1],) * 2)
    return points @ np.linalg.qr(square)[0].astype(np.float32)


def _share_right(a: np.ndarray, b: np.ndarray, projections: tuple[np.ndarray, np.ndarray]) -> float:
    """Of the rows, how many are mutual neighbours of the row in the same place."""
    pairs, _ = match(unit_rows(a @ projections[0]), unit_rows(b @ projections[1])).mutual()
    return float((pairs[:, 0] == pairs[:, 1]).sum() / len(a))


def test_many_beginnings_find_the_turn_of_a_cloud_against_itself() -> None:
    points = _clouds()[0][:200]
    away = _turned_away(points)
    found = searched((points, away), np.random.default_rng(0))
    assert _share_right(points, away, found) > 0.95


def test_many_beginnings_find_the_turn_between_two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 rows of either side, 300 of them shared: 20 groups, one direction, four beginnings or a low β may fail."""
    monkeypatch.setattr(search, "BEGINNINGS", (256, 256, 600))
    a, b = _clouds()
    truth, shared = all_papers().truth, 300
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:200]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:200]
    both = a[np.r_[truth[:shared, 0], alone_a]], b[np.r_[truth[:shared, 1], alone_b]]
    for state in (1, 3):  # of the faults above, the one notices three, the other two
        found = searched(both, np.random.default_rng(state))
        assert _share_right(*both, found) > 0.9 * shared / len(both[0])
