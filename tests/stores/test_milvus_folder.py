"""A Milvus Lite file read without its client: the same rows, whatever was deleted or written again since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymilvus import DataType, MilvusClient

from store_kinds import release_milvus, rows_of
from veclink.collection import Collection, open_collection
from veclink.errors import StoreError
from veclink.stores import open_store
from veclink.stores.milvus import MilvusStore
from veclink.stores.milvus_folder import MilvusFolder
from veclink.stores.scratch import read_store
from veclink.stores.urls import parse_url


def filled(file: Path, key: DataType = DataType.INT64) -> str:
    """Rows in two partitions, some deleted, some written again, with fields in and beyond the schema; gives the URL."""
    client = MilvusClient(str(file))
    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("key", key, is_primary=True, **({"max_length": 100} if key == DataType.VARCHAR else {}))
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
    schema.add_field("year", DataType.INT32, nullable=True)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection("papers", schema=schema, index_params=index)
    client.create_partition("papers", "more")
    names = [f"paper {i:03d}" if key == DataType.VARCHAR else i for i in range(60)]
    rows = [
        {"key": name, "vector": row, "year": None if i % 7 == 0 else 2000 + i, "title": f"ü {i}", "more": {"deep": i}}
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
    release_milvus(file)
    return f"milvus://{file}#papers"


def by_client(url: str) -> Collection:
    with MilvusStore(parse_url(url)) as store:
        read = read_store(store)
    release_milvus(parse_url(url).path)
    return read


def by_key(collection: Collection) -> dict[Any, tuple[list[float], dict[str, Any]]]:
    rows = zip(collection.ids.tolist(), collection.vectors.tolist(), collection.payload.to_pylist(), strict=True)
    return {each: (vector, dict(sorted(record.items()))) for each, vector, record in rows}


@pytest.mark.parametrize("key", [DataType.INT64, DataType.VARCHAR])
def test_the_folder_gives_what_the_client_gives(tmp_path: Path, key: DataType) -> None:
    url = filled(tmp_path / "lite.db", key)
    with open_store(url) as store:
        assert isinstance(store, MilvusFolder) and store.count() == 58
    read, expected = open_collection(url), by_client(url)
    assert len(read) == 58 and by_key(read) == by_key(expected)
    assert np.array_equal(open_collection(url, payload=False).vectors, read.vectors)


def test_ids_of_another_field_are_found_in_and_beyond_the_schema(tmp_path: Path) -> None:
    url = filled(tmp_path / "lite.db")
    read, expected = open_collection(f"{url}?id=title"), by_client(f"{url}?id=title")
    assert by_key(read) == by_key(expected) and "back" in read.ids.tolist()
    assert open_collection(f"{url}?id=title", payload=False).ids.tolist() == read.ids.tolist()


def test_a_read_goes_on_at_any_place_of_the_files(tmp_path: Path) -> None:
    with open_store(filled(tmp_path / "lite.db")) as store:
        whole = [each for batch in store.batches(7) for each in batch.ids.tolist()]
        for batch in store.batches(7):
            rest = [each for later in store.batches(5, after=batch.place) for each in later.ids.tolist()]
            assert rest == whole[whole.index(batch.ids[-1]) + 1 :]


def test_a_filter_is_left_to_the_client(tmp_path: Path) -> None:
    url = f"{filled(tmp_path / 'lite.db')}?where=title=again"
    with open_store(url) as store:
        assert not isinstance(store, MilvusFolder)
    assert open_collection(url).ids.tolist() == [10]


def test_rows_that_are_only_in_the_log_are_left_to_the_client(tmp_path: Path) -> None:
    url = filled(tmp_path / "lite.db")
    log = tmp_path / "lite.db" / "collections" / "papers" / "wal"
    log.mkdir(exist_ok=True)
    (log / "wal_data_000099.arrow").write_bytes(b"")
    with open_store(url) as store:
        assert not isinstance(store, MilvusFolder) and store.count() == 58


def test_a_file_that_a_client_has_open_is_refused(tmp_path: Path) -> None:
    url = filled(tmp_path / "lite.db")
    with open_store(url) as one, open_store(url) as other:
        assert one.count() == other.count() == 58
        with pytest.raises(StoreError, match="could not be opened"):
            open_store(url, write=True).exists()
