"""A server that goes away while it is written to: one sentence, the older table, and afterwards the command works."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from faults.server import postgres
from own_process import command_alone
from store_kinds import ids_of, rows_of
from veclink.errors import StoreError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch

OLD, NEW = rows_of(20), rows_of(200, seed=1)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


def cut_all(server: str) -> int:
    """End every other connection to the server, as a restart of it would; how many there were."""
    with psycopg.connect(server) as connection:
        others = "pid <> pg_backend_pid() and datname = current_database()"
        query: Any = f"select count(pg_terminate_backend(pid)) from pg_stat_activity where {others}"
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def batches(server: str, cut_before: int) -> Iterator[Batch]:
    """Ten batches, and the connection is cut before one of them."""
    for number in range(10):
        if number == cut_before:
            assert cut_all(server)
        rows = slice(number * 20, number * 20 + 20)
        yield Batch(NEW[rows], ids_of("int", 200)[rows])


@pytest.mark.parametrize("cut_before", [0, 5, 9])
def test_a_table_whose_connection_is_cut_while_it_is_replaced_stays(server: str, cut_before: int) -> None:
    url = f"{server}&table=cut{cut_before}"
    with open_store(url, write=True) as store:
        store.write([Batch(OLD, ids_of("int", 20))])
    with open_store(url, write=True) as store, pytest.raises(StoreError, match="could not be written") as told:
        assert store.exists()  # connected before the cut
        store.write(batches(server, cut_before), replace=True)
    assert not re.search("[Tt]raceback", str(told.value))
    assert np.array_equal(open_collection(url).vectors, OLD)
    with open_store(url, write=True) as store:
        store.write(batches(server, -1), replace=True)
    assert np.array_equal(open_collection(url).vectors, NEW)


def test_a_command_whose_server_goes_away_ends_with_one_sentence(server: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", NEW)
    np.save(tmp_path / "b.npy", NEW)
    (tmp_path / "links.csv").write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(100)))
    stop = threading.Event()

    def keep_cutting() -> None:
        while not stop.wait(0.01):
            cut_all(server)

    cutter = threading.Thread(target=keep_cutting)
    cutter.start()
    try:
        given = [tmp_path / "a.npy", tmp_path / "b.npy", "--links", tmp_path / "links.csv", "--map", "procrustes"]
        code, said = command_alone("merge", *given, "-o", f"{server}&table=merged", "--yes")
    finally:
        stop.set()
        cutter.join()
    assert code == 1 and "Traceback" not in said, said
    assert said.splitlines()[-1].startswith("veclink: postgresql://"), said
