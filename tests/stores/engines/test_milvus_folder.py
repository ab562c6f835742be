"""A Milvus Lite file, read by its client from a copy: its rows, and none is lost by looking."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from pathlib import Path

import numpy as np
import pytest
from pymilvus import DataType, MilvusClient

from scratch_left import left_in
from store_kinds import rows_of
from veclink.errors import VeclinkError
from veclink.stores import open_store
from veclink.stores.opening import open_collection

KEYS = [DataType.INT64, DataType.VARCHAR]


def fill(folder: Path) -> None:
    """Two files, with whole numbers and with text as keys.

    Rows in two partitions, some deleted, some written again, with fields in and beyond the schema; and none at all.
    """
    for key in KEYS:
        client = MilvusClient(str(folder / f"{key.name}.db"))
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("key", key, is_primary=True, **({"max_length": 100} if key == DataType.VARCHAR else {}))
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
        schema.add_field("year", DataType.INT32, nullable=True)
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="IP")
        client.create_collection("papers", schema=schema, index_params=index)
        client.create_collection("empty", schema=schema, index_params=index)
        client.create_partition("papers", "more")
        names = [f"paper {i:03d}" if key == DataType.VARCHAR else i for i in range(60)]
        rows = [
            {"key": name, "vector": row, "year": None if i % 7 == 0 else 2000 + i, "title": f"ü {i}", "more": {"n": i}}
            for i, (name, row) in enumerate(zip(names, rows_of(60), strict=True))
        ]
        client.insert("papers", rows[:40])
        client.insert("papers", rows[40:], partition_name="more")
        client.flush("papers")
        client.delete("papers", ids=names[3:6])
        client.upsert("papers", [{**rows[10], "vector": rows_of(61)[60], "title": "again"}])
        client.flush("papers")
        client.insert("papers", [{**rows[4], "title": "back"}])
        client.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `fill` makes, by a process of its own: the engine lets go of a file at the end of the process only."""
    folder = tmp_path_factory.mktemp("milvus")
    process = multiprocessing.get_context("spawn").Process(target=fill, args=(folder,))
    process.start()
    process.join()
    assert process.exitcode == 0
    return folder


@pytest.fixture
def url(files: Path, tmp_path: Path) -> str:
    """A copy of the file with whole numbers as keys."""
    return copied(files, tmp_path, DataType.INT64)


def copied(files: Path, folder: Path, key: DataType) -> str:
    shutil.copytree(files / f"{key.name}.db", folder / "lite.db")
    return f"milvus://{folder}/lite.db#papers"


@pytest.mark.parametrize("key", KEYS)
def test_rows_come_as_they_are_now(files: Path, tmp_path: Path, key: DataType) -> None:
    url = copied(files, tmp_path, key)
    with open_store(url) as store:
        assert store.count() == 58
    read, vectors = open_collection(url), open_collection(url, payload=False).vectors
    assert len(read) == 58 and np.array_equal(vectors, read.vectors)
    names = [f"paper {i:03d}" if key == DataType.VARCHAR else i for i in range(60)]
    assert read.ids.tolist() == [name for i, name in enumerate(names) if i not in (3, 5)]
    rows = dict(zip(read.ids.tolist(), read.payload.to_pylist(), strict=True))
    assert rows[names[4]]["title"] == "back" and rows[names[10]]["title"] == "again"
    assert rows[names[7]]["year"] is None and rows[names[8]] == {"year": 2008, "title": "ü 8", "more": {"n": 8}}


def rows_in(folder: Path) -> dict[Path, bytes]:
    """The files with rows, and what is in them."""
    return {each: each.read_bytes() for each in folder.rglob("*.parquet")}


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_description_is_told_and_no_row_is_lost_by_looking(url: str, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "lite.db" / "collections" / "papers" / "schema.json"
    whole, rows = file.read_text(), rows_in(tmp_path)
    file.unlink() if damage == "missing" else file.write_text(whole[:50])
    with pytest.raises(VeclinkError, match=r"not exist|not valid JSON"):
        open_collection(url)
    assert rows and rows_in(tmp_path) == rows


def test_a_filter_removes_no_rows_that_the_folder_does_not_list(url: str, tmp_path: Path, scratch: Path) -> None:
    file = tmp_path / "lite.db" / "collections" / "papers" / "manifest.json"
    listed = json.loads(file.read_text())
    listed["partitions"]["more"]["data_files"] = []
    file.write_text(json.dumps(listed))
    before = {each: each.read_bytes() for each in (tmp_path / "lite.db").rglob("*") if each.is_file()}
    assert open_collection(f"{url}?where=year>=2000").ids.max() < 40
    after = {each: each.read_bytes() for each in (tmp_path / "lite.db").rglob("*") if each.is_file()}
    assert after == before
    assert left_in(scratch) == []
