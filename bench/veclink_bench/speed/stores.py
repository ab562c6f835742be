"""How fast veclink reads a store, against a bare loop over the store's own client in the same run; and how much memory.

    veclink bench store-speed [STORE …] [--rows 200000] [--repeats 3] [--folder FOLDER] [--out FILE]

For each store a collection of `rows` x 384 float32 vectors with integer ids is written, then read by turns in fresh
processes: `bare`, a loop over the client that puts every batch of vectors into one numpy array in memory, and
`veclink`, `open_collection(url, payload=False)`, which writes them to the scratch file and maps it. Of each, the best
of `repeats` turns counts, and `ratio` is the rate of veclink over that of the bare loop. Opening is counted, imports
are not: each process reads 1,000 rows first. `cpu_seconds` are those of the bare loop and of veclink, all threads
together: veclink reads and writes at the same time where two cores are free. Peak resident memory is what the system
reports of each process, whole: interpreter, client and all; `beyond_mb` is veclink's peak less the bytes of the
scratch file. Results are added to the file, store by store. With --folder the collections stay there for another run.
The vectors are made here: rates do not depend on what they say.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

DIMENSION, SIZE, SMALL, MB = 384, 8192, 1000, 1_000_000
STORES = (
    "lancedb", "qdrant", "chroma", "milvus", "sqlite", "duckdb", "faiss", "parquet", "hdf5", "hdf5-chunked",
    "postgres",
)  # fmt: skip
ENDINGS = {
    "lancedb": "#x",
    "qdrant": "#x",
    "chroma": "#xxx",
    "milvus": ".db#x",
    "sqlite": ".db#x",
    "duckdb": ".db#x",
    "faiss": ".faiss",
    "hdf5": ".h5",
    "hdf5-chunked": ".h5",
}


def main() -> None:
    """Measure each store, print and write."""
    arguments = parser(__doc__)
    arguments.add_argument("stores", nargs="*", default=list(STORES), metavar="STORE")
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--folder", type=Path, help="Keep the collections here, and take those that are.")
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "stores.json")
    arguments.add_argument("--step", nargs=3, metavar=("WHAT", "URL", "ROWS"), help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.step:
        step(*given.step)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        os.environ["VECLINK_SCRATCH"] = f"{temporary}/scratch"
        for store in given.stores:
            result = measure(store, given.rows, given.repeats, folder / store)
            known = json.loads(given.out.read_text()) if given.out.exists() else {}
            known[store] = result
            given.out.write_text(json.dumps({name: known[name] for name in STORES if name in known}, indent=2) + "\n")
            print(store, json.dumps(result, indent=2), flush=True)


def measure(store: str, rows: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Rates and memory of one store, whose collections are in `folder` or are made there."""
    folder.mkdir(parents=True, exist_ok=True)
    server = None
    if store == "postgres":
        import pgserver

        server = pgserver.get_server(folder / "pg", cleanup_mode="stop")
        url = f"{server.get_uri()}&table=large"
    else:
        url = f"{store.partition('-')[0]}://{folder.absolute()}/large{ENDINGS.get(store, '')}"
    try:
        filled = folder / f"filled-{rows}"
        if not filled.exists():
            child("build", url, rows)
            child("build", small(url), SMALL)
            filled.touch()
        turns = [(child("bare", url, rows), child("veclink", url, rows)) for _ in range(repeats)]
    finally:
        if server is not None:
            server.cleanup()
    bare, ours = (min(turn[side][0] for turn in turns) for side in (0, 1))
    peak, scratch = max(turn[1][1] for turn in turns), rows * DIMENSION * 4
    return {
        "rows": rows,
        "dimension": DIMENSION,
        "repeats": repeats,
        "bare_rows_per_second": round(rows / bare),
        "veclink_rows_per_second": round(rows / ours),
        "ratio": round(bare / ours, 2),
        "cpu_seconds": [round(min(turn[side][2] for turn in turns), 2) for side in (0, 1)],
        "scratch_mb": round(scratch / MB),
        "bare_peak_mb": round(max(turn[0][1] for turn in turns) / MB),
        "peak_mb": round(peak / MB),
        "beyond_mb": round((peak - scratch) / MB),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def child(what: str, url: str, rows: int) -> tuple[float, int, float]:
    """Seconds, peak bytes and seconds of CPU of one step in a process of its own."""
    command = [sys.executable, "-m", "veclink_bench.speed.stores", "--step", what, url, str(rows)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{what} of {url} ended with exit code {process.returncode}.")
    seconds, cpu = map(float, told.split()[-2:])
    return seconds, usage.ru_maxrss * 1024, cpu


def step(what: str, url: str, rows: str) -> None:
    """One step; prints its seconds, and those of CPU. A read begins with a small one, so imports are not counted."""
    if what == "build":
        build(url, int(rows))
        print(0, 0)
        return
    for each, count in ((small(url), SMALL), (url, int(rows))):
        began, used = time.perf_counter(), time.process_time()
        if what == "bare":
            came = collected(BARE[each.partition("://")[0]](each), count)
        else:
            from veclink.stores.opening import open_collection

            came = len(open_collection(each, payload=False))
        assert came == count, f"{came} rows came of {each}"
    print(time.perf_counter() - began, time.process_time() - used)


def collected(batches: Iterator[Any], count: int) -> int:
    """How many rows came, after all were put into one array."""
    import numpy as np

    vectors, row = np.empty((count, DIMENSION), np.float32), 0
    for batch in batches:
        vectors[row : row + len(batch)] = batch
        row += len(batch)
    return row


def small(url: str) -> str:
    """The URL of the small collection beside that of the large one."""
    return url.replace("/large", "/small").replace("table=large", "table=small")


def build(url: str, rows: int) -> None:
    """The collection, by veclink's own writer; Chroma's with a cheap index, as reading does not use it."""
    import numpy as np

    from veclink.stores import open_store
    from veclink.stores.protocol import Batch

    rng = np.random.default_rng(0)

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, rows, SIZE):
            count = min(SIZE, rows - start)
            yield rng.standard_normal((count, DIMENSION), dtype=np.float32), np.arange(start, start + count)

    if url.startswith("chroma"):
        collection = chroma(url).create_collection(
            "xxx",
            embedding_function=None,
            configuration={"hnsw": {"space": "ip", "ef_construction": 2, "max_neighbors": 2, "sync_threshold": 20_000}},
        )
        for vectors, ids in parts():
            for part in (slice(0, 5000), slice(5000, None)):
                if len(ids[part]):
                    collection.add(ids=list(map(str, ids[part])), embeddings=vectors[part])
        return
    if url.startswith("hdf5") and "chunked" not in url:  # in one piece, as h5py writes by default
        import h5py

        with h5py.File(place(url), "w") as file:
            stored = file.create_dataset("vector", (rows, DIMENSION), "f4")
            file["id"] = np.arange(rows)
            for vectors, ids in parts():
                stored[ids[0] : ids[-1] + 1] = vectors
        return
    with open_store(url, write=True) as store:
        store.write(Batch(vectors, ids) for vectors, ids in parts())


def place(url: str) -> str:
    return url.partition("://")[2].partition("#")[0]


def bare_lancedb(url: str) -> Iterator[Any]:
    import lancedb

    for batch in lancedb.connect(place(url)).open_table("x").search().to_batches(batch_size=SIZE):
        yield batch.column("vector").flatten().to_numpy().reshape(-1, DIMENSION)


def bare_qdrant(url: str) -> Iterator[Any]:
    import numpy as np
    from qdrant_client import QdrantClient

    client, offset = QdrantClient(path=place(url)), None
    while True:
        points, offset = client.scroll("x", limit=SIZE, offset=offset, with_vectors=True, with_payload=False)
        yield np.array([point.vector for point in points], np.float32)
        if offset is None:
            return


def chroma(url: str) -> Any:
    import chromadb

    return chromadb.PersistentClient(place(url), settings=chromadb.Settings(anonymized_telemetry=False))


def bare_chroma(url: str) -> Iterator[Any]:
    import numpy as np

    collection, row = chroma(url).get_collection("xxx", embedding_function=None), 0
    while True:
        found = collection.get(limit=5000, offset=row, include=["embeddings"])
        if not found["ids"]:
            return
        row += len(found["ids"])
        yield np.asarray(found["embeddings"], np.float32)


def bare_milvus(url: str) -> Iterator[Any]:
    import numpy as np
    from pymilvus import MilvusClient

    client = MilvusClient(place(url))
    client.load_collection("x")
    pages = client.query_iterator("x", batch_size=SIZE, output_fields=["id", "vector"])
    while rows := pages.next():
        yield np.array([row["vector"] for row in rows], np.float32)


def bare_sqlite(url: str) -> Iterator[Any]:
    import apsw
    import numpy as np

    cursor = apsw.Connection(place(url)).execute("select id, vector from x")
    while rows := list(islice(cursor, SIZE)):
        yield np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(-1, DIMENSION)


def bare_duckdb(url: str) -> Iterator[Any]:
    import duckdb

    relation = duckdb.connect(place(url), read_only=True).sql("select id, vector from x")
    for batch in (getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch)(SIZE):
        yield batch.column(1).flatten().to_numpy().reshape(-1, DIMENSION)


def bare_faiss(url: str) -> Iterator[Any]:
    import faiss

    index: Any = faiss.read_index(place(url))
    inner = faiss.downcast_index(index.index)
    for start in range(0, index.ntotal, SIZE):
        yield inner.reconstruct_n(start, min(SIZE, index.ntotal - start))


def bare_parquet(url: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for file in sorted(Path(place(url)).rglob("*.parquet")):
        for batch in pq.ParquetFile(file, memory_map=True).iter_batches(batch_size=SIZE, columns=["id", "vector"]):
            yield batch.column("vector").flatten().to_numpy().reshape(-1, DIMENSION)


def bare_hdf5(url: str) -> Iterator[Any]:
    import h5py

    with h5py.File(place(url)) as file:
        for start in range(0, len(file["vector"]), SIZE):
            yield file["vector"][start : start + SIZE]


def bare_postgres(url: str) -> Iterator[Any]:
    import numpy as np
    import psycopg
    from pgvector.psycopg import register_vector

    with psycopg.connect(url.rpartition("&table=")[0]) as connection:
        register_vector(connection)
        with connection.cursor("bare", binary=True) as cursor:
            cursor.itersize = SIZE
            cursor.execute(f"select id, vector from {url.rpartition('=')[2]} order by id")
            while rows := cursor.fetchmany(SIZE):
                yield np.stack([getattr(row[1], "to_numpy", lambda row=row: row[1])() for row in rows])


BARE: dict[str, Callable[[str], Iterator[Any]]] = {
    "lancedb": bare_lancedb,
    "qdrant": bare_qdrant,
    "chroma": bare_chroma,
    "milvus": bare_milvus,
    "sqlite": bare_sqlite,
    "duckdb": bare_duckdb,
    "faiss": bare_faiss,
    "parquet": bare_parquet,
    "hdf5": bare_hdf5,
    "postgresql": bare_postgres,
}

if __name__ == "__main__":
    main()
