"""A file that names other files, servers or variables gets nothing from them: it is refused, and says what to do."""

from __future__ import annotations

import atexit
import json
import shutil
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from harmful_stores import ROWS, make_milvus, other_side, reading, run
from own_process import alone, command_alone
from store_kinds import POSTGRES, rows_of
from veclink.errors import StoreError
from veclink.stores import open_store
from veclink.stores.opening import open_collection

SECRET = 4711.0
"""A number that is in the private file only."""


def secret_rows() -> np.ndarray:
    return np.full((ROWS, 8), SECRET, np.float32)


def refused(url: str, folder: Path) -> str:
    """Give every command that reads; all refuse, and nothing of the secret is printed or written."""
    said = ""
    for command in reading(url, folder):
        code, said = run(*command)
        assert code == 1 and "Traceback" not in said, (command, said)
        assert "4711" not in said
        assert not (folder / "merged.parquet").exists() and not (folder / "out.csv").exists()
    return said


@pytest.mark.parametrize("source", ["read_csv('{}')", "'{}'", "read_text('{}')", "glob('{}')"])
def test_a_view_of_duckdb_reads_no_other_file(tmp_path: Path, source: str) -> None:
    import duckdb

    private = tmp_path / "private.csv"
    private.write_text("x\n" + f"{SECRET}\n" * ROWS)
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        place = source.format(private)
        connection.execute(f"create view papers as select [1.0, {SECRET}]::float[2] as vector, * from {place}")
    assert "disabled by configuration" in refused(f"duckdb://{tmp_path}/db.duckdb#papers", tmp_path)


