"""A local folder of Qdrant, read by its client from a copy: its points, and no code that somebody hid in the file."""

from __future__ import annotations

import os
import pickle
import sqlite3
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from store_kinds import ids_of, payload_of, rows_of
from veclink.errors import InputError, StoreError, VeclinkError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch


def filled(folder: Path, distance: models.Distance = models.Distance.DOT) -> str:
    """Numbers and UUIDs as ids, points changed and deleted, written by the client alone; gives the URL."""
    client = QdrantClient(path=str(folder))
    client.create_collection("papers", vectors_config=models.VectorParams(size=8, distance=distance))
    vectors = rows_of(60)
    names: list[Any] = [*range(100, 70, -1), *(str(uuid.UUID(int=i)) for i in range(30))]
    points = [
        models.PointStruct(id=name, vector=row.tolist(), payload={"title": f"ü {name}", "n": {"deep": [1, 2]}})
        for name, row in zip(names, vectors, strict=True)
    ]
    client.upsert("papers", points)
    client.delete("papers", models.PointIdsList(points=[72, names[40]]))
    client.set_payload("papers", {"note": "later"}, points=[75])
    client.update_vectors("papers", [models.PointVectors(id=80, vector=[1.0] * 8)])
    client.upsert("papers", [models.PointStruct(id=76, vector=[2.0] * 8, payload={})])
    client.close()
    return f"qdrant://{folder}#papers"


@pytest.mark.parametrize("distance", [models.Distance.DOT, models.Distance.COSINE, models.Distance.EUCLID])
def test_points_come_as_they_are_now(tmp_path: Path, distance: models.Distance) -> None:
    url = filled(tmp_path / "db", distance)
    with open_store(url) as store:
        assert store.metadata()["distance"] == distance.value
    read = open_collection(url)
    assert read.ids is not None and len(read) == 58 and read.ids.tolist() == sorted(read.ids.tolist(), key=by_number)
    expected = np.ones(8) if distance != models.Distance.COSINE else np.full(8, 8**-0.5)
    assert np.allclose(read.vectors[read.ids.tolist().index("80")], expected, rtol=1e-6, atol=0)
    notes = dict(zip(read.ids.tolist(), read.payload.column("note").to_pylist(), strict=True))
    assert notes["75"] == "later" and "72" not in notes


def by_number(name: str) -> tuple[str, int]:
    return ("", int(name)) if name.isdigit() else (name, 0)


def test_a_filter_is_the_clients(tmp_path: Path) -> None:
    assert open_collection(f"{filled(tmp_path / 'db')}?where=note=later").ids.tolist() == [75]


def test_reading_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    (tmp_path / "db" / ".lock").unlink()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert len(open_collection(url)) == 58
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_columns_that_are_not_known_are_passed_over(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    with sqlite3.connect(tmp_path / "db" / "collection" / "papers" / "storage.sqlite") as storage:
        storage.execute("alter table points add column version integer")
    with open_store(url) as store:
        assert store.count() == 58


def test_one_of_several_vectors_is_read_and_a_matrix_is_refused(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path / "db"))
    several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    kinds = {
        "one": models.VectorParams(size=8, distance=models.Distance.DOT),
        "many": models.VectorParams(size=2, distance=models.Distance.DOT, multivector_config=several),
    }
    client.create_collection("papers", vectors_config=kinds)
    vectors = {"one": [1.0] * 8, "many": [[1.0, 2.0], [3.0, 4.0]]}
    client.upsert("papers", [models.PointStruct(id=1, vector=vectors)])
    client.close()
    url = f"qdrant://{tmp_path}/db#papers"
    assert open_collection(f"{url}?vector=one").vectors.tolist() == [[1.0] * 8]
    with pytest.raises(InputError, match="keeps several vectors per object in its vector 'many'"):
        open_collection(f"{url}?vector=many")


def test_code_hidden_in_a_point_is_not_run(tmp_path: Path) -> None:
    url, mark = filled(tmp_path / "db"), tmp_path / "was-here"

    class Harmful:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(mark),)

    with sqlite3.connect(tmp_path / "db" / "collection" / "papers" / "storage.sqlite") as storage:
        storage.execute("update points set point = ? where rowid = 3", (pickle.dumps(Harmful()),))
    with pytest.raises(InputError, match=r"cannot be read safely: it holds something of the kind posix\.mkdir"):
        open_collection(url)
    assert not mark.exists()


def test_a_folder_that_a_client_has_open_is_refused_and_two_readers_are_not(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    with open_store(url) as one, open_store(url) as other:
        assert one.count() == other.count() == 58
        with pytest.raises(StoreError, match="already accessed by another"):
            open_store(url, write=True).exists()
    with open_store(url, write=True) as writer:
        assert writer.exists()
        with pytest.raises(StoreError, match="already accessed by another"):
            open_store(url)


def test_ids_of_other_kinds_come_from_the_payload_without_reading_the_rest(tmp_path: Path) -> None:
    url = f"qdrant://{tmp_path}/db#papers"
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(20), ids_of("str", 20), payload_of(20))])
    read = open_collection(url, payload=False)
    assert read.ids.tolist() == ids_of("str", 20).tolist() and read.payload is None


def test_missing_points_are_told_and_no_empty_file_is_made_in_their_place(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    file = tmp_path / "db" / "collection" / "papers" / "storage.sqlite"
    file.unlink()
    with pytest.raises(StoreError, match="is missing, and with it the points"):
        open_collection(url)
    assert not file.exists()


def test_a_collection_named_out_of_the_folder_is_not_read_there(tmp_path: Path) -> None:
    filled(tmp_path / "other")
    url = filled(tmp_path / "db")
    meta = tmp_path / "db" / "meta.json"
    meta.write_text(meta.read_text().replace('"papers"', '"../../other/collection/papers"'))
    with pytest.raises(VeclinkError), open_store(url.replace("#papers", "#../../other/collection/papers")) as store:
        store.count()


def test_a_point_that_is_cut_is_told_as_damaged(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    with sqlite3.connect(tmp_path / "db" / "collection" / "papers" / "storage.sqlite") as storage:
        storage.execute("update points set point = substr(point, 1, 40) where rowid = 3")
    with pytest.raises(InputError, match="holds a point that is damaged"):
        open_collection(url)
