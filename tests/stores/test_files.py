"""Every kind of file gives back the vectors, ids and payload that were written, without copies that need not be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from veclink.errors import InputError
from veclink.stores.opening import open_collection

N, D = 7, 5
TEXT_IDS = ["a", "ö", "日本", "", "x y", 'q"', "7"]


def numbers(dtype: str, n: int = N, d: int = D) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=(n, d)) * 20).astype(dtype)


def as_npy(path: Path, vectors: np.ndarray) -> Path:
    np.save(path / "x.npy", vectors)
    return path / "x.npy"


def as_npz(path: Path, vectors: np.ndarray) -> Path:
    np.savez(path / "x.npz", vectors=vectors)
    return path / "x.npz"


def as_npz_compressed(path: Path, vectors: np.ndarray) -> Path:
    np.savez_compressed(path / "x.npz", only_matrix=vectors, year=np.arange(len(vectors)))
    return path / "x.npz"


def as_safetensors(path: Path, vectors: np.ndarray) -> Path:
    save_file(
        {"bias": np.zeros(3, np.float32), "vectors": vectors}, path / "x.safetensors", metadata={"made": "by hand"}
    )
    return path / "x.safetensors"


def as_parquet_fixed(path: Path, vectors: np.ndarray) -> Path:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    pq.write_table(pa.table({"vector": column}), path / "x.parquet")
    return path / "x.parquet"


def as_parquet_lists(path: Path, vectors: np.ndarray) -> Path:
    offsets = np.arange(0, vectors.size + 1, vectors.shape[1], dtype=np.int64)
    column = pa.LargeListArray.from_arrays(offsets, pa.array(vectors.ravel()))
    pq.write_table(pa.table({"whatever": column, "n": np.arange(len(vectors))}), path / "x.parquet", row_group_size=3)
    return path / "x.parquet"


WRITERS = [as_npy, as_npz, as_npz_compressed, as_safetensors, as_parquet_fixed, as_parquet_lists]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_vectors_come_back_bit_for_bit(tmp_path: Path, write: Callable[[Path, np.ndarray], Path], dtype: str) -> None:
    vectors = numbers(dtype)
    read = open_collection(write(tmp_path, vectors))
    assert read.vectors.dtype == vectors.dtype and np.array_equal(read.vectors, vectors)
    assert read.ids is None and read.name.endswith(write(tmp_path, vectors).name)


@pytest.mark.parametrize("write", [as_npy, as_safetensors])
def test_vectors_on_disk_stay_on_disk(tmp_path: Path, write: Callable[[Path, np.ndarray], Path]) -> None:
    assert isinstance(open_collection(write(tmp_path, numbers("float16"))).vectors, np.memmap)


def test_npz_and_safetensors_bring_ids_and_scale(tmp_path: Path) -> None:
    fields = {"embeddings": numbers("int8"), "ids": np.arange(N) * 10, "scale": np.full((1, D), 0.5, np.float32)}
    np.savez(tmp_path / "x.npz", **fields)
    save_file(fields, tmp_path / "x.safetensors")
    for name in ("x.npz", "x.safetensors"):
        read = open_collection(tmp_path / name)
        assert read.ids.tolist() == [0, 10, 20, 30, 40, 50, 60]
        assert np.array_equal(read.scale, fields["scale"])


@pytest.mark.parametrize("ids", [TEXT_IDS, list(range(100, 100 + N))])
def test_parquet_and_jsonl_bring_ids_and_payload(tmp_path: Path, ids: list[object]) -> None:
    vectors, titles = numbers("float32"), [f"title {i}" for i in range(N)]
    table = pa.table({"title": titles, "id": ids, "embedding": vectors.tolist(), "year": list(range(N))})
    table = table.set_column(2, "embedding", table["embedding"].cast(pa.list_(pa.float32())))
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    lines = [
        json.dumps({"title": title, "id": i, "embedding": vector.tolist(), "year": year})
        for year, (title, i, vector) in enumerate(zip(titles, ids, vectors, strict=True))
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n\n")
    for name in ("x.parquet", "x.jsonl"):
        read = open_collection(tmp_path / name)
        assert np.array_equal(read.vectors, vectors) and read.vectors.dtype == np.float32
        assert read.ids is not None and read.ids.tolist() == ids
        assert read.payload is not None and read.payload.to_pydict() == {"title": titles, "year": list(range(N))}


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.floats(width=32, allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        unique_by=lambda row: row[0],
    )
)
def test_any_ids_and_numbers_survive_parquet_and_jsonl(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    folder = tmp_path_factory.mktemp("any")
    ids, values = [row[0] for row in rows], np.array([[row[1], 1.0] for row in rows], np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 2)
    pq.write_table(pa.table({"id": pa.array(ids, pa.string()), "vector": column}), folder / "x.parquet")
    lines = [json.dumps({"id": i, "vector": v}) for i, v in zip(ids, values.tolist(), strict=True)]
    (folder / "x.jsonl").write_text("\n".join(lines))
    for name in ("x.parquet", "x.jsonl"):
        read = open_collection(folder / name)
        assert read.ids is not None and read.ids.tolist() == ids and np.array_equal(read.vectors, values)


def test_a_small_file_of_very_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen megabytes of zeros in some kilobytes, on a machine with eight left."""
    path = as_npz_compressed(tmp_path, np.zeros((4_000_000 // 8, 8), np.float32))
    assert path.stat().st_size < 1_000_000
    monkeypatch.setattr("veclink.files.memory.most_memory", lambda: 8_000_000)
    with pytest.raises(InputError, match=r"would need [12]\d\.\d MB of memory, where 8\.0 MB can be had"):
        open_collection(path)
    monkeypatch.undo()
    assert len(open_collection(path)) == 500_000


def test_a_file_is_read_with_the_options_of_a_url(tmp_path: Path) -> None:
    rows = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"sku": ["x", "y"], "vector": rows}), tmp_path / "my goods.parquet")
    assert open_collection(f"{tmp_path}/my goods.parquet").ids is None
    assert open_collection(f"{tmp_path}/my goods.parquet?id=sku").ids.tolist() == ["x", "y"]
    with pytest.raises(InputError, match="no field 'other'"):
        open_collection(f"{tmp_path}/my goods.parquet?id=other")
