"""Collections: what is accepted, how ids and scales take their form, how a source is opened."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from veclink.data.collection import Collection, as_ids
from veclink.stores.opening import open_collection

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_an_array_is_kept_not_copied() -> None:
    collection = open_collection(VECTORS)
    assert np.shares_memory(collection.vectors, VECTORS)
    assert (len(collection), collection.dimension, collection.ids, collection.name) == (4, 3, None, "array")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", ">f4"])
def test_vectors_keep_their_dtype(dtype: str) -> None:
    assert open_collection(VECTORS.astype(dtype)).vectors.dtype == np.dtype(dtype)


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
