"""Every store that veclink knows, with the real engine behind it, for the tests that all of them have to pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Kind:
    """One store: how its URL is made of a folder and a name, and what it can hold.

    ids:     the kinds of ids it takes. named: writes objects with two vectors, `one` and `two`, with the engine's own
    means, and gives the URL. hostile: whether it takes any name. numbers: what float16 and int8 vectors come back as.
    """

    name: str
    url: Callable[[Path, str], str]
    ids: tuple[str, ...] = ("int", "str", "uuid")
    payload: bool = True
    links: bool = True
    annotates: bool = True
    empty: bool = True
    replaces: bool = True
    hostile: bool = False
    named: Callable[[Path, np.ndarray, np.ndarray], str] | None = None
    numbers: dict[str, str] = field(default_factory=lambda: {"float16": "float16", "int8": "int8"})


WIDE = {"float16": "float32", "int8": "float32"}
HALF_WIDE = {"float16": "float16", "int8": "float32"}
POSTGRES: dict[str, str] = {}
"""The URL of the one server of this session, under "url"; see conftest."""


def postgres_url(folder: Path, name: str) -> str:
    from urllib.parse import quote

    # one database for all: the folder's name keeps the tests apart
    return f"{POSTGRES['url']}&table={quote(f'{folder.name}-{name}', safe='')}"


def lists(vectors: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])


def two_in_lance(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    import lancedb

    table = pa.table({"id": np.arange(len(one)), "one": lists(one), "two": lists(two)})
    lancedb.connect(str(folder / "two")).create_table("both", table)
    return f"lancedb://{folder}/two#both"


def two_in_qdrant(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder / "two"))
    sizes = {"one": one.shape[1], "two": two.shape[1]}
    params = {name: models.VectorParams(size=size, distance=models.Distance.DOT) for name, size in sizes.items()}
    client.create_collection("both", vectors_config=params)
    points = [
        models.PointStruct(id=i, vector={"one": one[i].tolist(), "two": two[i].tolist()}) for i in range(len(one))
    ]
    client.upsert("both", points)
    client.close()
    return f"qdrant://{folder}/two#both"


def two_in_milvus(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "two.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    index = client.prepare_index_params()
    for name, vectors in (("one", one), ("two", two)):
        schema.add_field(name, DataType.FLOAT_VECTOR, dim=vectors.shape[1])
        index.add_index(name, index_type="FLAT", metric_type="IP")
    client.create_collection("both", schema=schema, index_params=index)
    client.insert("both", [{"key": i, "one": one[i], "two": two[i]} for i in range(len(one))])
    client.close()
    return f"milvus://{folder}/two.db#both"


def two_in_postgres(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    import psycopg
    from psycopg import sql

    table = sql.Identifier(f"{folder.name}-both")
    with psycopg.connect(POSTGRES["url"]) as connection:
        connection.execute(
            sql.SQL("create table {} (key int primary key, one vector({}), two real[])").format(table, one.shape[1])
        )
        for i in range(len(one)):
            query = sql.SQL("insert into {} values (%s, %s::real[]::vector, %s::real[])").format(table)
            connection.execute(query, (i, one[i].tolist(), two[i].tolist()))
    return postgres_url(folder, "both")


def two_in_sqlite(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    import apsw
    import sqlite_vec

    connection = apsw.Connection(str(folder / "two.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    columns = f"one float[{one.shape[1]}], two float[{two.shape[1]}]"
    connection.execute(f"create virtual table both using vec0(key integer primary key, {columns})")
    rows = ((i, one[i].tobytes(), two[i].tobytes()) for i in range(len(one)))
    connection.executemany("insert into both(key, one, two) values (?, ?, ?)", rows)
    connection.close()
    return f"sqlite://{folder}/two.db#both"


def two_in_duckdb(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    import duckdb

    table = pa.table({"id": np.arange(len(one)), "one": lists(one), "two": lists(two)})
    with duckdb.connect(str(folder / "two.duckdb")) as connection:
        connection.register("given", table)
        connection.execute('create table "both" as select * from given')
    return f"duckdb://{folder}/two.duckdb#both"


def two_in_parquet(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    pq.write_table(pa.table({"id": np.arange(len(one)), "one": lists(one), "two": lists(two)}), folder / "two.parquet")
    return f"file://{folder}/two.parquet"


def two_in_folder(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    (folder / "both").mkdir()
    two_in_parquet(folder / "both", one, two)
    return f"parquet://{folder}/both"


def two_in_hdf5(folder: Path, one: np.ndarray, two: np.ndarray) -> str:
    import h5py

    with h5py.File(folder / "two.h5", "w") as file:
        file["one"], file["two"], file["ids"] = one, two, np.arange(len(one))
    return f"hdf5://{folder}/two.h5"


PLAIN: dict[str, Any] = {"links": False, "annotates": False}
BARE = PLAIN | {"payload": False}
"""Files of vectors, with payload or without."""
NARROW = {"float16": "float32", "int8": "int8"}
KINDS = [
    Kind("lancedb", lambda folder, name: f"lancedb://{folder}/lance#{name}", named=two_in_lance),
    Kind("qdrant", lambda folder, name: f"qdrant://{folder}/qdrant#{name}", replaces=False, named=two_in_qdrant,
         numbers=HALF_WIDE),
    Kind("chroma", lambda folder, name: f"chroma://{folder}/chroma#{name}", numbers=WIDE),
    Kind("milvus", lambda folder, name: f"milvus://{folder}/milvus.db#{name}", named=two_in_milvus, numbers=WIDE),
    Kind("postgres", postgres_url, hostile=True, named=two_in_postgres, numbers=WIDE),
    Kind("sqlite", lambda folder, name: f"sqlite://{folder}/lite.db#{name}", hostile=True, named=two_in_sqlite,
         numbers=NARROW),
    Kind("duckdb", lambda folder, name: f"duckdb://{folder}/file.duckdb#{name}", hostile=True, named=two_in_duckdb,
         numbers=NARROW),
    Kind("faiss", lambda folder, name: f"faiss://{folder}/{name}.faiss", numbers=WIDE, **BARE),
    Kind("parquet folder", lambda folder, name: f"parquet://{folder}/{name}", named=two_in_folder, **PLAIN),
    Kind("hdf5", lambda folder, name: f"hdf5://{folder}/{name}.h5", named=two_in_hdf5, **PLAIN),
    Kind("parquet", lambda folder, name: f"{folder}/{name}.parquet", named=two_in_parquet, **PLAIN),
    Kind("safetensors", lambda folder, name: f"{folder}/{name}.safetensors", ids=("int",), **BARE),
    Kind("npz", lambda folder, name: f"{folder}/{name}.npz", **BARE),
    # text beside it: what is read from there is text
    Kind("npy", lambda folder, name: f"{folder}/{name}.npy", ids=("str", "uuid"), **BARE),
    Kind("jsonl", lambda folder, name: f"{folder}/{name}.jsonl", empty=False, numbers=WIDE, **PLAIN),
]  # fmt: skip
STREAMED = [kind for kind in KINDS if kind.name not in ("parquet", "safetensors", "npz", "npy", "jsonl")]
"""Those that are read into a scratch file; the others are opened where they lie."""


def rows_of(count: int, dimension: int = 8, *, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Numbers that every width keeps: small whole ones over 4, and no two rows alike."""
    numbers = np.random.default_rng(seed).integers(-100, 100, (count, dimension))
    return (numbers if dtype == "int8" else numbers / 4).astype(dtype)


def ids_of(kind: str, count: int) -> np.ndarray:
    """Ids of one kind, in no store's own order but growing: integers, text in several scripts, or UUIDs."""
    import uuid

    if kind == "int":
        return np.arange(count) * 3 + 5
    if kind == "uuid":
        values: list[Any] = [str(uuid.UUID(int=i * 7 + 1)) for i in range(count)]
    else:
        values = [f"{i:06d} {'äß 日本 🙂'[i % 7 :]} x" for i in range(count)]
    ids = np.empty(count, dtype=object)
    ids[:] = values
    return ids


def payload_of(count: int) -> pa.Table:
    return pa.table(
        {
            "title": [f"Größe „{i}“ 日本'\"\\ 🙂" for i in range(count)],
            "year": [2000 + i % 20 for i in range(count)],
            "score": [i / 8 for i in range(count)],
            "venue": [("ACL", "EMNLP", "NAACL")[i % 3] for i in range(count)],
        }
    )
