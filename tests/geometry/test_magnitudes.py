"""Vectors of any finite size: the same links, neighbours and maps as of the same vectors at length 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import veclink
from veclink import sample
from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.geometry.clouds import fitted, prepare
from veclink.matching import match

ROWS = 120
SIZES = [1e-44, 1e-40, 1e-38, 1e-30, 1e-10, 1.0, 1e10, 1e30, 3e37, 3.4e38]


def papers(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Real vectors (n, d) with a largest number of 1 in each row, and the same ones turned: row i is the same paper."""
    a = veclink.open_collection(sample.A).vectors[:rows].astype(np.float64)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((a.shape[1], a.shape[1])))
    return tuple(x / np.abs(x).max(axis=1, keepdims=True) for x in (a, a @ turn))


def near_one(rows: np.ndarray) -> np.ndarray:
    """The same rows, each times the power of two that brings it near 1: no digit changes."""
    exact = rows.astype(np.float64)
    return np.ldexp(exact, -np.frexp(np.abs(exact).max(axis=1, keepdims=True))[1])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("centre", [False, True])
def test_float32_of_any_size_has_the_directions_it_has_near_one(size: float, centre: bool) -> None:
    rows = (papers()[0] * size).astype(np.float32)
    cloud = prepare(Collection.from_array(rows), centre=centre, skip_zero=True)
    same = prepare(Collection.from_array(near_one(rows).astype(np.float32)), centre=centre, skip_zero=True)
    assert np.array_equal(cloud.dense(), same.dense())
    assert np.allclose(np.linalg.norm(cloud.dense(), axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_rows_of_mixed_sizes_have_the_directions_they_have_near_one(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = papers()[0]
    scale = None
    if dtype == "int8":
        rows, scale = np.rint(rows * 127).astype(np.int8), 10.0 ** rng.uniform(-44, 38.5, (ROWS, 1))
    else:
        low, high = {"float16": (-7, 4.8), "float32": (-44, 38.5), "float64": (-320, 308)}[dtype]
        rows = (rows * 10.0 ** rng.uniform(low, high, (ROWS, 1))).astype(dtype)
    found = prepare(Collection.from_array(rows, scale=scale), skip_zero=True)
    same = prepare(Collection.from_array(near_one(rows)), skip_zero=True)
    assert np.array_equal(found.rows, same.rows)
    assert np.allclose(found.dense(), same.dense(), atol=2e-6)


@pytest.mark.parametrize("size", [1e-40, 3e37, 3.4e38])
def test_links_are_the_same_bit_for_bit(size: float) -> None:
    a, b = ((x * size).astype(np.float32) for x in papers())
    seeds = [(i, i) for i in range(15)]
    found = veclink.link(a, b, seeds=seeds, device="cpu")
    same = veclink.link(*(near_one(x).astype(np.float32) for x in (a, b)), seeds=seeds, device="cpu")
    assert found == same and len(found) > 100


def test_rows_beyond_the_type_they_are_written_in_keep_their_direction() -> None:
    rows = papers()[0][:4] * np.array([[1e300], [1e-300], [1.0], [1e5]])
    for kind in (np.float32, np.float16):
        kept = fitted(rows, np.dtype(kind)).astype(np.float64)
        assert np.allclose(near_one(kept), near_one(rows), atol=2e-3)
    assert np.array_equal(fitted(rows[2:3], np.dtype(np.float32)), rows[2:3].astype(np.float32))


# --- what compiled loops are given


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("where", [slice(None), slice(7, 8)])
def test_rows_without_cosines_are_refused(device: str, value: float, side: int, where: slice) -> None:
    sides = [prepare(Collection.from_array(x)).dense().copy() for x in papers()]
    sides[side][where, 3] = value
    with pytest.raises(InputError, match="NaN, infinite or above"):
        match(*sides, device=device)


class Kept:
    """Lists of a pass that was broken off, as a file of a checkpoint would have them."""

    def __init__(self, lists: dict[str, np.ndarray] | None = None) -> None:
        self.lists = lists

    def load(self) -> dict[str, np.ndarray] | None:
        return self.lists

    def keep(self, done: int, of: int, lists: Callable[[], dict[str, np.ndarray]]) -> None:
        if done < of:
            self.lists = {name: part.copy() for name, part in lists().items()}
