"""Stores on S3-like storage, by URL, against a real server: they link, merge and come back as local ones do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from s3_server import BUCKET, KEYS, s3_server
from store_kinds import ids_of, lists, payload_of, rows_of
from veclink.errors import InputError, StoreError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.parquet import ParquetStore
from veclink.stores.protocol import Batch
from veclink.stores.urls import parse_url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3") / "log") as url:
        yield url


@pytest.fixture(autouse=True)
def keys(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)


def put(url: str, count: int = 50, seed: int = 0, *, replace: bool = False) -> np.ndarray:
    vectors, ids, payload = rows_of(count, seed=seed), ids_of("str", count), payload_of(count)
    batches = [
        Batch(vectors[i : i + 20], ids[i : i + 20], payload.slice(i, min(20, count - i))) for i in range(0, count, 20)
    ]
    with open_store(url, write=True) as store:
        assert store.write(batches, metadata={"model": "minilm"}, replace=replace) == count
    return vectors


def upload(file: Path, name: str) -> None:
    there = ParquetStore(parse_url(f"s3://{BUCKET}/{name}"))
    fs.copy_files(str(file), there._root, source_filesystem=fs.LocalFileSystem(), destination_filesystem=there._system)


@pytest.mark.parametrize("place", ["one/x.parquet", "one/folder", "one/papers.lance"])
def test_what_is_written_to_a_bucket_comes_back_and_is_replaced_only_when_told(place: str) -> None:
    url = f"s3://{BUCKET}/{place}"
    with pytest.raises(InputError, match="does not exist"):
        open_store(url)
    vectors = put(url)
    with open_store(url) as store:
        assert (store.count(), store.dimension()) == (50, 8) and store.metadata()["model"] == "minilm"
    read = open_collection(url)
    assert np.array_equal(read.vectors, vectors) and read.ids.tolist() == ids_of("str", 50).tolist()
    assert read.payload.select(payload_of(50).column_names).to_pydict() == payload_of(50).to_pydict()
    with pytest.raises(InputError, match="there already"):
        put(url)
    other = put(url, 30, seed=1, replace=True)
    assert np.array_equal(open_collection(url).vectors, other)


def test_a_folder_of_parquet_objects_of_other_programs_is_read(tmp_path: Path) -> None:
    vectors = rows_of(40)
    for part in range(2):
        rows = slice(20 * part, 20 * part + 20)
        table = pa.table({"id": np.arange(40)[rows], "vector": lists(vectors[rows])})
        pq.write_table(table, tmp_path / "x.parquet")
        upload(tmp_path / "x.parquet", f"two/table/day={part}/x.parquet")
    read = open_collection(f"s3://{BUCKET}/two/table")
    assert np.array_equal(read.vectors, vectors) and read.ids.tolist() == list(range(40))
    kept = open_collection(f"s3://{BUCKET}/two/table?where=id>=30")
    assert kept.ids.tolist() == list(range(30, 40))
    with pytest.raises(InputError, match="there already"):
        put(f"s3://{BUCKET}/two/table")
    with pytest.raises(InputError, match="holds other objects"):  # which would not go in one step
        put(f"s3://{BUCKET}/two/table", replace=True)
    assert np.array_equal(open_collection(f"s3://{BUCKET}/two/table").vectors, vectors)


KILLED = """
import os, signal, sys
import numpy as np
from pyarrow import fs
from veclink.stores import open_store
from veclink.stores.protocol import Batch

fs.copy_files = lambda *given, **options: os.kill(os.getpid(), signal.SIGKILL)
with open_store(sys.argv[1], write=True) as store:
    store.write([Batch(np.ones((7, 8), np.float32))], replace=True)
"""


@pytest.mark.parametrize("place", ["x.parquet", "folder"])
def test_a_replacement_that_is_killed_leaves_the_older_collection_whole(place: str) -> None:
    url = f"s3://{BUCKET}/four/{place}"
    vectors = put(url)
    run = subprocess.run([sys.executable, "-c", KILLED, url], env=dict(os.environ), capture_output=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert np.array_equal(open_collection(url).vectors, vectors)
    other = put(url, 30, seed=1, replace=True)
    assert np.array_equal(open_collection(url).vectors, other)


def test_no_server_and_a_wrong_url_are_told_in_one_sentence_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("s3://papers", "s3://reader:sesame-97@papers/x.parquet"):
        with pytest.raises(InputError, match="s3://bucket/name") as told:
            open_store(url)
        assert "sesame" not in str(told.value)
    with pytest.raises(InputError, match=r"\.parquet, \.lance and folders"):
        open_store(f"s3://{BUCKET}/x.npy")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for place in ("x.parquet", "x.lance"):
        with pytest.raises(StoreError, match=rf"s3://{BUCKET}/{place} could not be") as failed:
            open_store(f"s3://{BUCKET}/{place}")
        assert "sesame" not in str(failed.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:9")
    with pytest.raises(InputError, match="AWS_ENDPOINT_URL"):
        open_store(f"s3://{BUCKET}/x.parquet")
