"""A local folder of Qdrant, read by its client from a copy: its points, and no code that somebody hid in the file."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from store_kinds import rows_of
from veclink.errors import StoreError
from veclink.stores import open_store
from veclink.stores.opening import open_collection


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


def test_reading_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    (tmp_path / "db" / ".lock").unlink()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert len(open_collection(url)) == 58
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


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


def test_missing_points_are_told_and_no_empty_file_is_made_in_their_place(tmp_path: Path) -> None:
    url = filled(tmp_path / "db")
    file = tmp_path / "db" / "collection" / "papers" / "storage.sqlite"
    file.unlink()
    with pytest.raises(StoreError, match="is missing, and with it the points"):
        open_collection(url)
    assert not file.exists()
