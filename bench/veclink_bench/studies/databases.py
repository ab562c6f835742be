"""SciFact in two databases: minilm in LanceDB, mpnet in PostgreSQL, linked by URL, the links written back to both.

    veclink bench databases --data DIR [--out bench/results/experiments/databases.json]

The links file has to be the same, byte for byte, as that of the .npy files, and a second export must change nothing.
PostgreSQL is the server of the package pgserver.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import veclink
from veclink.stores import open_store
from veclink.stores.protocol import Batch
from veclink.uses.exporting import annotate, export_links
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

CORPUS, SEEDS = "scifact", 30


def main() -> None:
    """Run it, print and write."""
    import pgserver

    arguments = parser(__doc__, data=True)
    arguments.add_argument("--out", type=Path, default=results_folder("experiments") / "databases.json")
    given = arguments.parse_args()
    folder = given.data / CORPUS
    ids = np.array([int(line) for line in (folder / "ids.txt").read_text().split()])
    files = [folder / f"{model}.npy" for model in ("minilm", "mpnet")]
    left, right = map(np.load, files)
    chosen = ids[np.random.default_rng(0).permutation(len(ids))[:SEEDS]]
    seeds = np.column_stack([chosen, chosen])

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        server = pgserver.get_server(place / "pg", cleanup_mode="stop")
        try:
            urls = (f"lancedb://{place}/lance#scifact", f"{server.get_uri()}&table=scifact")
            for url, vectors in zip(urls, (left, right), strict=True):
                with open_store(url, write=True) as store:
                    store.write([Batch(vectors, ids)])
            digests, seconds = {}, {}
            sides: dict[str, Any] = {
                "files": [veclink.open_collection(file, ids=ids) for file in files],
                "databases": urls,
            }
            for start, (a, b) in sides.items():
                began = time.perf_counter()
                links = veclink.link(a, b, seeds=seeds)
                seconds[start] = round(time.perf_counter() - began, 1)
                links.save(place / f"{start}.parquet")
                digests[start] = hashlib.sha256((place / f"{start}.parquet").read_bytes()).hexdigest()
            tables = (f"lancedb://{place}/lance#links", f"{server.get_uri()}&table=links")
            exports = {}
            for side, url, table in zip("ab", urls, tables, strict=True):
                for what, run in (
                    ("table", lambda table=table: export_links(links, table, write=True)),
                    ("notes", lambda url=url, side=side: annotate(links, url, side, write=True)),
                ):
                    first, second = run(), run()
                    exports[f"{url.partition(':')[0]} {what}"] = {"first": first.new, "second_changes": second.any}
        finally:
            server.cleanup()
    result = {
        "rows": len(ids),
        "dimensions": [left.shape[1], right.shape[1]],
        "seeds": SEEDS,
        "links": len(links),
        "right": int(np.sum(links.ids_a == links.ids_b)),
        "same_file": digests["files"] == digests["databases"],
        "sha256": digests,
        "seconds": seconds,
        "exports": exports,
    }
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
