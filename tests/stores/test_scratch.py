"""Large and interrupted reads: every row once, and no trace left behind."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from scratch_left import left_in
from store_kinds import POSTGRES, STREAMED, Kind, ids_of, rows_of
from veclink.errors import StoreError
from veclink.progress import Progress
from veclink.stores import open_store
from veclink.stores.opening import open_collection, read_store
from veclink.stores.protocol import Batch

MANY, SOME = 50_000, 20_000
SLOW = ("qdrant", "chroma", "milvus")
"""Engines that write a few thousand rows a second."""


def written(url: str, vectors: np.ndarray, ids: np.ndarray, size: int = 8192) -> None:
    with open_store(url, write=True) as store:
        batches = (Batch(vectors[i : i + size], ids[i : i + size]) for i in range(0, len(vectors), size))
        store.write(batches, replace="qdrant" not in url)


@pytest.mark.parametrize("kind", STREAMED, ids=lambda kind: kind.name)
def test_many_rows_come_whole_also_after_a_read_that_was_stopped(tmp_path: Path, kind: Kind, scratch: Path) -> None:
    many = SOME if kind.name in SLOW else MANY
    vectors, ids = rows_of(many), ids_of("int", many)
    url = kind.url(tmp_path, "many")
    written(url, vectors, ids)
    seen: list[Progress] = []

    def stop(now: Progress) -> None:
        seen.append(now)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_collection(url, progress=stop)
    assert seen[-1].of == many and seen[-1].rows_per_second > 0 and left_in(scratch) == []
    read = open_collection(url)
    assert read.ids is not None and np.array_equal(read.ids, ids)
    assert isinstance(read.vectors, np.memmap) and np.array_equal(read.vectors, vectors)
    assert left_in(scratch) == []  # the map holds the file; it has no name


def test_a_server_that_goes_away_is_one_sentence(tmp_path: Path) -> None:
    import psycopg

    url = f"{POSTGRES['url']}&table={tmp_path.name}"
    written(url, rows_of(1000), ids_of("int", 1000))

    def end_connections(now: Progress) -> None:
        with psycopg.connect(POSTGRES["url"]) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
                "and backend_type = 'client backend'"
            )

    with pytest.raises(StoreError, match=r"^postgresql://.* could not be read \(.+\)\.$"), open_store(url) as store:
        read_store(store, progress=end_connections, size=100)
    assert np.array_equal(open_collection(url).vectors, rows_of(1000))


def test_a_table_with_gaps_in_its_row_ids_is_read_whole(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/lite.db#papers"
    written(url, rows_of(500), ids_of("int", 500))
    connection = apsw.Connection(str(tmp_path / "lite.db"))
    connection.execute("delete from papers where rowid in (1, 2, 77) or rowid > 490")
    for more in (
        None,
        "insert into papers(rowid, id, vector) select 9000000000000000000, -1, vector from papers limit 1",
    ):
        if more is not None:  # row ids that say nothing of how many there are
            connection.execute(more)
        left = [each for (each,) in connection.execute("select id from papers order by rowid")]
        read = open_collection(url)
        assert read.ids.tolist() == left and len(read.vectors) == len(left)
    connection.close()
