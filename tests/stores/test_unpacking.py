"""Small files that say they hold far more than they are, engines that panic: a sentence."""

from __future__ import annotations

import resource
import sqlite3
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from own_process import command_alone
from store_kinds import rows_of
from veclink.errors import InputError, StoreError
from veclink.stores import open_store, opening
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch


def repeated_text(path: Path, rows: int = 2_000, letters: int = 1_000_000) -> Path:
    """Vectors with a long title, the same for all rows: a Parquet file keeps it once, and memory once for each row."""
    titles = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * letters]))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(rows * 4, dtype=np.float32)), 4)
    table = pa.table({"vector": vectors, "title": titles})
    pq.write_table(table, path, compression="zstd", store_schema=False)
    return path


def test_an_hdf5_file_of_rows_that_were_never_written_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "papers.h5", "w") as file:
        file.create_dataset("vector", shape=(10**8, 64), dtype="f4", chunks=(1000, 64))
    with pytest.raises(InputError, match=r"papers\.h5 has \d+ kB and would unpack to 25\.6 GB of vectors; no real"):
        open_collection(tmp_path / "papers.h5")


def test_a_folder_of_parquet_files_that_unpacks_to_far_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SUSPECT", 1_000_000)  # a gigabyte would take the test too long to make
    (tmp_path / "papers").mkdir()
    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(20_000 * 64, np.float32)), 64)
    pq.write_table(pa.table({"vector": zeros}), tmp_path / "papers" / "part.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"would unpack to 5\.1 MB of vectors"):
        open_collection(tmp_path / "papers")


def test_memory_limits_what_reading_a_file_takes(tmp_path: Path) -> None:
    path = repeated_text(tmp_path / "papers.parquet")
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"papers\.parquet needs more than 500\.\d MB of memory to be read"):
        open_collection(path, memory="100MB")
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_a_panic_of_chroma_ends_in_a_sentence(tmp_path: Path) -> None:
    """Its panics are no Exception."""
    with open_store(f"chroma://{tmp_path}/chroma#papers", write=True) as store:
        store.write([Batch(rows_of(5))])
    with sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3") as base:
        base.execute("update collections set dimension = x'00'")
    code, said = command_alone("inspect", f"chroma://{tmp_path}/chroma#papers")
    assert code == 1 and "could not be read (" in said.splitlines()[-1] and "Traceback" not in said, said
    with pytest.raises(StoreError, match="could not be"):
        open_store(f"chroma://{tmp_path}/chroma#papers", write=True).exists()
