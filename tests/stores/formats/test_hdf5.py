"""HDF5 files as other programs write them: mapped where they lie if they can be, read through a scratch file if not."""

from __future__ import annotations

import resource
from pathlib import Path

import h5py
import numpy as np
import pytest

from own_process import alone
from store_kinds import rows_of
from veclink.errors import OutputError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_a_plain_dataset_is_mapped_in_place(tmp_path: Path, dtype: str, scratch: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["train"], file["ids"] = rows_of(50, dtype=dtype), [f"ü{i}" for i in range(50)]
        file["year"] = np.arange(50)
        file["neighbours"] = np.zeros((10, 3), np.int64)
    read = open_collection(f"hdf5://{tmp_path}/x.h5?vector=train")
    assert isinstance(read.vectors, np.memmap) and Path(read.vectors.filename) == tmp_path / "x.h5"
    assert read.vectors.dtype == dtype and np.array_equal(read.vectors, rows_of(50, dtype=dtype))
    assert read.ids.tolist() == [f"ü{i}" for i in range(50)]
    assert read.payload.to_pydict() == {"year": list(range(50))}
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"compression": "gzip"}, {"chunks": (7, 8)}, {"dtype": ">f4"}, {"dtype": "float64"}], ids=str
)
def test_other_layouts_are_read_all_the_same(tmp_path: Path, options: dict[str, object]) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file.create_dataset("group/embeddings", data=rows_of(50), **options)
    read = open_collection(f"hdf5://{tmp_path}/x.h5#group")
    assert read.vectors.dtype == np.float32 and np.array_equal(read.vectors, rows_of(50)) and read.ids is None


def test_a_file_that_is_no_hdf5_is_one_sentence(tmp_path: Path) -> None:
    from veclink.errors import StoreError

    (tmp_path / "x.h5").write_text("nonsense")
    with pytest.raises(StoreError, match=r"x\.h5 could not be read"):
        open_collection(tmp_path / "x.h5")


def write_with_no_room_after(path: Path, sizes: list[int]) -> None:
    """Write a collection under each limit of a file's size, and read it under the last."""
    older = path.read_bytes()
    rows = 3000
    ids = np.array([f"ü{row}" for row in range(rows)], object)
    batches = [Batch(rows_of(rows)[start : start + 500], ids[start : start + 500]) for start in range(0, rows, 500)]
    for size in sizes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        with pytest.raises(OutputError, match=r"Could not write .*x\.h5: File too large; make room"):
            with open_store(path, write=True) as store:
                store.write(batches, replace=True)
        assert path.read_bytes() == older
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with open_store(path, write=True) as store:
        store.write(batches, replace=True)
    read = open_collection(path)
    assert np.array_equal(read.vectors, rows_of(rows)) and read.ids.tolist() == ids.tolist()


def test_a_full_disk_is_one_sentence_wherever_it_comes(tmp_path: Path) -> None:
    with open_store(tmp_path / "x.h5", write=True) as store:
        store.write([Batch(rows_of(5))])
    # from the first bytes to the last ones, which are written when the file is closed
    sizes = [0, 1, 100, 800, 2_000, 10_000, 50_000, 90_000, 100_000, 150_000, 200_000]
    code, said = alone(write_with_no_room_after, tmp_path / "x.h5", sizes)
    assert (code, said) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]
