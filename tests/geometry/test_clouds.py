"""Clouds: unit length, centring, and the same bits for a row however it is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud, prepare


def vectors(seed: int, n: int, d: int, dtype: str = "float32") -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(n, d)) + 0.5
    return np.round(drawn * 40).clip(-127, 127).astype(np.int8) if dtype == "int8" else drawn.astype(dtype)


def cloud_of(array: np.ndarray, **options: bool) -> Cloud:
    return prepare(Collection.from_array(array), **options)


sizes = st.tuples(st.integers(0, 2**16), st.integers(4, 40), st.integers(4, 24))
dtypes = st.sampled_from(["float16", "float32", "float64", "int8"])


@given(sizes=sizes, dtype=dtypes)
def test_rows_are_the_textbook_formula(sizes: tuple[int, int, int], dtype: str) -> None:
    source = vectors(*sizes, dtype)
    unit = source.astype(np.float64) / np.linalg.norm(source.astype(np.float64), axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    assert np.allclose(cloud_of(source, centre=False).dense(), unit, atol=3e-7)
    assert np.allclose(cloud_of(source, centre=True).dense(), centred, atol=2e-5)


@given(sizes=sizes, dtype=dtypes, centre=st.booleans(), data=st.data())
def test_block_take_and_dense_give_the_same_bits(
    sizes: tuple[int, int, int], dtype: str, centre: bool, data: st.DataObject
) -> None:
    cloud, whole = (cloud_of(vectors(*sizes, dtype), centre=centre) for _ in range(2))
    dense = whole.dense()
    start = data.draw(st.integers(0, len(cloud)))
    stop = data.draw(st.integers(start, len(cloud)))
    rows = np.array(data.draw(st.lists(st.integers(0, len(cloud) - 1), max_size=10)), dtype=np.int64)
    assert dense.dtype == np.float32 and dense.shape == cloud.shape
    assert np.array_equal(cloud.block(start, stop), dense[start:stop])
    assert np.array_equal(cloud.take(rows), dense[rows])
    assert np.array_equal(whole.block(start, stop), dense[start:stop])
    assert np.array_equal(whole.take(rows), dense[rows])


def test_rows_do_not_depend_on_where_the_inner_steps_fall() -> None:
    cloud = cloud_of(vectors(0, 9_001, 96, "float16"))  # more than one step of work
    singly = np.concatenate([cloud.block(row, row + 1) for row in range(0, 9_001, 100)])
    assert np.array_equal(cloud.dense()[::100], singly)


@pytest.mark.parametrize(
    ("dtype", "size"), [("float64", 1e300), ("float64", 1e-300), ("float32", 1e37), ("float32", 1e-37)]
)
def test_very_large_and_small_numbers_keep_their_direction(dtype: str, size: float) -> None:
    source = vectors(0, 20, 8, "float64")
    assert np.allclose(cloud_of((source * size).astype(dtype)).dense(), cloud_of(source).dense(), atol=1e-5)


def test_int8_scales_are_applied() -> None:
    source, per_dimension = vectors(0, 30, 6, "int8"), np.linspace(0.1, 2.0, 6).astype(np.float32)
    plain = cloud_of(source).dense()
    for scale, expected in [
        (per_dimension, cloud_of(source * per_dimension).dense()),
        (0.25, plain),
        (np.linspace(0.5, 4, 30)[:, None], plain),
    ]:
        scaled = prepare(Collection.from_array(source, scale=scale))
        assert np.allclose(scaled.dense(), expected, atol=1e-6)
        assert np.array_equal(scaled.take(np.array([7, 3])), scaled.dense()[[7, 3]])


@given(sizes=sizes, dtype=dtypes, centre=st.booleans())
def test_outside_vectors_are_treated_as_rows_are(sizes: tuple[int, int, int], dtype: str, centre: bool) -> None:
    source = vectors(*sizes, dtype)
    cloud = cloud_of(source, centre=centre)
    assert np.array_equal(cloud.project(source[:3]), cloud.block(0, 3))


def test_skipped_zero_vectors_are_left_out_and_rows_are_remembered() -> None:
    source = vectors(0, 10, 4)
    source[[0, 6]] = 0
    cloud = cloud_of(source, skip_zero=True)
    kept = [1, 2, 3, 4, 5, 7, 8, 9]
    assert cloud.rows.tolist() == kept and cloud.shape == (8, 4)
    assert np.array_equal(cloud.dense(), cloud_of(source[kept]).dense())
    assert np.array_equal(cloud_of(source, skip_zero=True).block(4, 7), cloud.dense()[4:7])
    assert np.array_equal(cloud_of(source, skip_zero=True).take(np.array([5, 0])), cloud.dense()[[5, 0]])
    assert cloud.positions(np.array([9, 1, 7])).tolist() == [7, 0, 5]
    with pytest.raises(InputError, match="row 6, 0;"):
        cloud.positions(np.array([6, 1, 0]))


def test_a_row_on_the_mean_has_no_direction_and_is_zero() -> None:
    around = np.array([[3, 0, 4], [-3, 0, 4], [0, 3, 4], [0, -3, 4]], np.float32)
    cloud = Cloud(
        Collection.from_array(np.vstack([around, [[0, 0, 5]]])), np.arange(5), np.array([0, 0, 1], np.float32)
    )
    assert np.array_equal(cloud.dense()[4], [0, 0, 0])
    assert np.allclose(np.linalg.norm(cloud.dense()[:4], axis=1), 1)
