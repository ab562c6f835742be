"""Collections: what is accepted, how ids and scales take their form, how a source is opened."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from veclink.data.collection import Collection, as_ids
from veclink.errors import InputError
from veclink.stores.opening import open_collection

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_an_array_is_kept_not_copied() -> None:
    collection = open_collection(VECTORS)
    assert np.shares_memory(collection.vectors, VECTORS)
    assert (len(collection), collection.dimension, collection.ids, collection.name) == (4, 3, None, "array")


def test_a_masked_array_is_refused_by_row() -> None:
    vectors = np.ma.masked_invalid(np.where(np.arange(12).reshape(4, 3) == 7, np.nan, 1.0))
    with pytest.raises(InputError, match="masked numbers in row 2"):
        Collection.from_array(vectors)


def test_a_collection_opens_as_itself() -> None:
    collection = Collection.from_array(VECTORS)
    assert open_collection(collection) is collection


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", ">f4"])
def test_vectors_keep_their_dtype(dtype: str) -> None:
    assert open_collection(VECTORS.astype(dtype)).vectors.dtype == np.dtype(dtype)


def test_lists_of_numbers_are_vectors() -> None:
    assert open_collection([[1.0, 2.0], [3.0, 4.0]]).vectors.shape == (2, 2)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([3, 1, 2], np.array([3, 1, 2])),
        (np.array([3, 1], dtype=np.uint8), np.array([3, 1])),
        (np.array([3, 2**63 - 1], dtype=np.uint64), np.array([3, 2**63 - 1])),
        ([1, 2**64], np.array(["1", str(2**64)], dtype=object)),
        (["a", "ö", "日本"], np.array(["a", "ö", "日本"], dtype=object)),
        (np.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
        ([1, "x"], np.array(["1", "x"], dtype=object)),
        ([uuid.UUID(int=1)], np.array(["00000000-0000-0000-0000-000000000001"], dtype=object)),
        (pa.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
        (["007", "7"], np.array(["007", "7"], dtype=object)),
    ],
)
def test_ids_become_integers_or_text(given: object, kept: np.ndarray) -> None:
    ids = as_ids(given)
    assert ids.dtype == kept.dtype and ids.tolist() == kept.tolist()


@pytest.mark.parametrize("ids", [[1, None, 3, 4], [1, 2, 3, 4.5], [True, 1, 2, 3], [1, 2, [3], 4]])
def test_ids_of_other_kinds_are_refused_by_row(ids: list[object]) -> None:
    row = next(row for row, value in enumerate(ids) if isinstance(value, bool) or not isinstance(value, int))
    with pytest.raises(InputError, match=rf"neither integers nor strings.* in row {row};"):
        Collection.from_array(VECTORS, ids=ids)


def test_ids_that_are_not_text_are_refused() -> None:
    with pytest.raises(InputError, match="not valid text"):
        Collection.from_array(VECTORS, ids=["a", "b", "c", "\ud800"])


def test_payload_of_other_length_is_refused() -> None:
    with pytest.raises(InputError, match="4 rows but 2 of payload"):
        Collection.from_array(VECTORS, payload=pa.table({"title": ["x", "y"]}))


@pytest.mark.parametrize(
    ("scale", "kept"),
    [
        (0.5, 0.5),
        (np.array([0.5]), 0.5),
        ([1, 2, 3], [[1, 2, 3]]),
        ([[1, 2, 3]], [[1, 2, 3]]),
        ([1, 2, 3, 4], [[1], [2], [3], [4]]),
        ([[1], [2], [3], [4]], [[1], [2], [3], [4]]),
    ],
)
def test_scales_of_int8_are_one_or_per_dimension_or_per_row(scale: object, kept: object) -> None:
    collection = Collection.from_array(VECTORS.astype(np.int8), scale=scale)
    assert np.array_equal(np.asarray(collection.scale), np.asarray(kept))


@pytest.mark.parametrize(
    ("vectors", "scale", "sentence"),
    [
        (VECTORS, 0.5, "float32; only int8"),
        (VECTORS.astype(np.int8), [1, 2], r"shape \(2,\); for 4 x 3 vectors give 1, 3 or 4"),
        (VECTORS.astype(np.int8), -1.0, "negative or not finite"),
        (VECTORS.astype(np.int8), np.nan, "negative or not finite"),
        (
            np.ones((3, 3), np.int8),
            [1, 2, 3],
            r"3 rows, dimensions and scales; give the scale as \(n, 1\) or as \(1, d\)",
        ),
    ],
)
def test_scales_that_do_not_fit_are_refused(vectors: np.ndarray, scale: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Collection.from_array(vectors, scale=scale)


def test_ids_given_replace_the_collections_own() -> None:
    collection = Collection.from_array(VECTORS, ids=[1, 2, 3, 4])
    assert open_collection(collection, ids=list("wxyz")).ids.tolist() == list("wxyz")


def test_ids_come_from_a_text_csv_or_npy_file(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_bytes("\ufeff007\r\nb c\r\nö\r\nd\r\n".encode())
    (tmp_path / "ids.csv").write_text('title,id\nx,007\ny,b c\n"z,z",ö\n,d\n', encoding="utf-8")
    np.save(tmp_path / "ids.npy", np.array([5, 6, 7, 8]))
    for name in ("ids.txt", "ids.csv"):
        assert open_collection(VECTORS, ids=tmp_path / name).ids.tolist() == ["007", "b c", "ö", "d"]
    assert open_collection(VECTORS, ids=str(tmp_path / "ids.npy")).ids.tolist() == [5, 6, 7, 8]


def test_ids_beside_a_file_are_found(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", VECTORS)
    assert open_collection(tmp_path / "X.npy").ids is None
    (tmp_path / "X.ids.txt").write_text("a\nb\nc\nd\n")
    assert open_collection(tmp_path / "X.npy").ids.tolist() == list("abcd")
    assert open_collection(tmp_path / "X.npy", ids=[1, 2, 3, 4]).ids.tolist() == [1, 2, 3, 4]


def test_a_file_url_opens_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    np.save(folder / "X.npy", VECTORS)
    url = (folder / "X.npy").as_uri()
    assert "%20" in url and np.array_equal(open_collection(url).vectors, VECTORS)
