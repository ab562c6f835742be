"""HDF5 files as other programs write them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from store_kinds import rows_of
from veclink.stores.opening import open_collection


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_the_datasets_of_one_length_are_ids_and_payload(tmp_path: Path, dtype: str) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["train"], file["ids"] = rows_of(50, dtype=dtype), [f"ü{i}" for i in range(50)]
        file["year"] = np.arange(50)
        file["neighbours"] = np.zeros((10, 3), np.int64)
    read = open_collection(f"hdf5://{tmp_path}/x.h5?vector=train")
    assert read.vectors.dtype == dtype and np.array_equal(read.vectors, rows_of(50, dtype=dtype))
    assert read.ids.tolist() == [f"ü{i}" for i in range(50)]
    assert read.payload.to_pydict() == {"year": list(range(50))}


@pytest.mark.parametrize(
    "options", [{"compression": "gzip"}, {"chunks": (7, 8)}, {"dtype": ">f4"}, {"dtype": "float64"}], ids=str
)
def test_other_layouts_are_read_all_the_same(tmp_path: Path, options: dict[str, object]) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file.create_dataset("group/embeddings", data=rows_of(50), **options)
    read = open_collection(f"hdf5://{tmp_path}/x.h5#group")
    assert read.vectors.dtype == np.float32 and np.array_equal(read.vectors, rows_of(50)) and read.ids is None
