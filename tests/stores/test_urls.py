"""URLs: those that people guess, names that try to be more than names, and passwords that are never told."""

from __future__ import annotations

import logging
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from scratch_left import left_in
from store_kinds import KINDS, Kind, ids_of, payload_of, rows_of
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import MissingExtra, VeclinkError, needed
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch
from veclink.stores.urls import parse_url
from veclink.uses.exporting import annotate, export_links

HOSTILE = [
    'x"; drop table other; --',
    "x'; drop table other; --",
    "Größe 日本",
    "a b.c",
    "select",
    "x`y",
    "%s {} %(a)s",
]


@pytest.mark.parametrize(
    ("url", "kind", "place", "table"),
    [
        ("lancedb:///data/db#papers", "lance", "/data/db", "papers"),
        ("lancedb://data/db?table=papers", "lance", "data/db", "papers"),
        ("qdrant:///data/q#papers", "qdrant", "/data/q", "papers"),
        ("chroma:///data/c#papers", "chroma", "/data/c", "papers"),
        ("milvus:///file.db#papers", "milvus", "/file.db", "papers"),
        ("sqlite:///file.db#my%20table", "sqlite", "/file.db", "my table"),
        ("faiss:///index.faiss", "faiss", "/index.faiss", None),
        ("duckdb:///x.duckdb#t", "duckdb", "/x.duckdb", "t"),
        ("hdf5:///x.h5#group", "hdf5", "/x.h5", "group"),
    ],
)
def test_urls_of_files_and_folders(url: str, kind: str, place: str, table: str | None) -> None:
    address = parse_url(url)
    assert (address.kind, str(address.path), address.table, address.host) == (kind, place, table, None)


@pytest.mark.parametrize(
    ("url", "kind", "host", "port", "table"),
    [
        ("qdrant://localhost:6333/papers", "qdrant", "localhost", 6333, "papers"),
        ("qdrant://h/papers?vector=title&tls=true", "qdrant", "h", None, "papers"),
        ("milvus://h:19530/papers", "milvus", "h", 19530, "papers"),
        ("chroma://h:8000/papers", "chroma", "h", 8000, "papers"),
        ("postgresql://me@h:5432/db?table=papers&vector=embedding&id=id", "postgres", "h", 5432, "papers"),
        ("postgres://h/db#papers?vector=embedding", "postgres", "h", None, "papers"),
    ],
)
def test_urls_of_servers(url: str, kind: str, host: str, port: int | None, table: str) -> None:
    address = parse_url(url)
    assert (address.kind, address.host, address.port, address.table, address.path) == (kind, host, port, table, None)


def links(count: int) -> Links:
    pairs = np.stack([np.arange(count)] * 2, axis=1)
    ids = ids_of("int", count)
    return Links(pairs, np.full(count, 0.5), Summary("span", count, count, count), ids_a=ids, ids_b=ids)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.hostile], ids=lambda kind: kind.name)
def test_hostile_names_are_names_and_nothing_else(tmp_path: Path, kind: Kind, name: str) -> None:
    other, url = kind.url(tmp_path, "other"), kind.url(tmp_path, quote(name))
    if kind.name == "postgres":
        url = kind.url(tmp_path, name)
    payload = payload_of(6).rename_columns([name, "year", "score", "venue"])
    for each in (other, url):
        with open_store(each, write=True) as store:
            store.write([Batch(rows_of(6), ids_of("int", 6), payload)], metadata={name: name})
    base, mark, table = url.partition("#")
    more = f"{'&' if '?' in base else '?'}where={quote(name + '=' + payload[name][2].as_py())}"
    assert np.array_equal(open_collection(f"{base}{more}{mark}{table}").vectors, rows_of(6)[2:3])
    assert len(open_collection(f"{base}{'&' if '?' in base else '?'}where=venue={quote(name)}{mark}{table}")) == 0
    annotate(links(6), url, "a", write=True)
    assert open_collection(url).payload.column_names[:1] == [name]
    linked = kind.url(tmp_path, "l " + name) if kind.name == "postgres" else kind.url(tmp_path, quote("l " + name))
    export_links(links(6), linked, write=True)
    assert not export_links(links(6), linked, write=True).any
    assert np.array_equal(open_collection(other).vectors, rows_of(6))


SECRET = "p@ss w/rd%"
REFUSED = [
    "qdrant://me:{}@127.0.0.1:1/papers",
    "milvus://me:{}@127.0.0.1:1/papers",
    "chroma://me:{}@127.0.0.1:1/papers",
    "postgresql://me:{}@127.0.0.1:1/db?table=papers",
    "postgresql://me@127.0.0.1:1/db?table=papers&password={}",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_refused_connection_is_one_sentence_without_the_password(
    url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], scratch: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(VeclinkError) as caught:
        open_collection(url.format(quote(SECRET, safe="")))
    told = str(caught.value)
    assert "127.0.0.1:1" in told and "could not be" in told and "\n" not in told and told.endswith(").")
    out, err = capfd.readouterr()
    for text in (told, caplog.text, out, err, repr(parse_url(url.format(quote(SECRET, safe=""))))):
        assert SECRET not in text and quote(SECRET, safe="") not in text
    assert left_in(scratch) == []


@pytest.mark.parametrize(
    ("package", "extra"),
    [
        ("lancedb", "lancedb"), ("qdrant_client", "qdrant"), ("chromadb", "chroma"), ("pymilvus", "milvus"),
        ("psycopg", "postgres"), ("apsw", "sqlite"), ("faiss", "faiss"), ("duckdb", "duckdb"), ("h5py", "hdf5"),
    ],
)  # fmt: skip
def test_a_store_whose_package_is_missing_names_its_extra(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    scheme = {"chroma": "chroma", "postgres": "postgresql"}.get(extra, extra)
    host = "h/db?table=t" if extra == "postgres" else "/x#t"
    with pytest.raises(MissingExtra, match=rf'pip install "veclink\[{extra}\]"'):
        open_store(f"{scheme}://{host}")
    with pytest.raises(MissingExtra):
        needed(package, "A test")