def test_what_duckdb_may_reach_cannot_be_changed(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute("create table papers as select 1 as id, [1.0, 2.0]::float[2] as vector")
    with open_store(f"duckdb://{tmp_path}/db.duckdb#papers") as store:
        opened: Any = store
        connection = opened._connection
        settings = dict(connection.execute("select name, value from duckdb_settings()").fetchall())
        with pytest.raises(duckdb.Error, match="locked"):
            connection.execute("set enable_external_access = true")
    shut = ("enable_external_access", "autoload_known_extensions", "autoinstall_known_extensions")
    assert {settings[name] for name in (*shut, "allow_persistent_secrets", "python_enable_replacements")} == {"false"}


def private_hdf5(folder: Path) -> Path:
    import h5py

    with h5py.File(folder / "private.h5", "w") as file:
        file.create_dataset("vectors", data=secret_rows(), chunks=True)
    return folder / "private.h5"


def by_link(file: Any, private: Path) -> None:
    import h5py

    file["vectors"] = h5py.ExternalLink(str(private), "/vectors")


def by_two_links(file: Any, private: Path) -> None:
    import h5py

    file["elsewhere"] = h5py.ExternalLink(str(private), "/")
    file.create_group("papers")["vectors"] = h5py.SoftLink("/elsewhere/vectors")


def by_storage(file: Any, private: Path) -> None:
    raw = private.with_suffix(".raw")
    secret_rows().tofile(raw)
    file.create_dataset("vectors", (ROWS, 8), "f4", external=[(str(raw), 0, secret_rows().nbytes)])


def by_parts(file: Any, private: Path) -> None:
    import h5py

    layout = h5py.VirtualLayout((ROWS, 8), "f4")
    layout[:] = h5py.VirtualSource(str(private), "vectors", (ROWS, 8))
    file.create_virtual_dataset("vectors", layout)


@pytest.mark.parametrize(
    ("way", "table"),
    [
        (by_link, ""),
        (by_link, "#vectors"),
        (by_two_links, "#papers"),
        (by_two_links, "#papers/vectors"),
        (by_two_links, "#elsewhere"),
        (by_two_links, "#elsewhere/vectors"),
        (by_storage, ""),
        (by_storage, "#vectors"),
        (by_parts, ""),
        (by_parts, "#vectors"),
    ],
)
def test_an_hdf5_file_reads_no_other_file(tmp_path: Path, way: Any, table: str) -> None:
    import h5py

    with h5py.File(tmp_path / "papers.h5", "w") as file:
        way(file, private_hdf5(tmp_path))
    refused(f"hdf5://{tmp_path}/papers.h5{table}", tmp_path)


def faiss_index(folder: Path, *, numbered: bool) -> Path:
    """An index whose vectors are in a private file."""
    import faiss

    inside = faiss.IndexIVFFlat(faiss.IndexFlatL2(8), 8, 2)
    inside.train(secret_rows())
    index = faiss.IndexIDMap2(inside) if numbered else inside
    if numbered:
        index.add_with_ids(secret_rows(), np.arange(ROWS) + 7)
    else:
        index.add(secret_rows())
    lists = faiss.OnDiskInvertedLists(inside.nlist, inside.code_size, str(folder / "private.ivfdata"))
    lists.merge_from_1(inside.invlists)
    inside.replace_invlists(lists, False)
    faiss.write_index(index, str(folder / "papers.faiss"))
    return folder / "papers.faiss"


@pytest.mark.parametrize("numbered", [False, True])
def test_an_index_of_faiss_reads_no_other_file(tmp_path: Path, numbered: bool) -> None:
    path = faiss_index(tmp_path, numbered=numbered)
    for command in reading(f"faiss://{path}", tmp_path):
        code, said = command_alone(*command)  # reading lists that are not there ended the process
        assert code == 1, (command, said)
        assert "keeps its vectors in another file" in said
        assert not (tmp_path / "merged.parquet").exists() and not (tmp_path / "out.csv").exists()


def changed(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server that keeps what it is sent."""
    heard: list[bytes] = []

    class Keeping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_error(400)

    server = HTTPServer(("127.0.0.1", 0), Keeping)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()


# Milvus Lite holds a folder until its process ends, so each command has a process of its own
@cache
def milvus_papers() -> Path:
    """A folder of Milvus Lite, to be copied."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    code, said = alone(make_milvus, folder)
    assert code == 0, said
    return folder / "lite.db"


def milvus_folder(folder: Path) -> Path:
    shutil.copytree(milvus_papers(), folder / "lite.db")
    return folder / "lite.db" / "collections" / "papers"


def test_a_milvus_folder_sends_nothing_to_the_server_it_names(
    tmp_path: Path, listener: tuple[str, list[bytes]]
) -> None:
    server, heard = listener
    function = {
        "name": "send",
        "function_type": 2,
        "input_field_names": ["title"],
        "output_field_names": ["vector"],
        "params": {"provider": "openai", "api_key": "none", "base_url": server, "dimensions": 8},
    }
    changed(milvus_folder(tmp_path) / "schema.json", functions=[function])
    _, _, links = other_side(tmp_path)
    url = f"milvus://{tmp_path}/lite.db#papers"
    code, said = command_alone("cut", links, "-o", url, "--annotate", "a", "--yes")
    assert not heard
    assert code == 1 and "would send its texts to a server" in said


@pytest.mark.parametrize("where", ["", "?where=id>=0"])
def test_a_milvus_folder_reads_no_file_outside_it(tmp_path: Path, where: str) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "private").mkdir()
    private = milvus_folder(tmp_path / "private")
    (rows,) = private.rglob("*.parquet")
    manifest = milvus_folder(tmp_path / "ours") / "manifest.json"
    partitions = {"_default": {"data_files": [f"../../../../../../{rows.relative_to(tmp_path)}"], "delta_files": []}}
    changed(manifest, partitions=partitions)
    code, said = command_alone("inspect", f"milvus://{tmp_path}/ours/lite.db#papers{where}")
    assert code == 1 and ("outside its folder" in said or "not of this collection" in said), said


def test_an_index_in_a_milvus_folder_names_no_other_file(tmp_path: Path) -> None:
    folder = milvus_folder(tmp_path)
    (index,) = folder.rglob("*.idx")
    index.write_bytes(faiss_index(tmp_path, numbered=False).read_bytes())
    code, said = command_alone("inspect", f"milvus://{tmp_path}/lite.db#papers?where=id>=0")
    assert code == 1 and "that names another file; remove that index" in said


def test_views_of_sqlite_get_harmless_functions_only(tmp_path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(tmp_path / "db.db"))
    connection.execute("create table kept (id integer primary key, vector float[8])")
    connection.executemany("insert into kept values (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows_of(9))))
    connection.execute("create view papers as select id, vector from kept")
    connection.execute("create view harm as select id, vector, load_extension('x') as said from kept")
    connection.close()
    assert len(open_collection(f"sqlite://{tmp_path}/db.db#papers?vector=vector")) == 9
    with pytest.raises(StoreError, match="unsafe use of load_extension"):
        open_collection(f"sqlite://{tmp_path}/db.db#harm?vector=vector")
    with open_store(f"sqlite://{tmp_path}/db.db#kept") as store:
        kept: Any = store
        opened = kept._connection
        assert not opened.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1)
        assert opened.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1)


def test_reading_a_view_of_postgresql_changes_nothing(tmp_path: Path) -> None:
    import psycopg

    name = f"harm{abs(hash(tmp_path.name))}"
    with psycopg.connect(POSTGRES["url"]) as connection:
        connection.execute(f"create table {name}_log (x int)")
        body = f"begin insert into {name}_log values (1); return '[1,2]'::vector; end"
        connection.execute(f"create function {name}_f() returns vector language plpgsql as $${body}$$")
        connection.execute(f"create view {name} as select 1 as id, {name}_f() as vector")
    with pytest.raises(StoreError, match="read-only transaction"):
        open_collection(f"{POSTGRES['url']}&table={name}")
    with psycopg.connect(POSTGRES["url"]) as connection:
        assert connection.execute(f"select count(*) from {name}_log").fetchone() == (0,)
