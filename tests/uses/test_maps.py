"""Maps between two spaces: what they recover where the answer is known, and how they behave on real vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows
from veclink.uses.maps import KINDS, Moments, Paired, fit_map
from veclink.uses.translating import Translator


def paired(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Paired:
    left, right = (prepare(Collection.from_array(each), centre=False) for each in (x, y))
    rows = np.arange(len(x))
    return Paired(left, right, np.column_stack([rows, rows]), np.ones(len(x)) if weight is None else weight)


def parts_of(pairs: Paired, folds: int = 3) -> list[Moments]:
    return [Moments.of(pairs.only(np.arange(len(pairs)) % folds == each)) for each in range(folds)]


def turned(n: int, d: int, wide: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of which the second are the first, turned into a space of `wide` dimensions."""
    rng = np.random.default_rng(seed)
    x = unit_rows(rng.standard_normal((n, d)).astype(np.float32))
    basis, _ = np.linalg.qr(rng.standard_normal((wide, wide)))
    return x, (x @ basis[:d].astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [24, 40])
def test_every_map_finds_a_rotation_again(kind: str, wide: int) -> None:
    x, y = turned(400, 24, wide)
    pairs = paired(x[:300], y[:300])
    moved = unit_rows(fit_map(kind, pairs, parts_of(pairs)).apply(x[300:]))
    assert (moved * y[300:]).sum(axis=1).min() > 0.99


def test_a_ridge_draws_in_a_hundredth_where_all_fits() -> None:
    x, y = turned(400, 24, 24)
    moved = fit_map("ridge", paired(x, y), parts_of(paired(x, y))).apply(x)
    assert np.linalg.norm(moved, axis=1).mean() == pytest.approx(1 / 1.01, abs=0.002)


def test_local_maps_follow_a_space_that_turns_from_place_to_place() -> None:
    """Two groups of points, each turned by another rotation: one map for all cannot fit both."""
    rng = np.random.default_rng(3)
    d, each = 12, 200
    middles = np.eye(d, dtype=np.float32)[:2] * 3
    x = np.concatenate([middle + rng.standard_normal((each, d)).astype(np.float32) * 0.4 for middle in middles])
    x = unit_rows(x)
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32) for _ in range(2)]
    y = unit_rows(np.concatenate([x[:each] @ turns[0], x[each:] @ turns[1]]))
    pairs = paired(x, y)
    total = Moments.of(pairs)
    maps = fit_map("la2m", pairs, [total]), fit_map("procrustes", pairs, [total])
    near = [(unit_rows(fitted.apply(x)) * y).sum(axis=1).mean() for fitted in maps]
    assert near[0] > 0.98 and near[0] > near[1] + 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_map_gives_the_same_vectors(kind: str, tmp_path: Path) -> None:
    x, y = turned(100, 12, 20)
    fitted = fit_map(kind, paired(x, y), parts_of(paired(x, y)))
    file = tmp_path / "map.safetensors"
    Translator(fitted, kind, (12, 20), 100).save(file)
    loaded = Translator.load(file)
    assert loaded.kind == kind
    np.testing.assert_array_equal(loaded.map.apply(x), fitted.apply(x))
