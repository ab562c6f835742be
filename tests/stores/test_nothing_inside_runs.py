"""Code that somebody hid in a store never runs, whatever the command: reading it, asking what would change, writing."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from qdrant_client import QdrantClient, models

from harmful_stores import ROWS, Harmful, harmful_model, harmful_pickle, reading, run, writing
from store_kinds import ids_of, lists, payload_of, rows_of
from veclink.errors import InputError
from veclink.linkers.checkpoint import Checkpoint
from veclink.stores import open_store
from veclink.stores.engines.qdrant import check_plain
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch

DONE = (0, 3)
"""The command was carried out; 3 says that so few rows cannot be linked."""
CODE = {"trust_remote_code": True}


def qdrant(folder: Path, canary: Path | None) -> str:
    """Two collections; in the second, one point is code."""
    client = QdrantClient(path=str(folder))
    for name in ("papers", "more"):
        client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=models.Distance.DOT))
        points = [
            models.PointStruct(id=row, vector=vector.tolist(), payload={"year": 2000 + row, "tags": ["x", f"t{row}"]})
            for row, vector in enumerate(rows_of(ROWS))
        ]
        client.upsert(name, points)
    client.close()
    if canary is not None:
        with storage(folder, "more") as file:
            file.execute("update points set point = ? where rowid = 3", (harmful_pickle(canary),))
    return f"qdrant://{folder}#more"


def storage(folder: Path, name: str = "papers") -> sqlite3.Connection:
    return sqlite3.connect(folder / "collection" / name / "storage.sqlite")


def without_lock(folder: Path, url: str) -> str:
    (folder / ".lock").unlink()
    return url


def with_a_third_column(folder: Path, url: str) -> str:
    with storage(folder, "more") as file:
        file.execute("alter table points add column version integer")
    return url


def with_points_as_a_view(folder: Path, url: str) -> str:
    with storage(folder, "more") as file:
        file.execute("alter table points rename to kept")
        file.execute("create view points as select rowid, id, point from kept")
    return url


def with_an_alias(folder: Path, url: str) -> str:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "aliases": {"other": "more"}}))
    return url.replace("#more", "#other")


VARIANTS: dict[str, Callable[[Path, str], str]] = {
    "as it is": lambda folder, url: url,
    "no lock": without_lock,
    "third column": with_a_third_column,
    "view": with_points_as_a_view,
    "alias": with_an_alias,
    "filter": lambda folder, url: f"{url}?where=year>=2000",
    "wrong name": lambda folder, url: url.replace("#more", "#nothing"),
    "no name": lambda folder, url: url.replace("#more", ""),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_code_in_a_qdrant_folder_is_not_run_by_reading(tmp_path: Path, variant: str) -> None:
    canary = tmp_path / "canary"
    url = VARIANTS[variant](tmp_path / "db", qdrant(tmp_path / "db", canary))
    for command in reading(url, tmp_path):
        code, said = run(*command)
        assert not canary.exists(), command
        assert code != 0 and "Traceback" not in said, said


@pytest.mark.parametrize("variant", ["as it is", "no lock", "third column", "view"])
def test_code_in_a_qdrant_folder_is_not_run_by_writing_or_a_dry_run(tmp_path: Path, variant: str) -> None:
    canary = tmp_path / "canary"
    url = VARIANTS[variant](tmp_path / "db", qdrant(tmp_path / "db", canary)).replace("#more", "#papers")
    for command in writing(url, tmp_path):
        code, said = run(*command)
        assert not canary.exists(), command
        assert code != 0 and "Traceback" not in said, said


def test_code_in_a_collection_that_is_not_listed_is_not_run_where_one_of_its_name_is_made(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    url = qdrant(tmp_path / "db", canary)
    meta = json.loads((tmp_path / "db" / "meta.json").read_text())
    del meta["collections"]["more"]
    (tmp_path / "db" / "meta.json").write_text(json.dumps(meta))
    for command in writing(url, tmp_path):
        code, _ = run(*command)
        assert code != 0 and not canary.exists(), command
    (tmp_path / "db" / "meta.json").unlink()
    with pytest.raises(InputError, match="cannot be read safely"), open_store(url, write=True) as store:
        store.write([Batch(rows_of(5))])
    assert not canary.exists()


def test_a_collection_outside_the_folder_is_not_opened_for_writing(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    qdrant(tmp_path / "other", canary)
    url = qdrant(tmp_path / "db", None)
    meta = json.loads((tmp_path / "db" / "meta.json").read_text())
    meta["collections"]["../../other/collection/more"] = meta["collections"].pop("more")
    (tmp_path / "db" / "meta.json").write_text(json.dumps(meta))
    for command in [*reading(url, tmp_path), *writing(url, tmp_path)]:
        code, _ = run(*command)
        assert code != 0 and not canary.exists(), command


def test_a_safe_qdrant_folder_is_read_and_written_as_before(tmp_path: Path) -> None:
    url = without_lock(tmp_path / "db", qdrant(tmp_path / "db", None))
    for command in [*reading(url, tmp_path), *writing(url, tmp_path)]:
        assert run(*command)[0] in DONE, command
    assert "links" in {each.name for each in (tmp_path / "db" / "collection").iterdir()}


@pytest.mark.parametrize("name", ["os.system", "BaseModel", "PointStruct.model_construct", "PointStruct.__init__"])
def test_only_whole_names_of_points_are_loaded(name: str) -> None:
    module = b"qdrant_client.http.models.models"
    text = name.encode()
    data = b"\x80\x04\x8c" + bytes([len(module)]) + module + b"\x8c" + bytes([len(text)]) + text + b"\x93."
    assert pickle.loads(data.replace(text, b"PointStruct").replace(bytes([len(text)]) + b"P", b"\x0bP"))
    with pytest.raises(InputError, match="cannot be read safely"):
        check_plain(data, "it")


def test_a_model_named_in_a_lance_table_is_not_loaded(tmp_path: Path) -> None:
    import lancedb

    canary = tmp_path / "canary"
    model = harmful_model(tmp_path / "model", canary)
    functions = [
        {
            "name": "sentence-transformers",
            "vector_column": "vector",
            "source_column": "veclink_id",
            "model": {"name": str(model), "max_retries": 0},
        }
    ]
    table = pa.table({"id": np.arange(ROWS), "vector": lists(rows_of(ROWS))})
    table = table.replace_schema_metadata({"embedding_functions": json.dumps(functions)})
    lancedb.connect(str(tmp_path / "db")).create_table("papers", table)
    url = f"lancedb://{tmp_path}/db#papers"
    for command in [*reading(url, tmp_path), *writing(url, tmp_path)]:
        code, said = run(*command)
        assert not canary.exists(), command
        assert (code in DONE) is ("--annotate" not in command), said


def test_a_model_named_in_a_chroma_folder_is_not_loaded(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    model = harmful_model(tmp_path / "model", canary)
    url = f"chroma://{tmp_path}/db#papers"
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(ROWS), np.arange(ROWS), payload_of(ROWS))])
    config = {"model_name": str(model), "device": "cpu", "normalize_embeddings": False}
    function = {"type": "known", "name": "sentence_transformer", "config": {**config, "kwargs": CODE}}
    with sqlite3.connect(tmp_path / "db" / "chroma.sqlite3") as file:
        (text,) = file.execute("select schema_str from collections").fetchone()
        schema = json.loads(text)
        schema["keys"]["#embedding"]["float_list"]["vector_index"]["config"]["embedding_function"] = function
        file.execute("update collections set schema_str = ?", (json.dumps(schema),))
    for command in [*reading(url, tmp_path), *writing(url, tmp_path)]:
        code, said = run(*command)
        assert not canary.exists(), command
        assert code in DONE, said


def test_a_pickle_in_an_index_of_chroma_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = tmp_path / "canary"
    url = f"chroma://{tmp_path}/db#papers"
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(1200), ids_of("int", 1200))])
    (index,) = (tmp_path / "db").glob("*/index_metadata.pickle")
    index.write_bytes(harmful_pickle(canary))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("CHROMA_API_IMPL=chromadb.api.segment.SegmentAPI\n")
    for command in [*reading(url, tmp_path), *writing(url, tmp_path)]:
        _, said = run(*command)
        assert not canary.exists(), command
        assert "SegmentAPI" not in said and "hnswlib" not in said


def harmful_array(canary: Path) -> np.ndarray:
    array = np.empty((ROWS, 2), dtype=object)
    array[:] = Harmful(canary)
    return array


def test_objects_in_numpy_files_are_not_unpickled(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    array = harmful_array(canary)
    np.save(tmp_path / "bad.npy", array)
    np.savez(tmp_path / "bad.npz", vectors=array)
    np.savez(tmp_path / "ids.npz", vectors=rows_of(ROWS), ids=array[:, 0])
    for name in ("bad.npy", "bad.npz", "ids.npz"):
        for command in reading(str(tmp_path / name), tmp_path):
            code, _ = run(*command)
            assert code != 0 and not canary.exists(), command


def test_objects_in_a_checkpoint_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "veclink-x-grown.npz", _told=np.array("{}"), pairs=harmful_array(tmp_path / "canary"))
    assert Checkpoint(tmp_path, "x").load("grown", np.random.default_rng(0)) is None
    assert not (tmp_path / "canary").exists()


def test_a_pickled_extension_type_of_arrow_is_not_loaded(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    marks = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": harmful_pickle(canary)}
    field = pa.field("kind", pa.int64(), metadata=marks)
    vector = pa.field("vector", pa.list_(pa.float32(), 8))
    table = pa.table([pa.array(np.arange(ROWS)), lists(rows_of(ROWS))], schema=pa.schema([field, vector]))
    pq.write_table(table, tmp_path / "papers.parquet")
    for command in reading(str(tmp_path / "papers.parquet"), tmp_path):
        assert run(*command)[0] in DONE and not canary.exists(), command
    assert open_collection(tmp_path / "papers.parquet").payload.column("kind").to_pylist() == list(range(ROWS))
