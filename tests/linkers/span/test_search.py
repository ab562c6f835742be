"""The search from many beginnings: it finds a turn that no hint is given for, and its sum tells right from wrong."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers, whole_cloud_pair
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span import search
from veclink.linkers.span.search import annealed, searched
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
    monkeypatch.setattr(search, "BEGINNINGS", (256, 256))
    a, b = _clouds()
    truth, shared = all_papers().truth, 300
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:200]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:200]
    both = a[np.r_[truth[:shared, 0], alone_a]], b[np.r_[truth[:shared, 1], alone_b]]
    for state in (1, 3):  # of the faults above, the one notices three, the other two
        found = searched(both, np.random.default_rng(state))
        assert _share_right(*both, found) > 0.9 * shared / len(both[0])


def _two_models_of(n: int, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Made vectors of n objects in a thousand clusters, by two models."""
    rng = np.random.default_rng(state)
    spread = np.arange(1, 129) ** -0.5
    centres = rng.gamma(1.0, size=(1000, 128)) * rng.choice([-1, 1], (1000, 128))
    objects = spread * (centres[rng.choice(1000, n, p=rng.dirichlet(np.ones(1000)))] + rng.normal(size=(n, 128)))
    other = _turned_away(objects.astype(np.float32)) + 0.05 * rng.normal(size=(n, 128))
    a, b = (unit_rows((each - each.mean(axis=0)).astype(np.float32)) for each in (objects, other))
    return a, b


def test_many_rows_are_aligned_though_none_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """On rows instead of groups 5 to 17 of 100 come out right."""
    monkeypatch.setattr(search, "BEGINNINGS_OF_MANY", 256)
    a, b = _two_models_of(12_500, state=0)
    found = searched((a[:6000], b[6000:12_000]), np.random.default_rng(0))
    assert _share_right(a[12_000:], b[12_000:], found) > 0.95


def _half_shared(shared: int) -> tuple[np.ndarray, np.ndarray]:
    """As many rows again that only one side has; the shared ones come first, partners in the same place."""
    a, b = _clouds()
    truth = all_papers().truth
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:shared]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:shared]
    return a[np.r_[truth[:shared, 0], alone_a]], b[np.r_[truth[:shared, 1], alone_b]]


def test_four_pairs_tell_a_cloud_from_its_mirror_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pairs, or with wrong pairs or pairs that weigh nothing or all, two beginnings find no turn."""
    monkeypatch.setattr(search, "BEGINNINGS", (2, 2))
    monkeypatch.setattr(search, "GROUPINGS", 1)
    both = _half_shared(250)

    def right(partners: np.ndarray | None) -> float:
        given = None if partners is None else (both[0][:4], both[1][partners])
        return _share_right(*both, searched(both, np.random.default_rng(0), given=given))

    assert right(np.arange(4)) > 0.45
    assert right(None) < 0.1
    assert right(np.arange(4) + 200) < 0.1
    for weight in (0.0, 1.0):
        monkeypatch.setattr(search, "GIVEN_WEIGHT", weight)
        assert right(np.arange(4)) < 0.1


def test_one_slow_run_aligns_a_cloud_with_a_part_of_itself_that_another_model_sees() -> None:
    a, b = _clouds()
    truth = all_papers().truth
    both = a[truth[:, 0]], b[truth[:, 1]]
    found = annealed(both, (None, None), np.random.default_rng(0))
    assert _share_right(*both, found) > 0.5
