"""Every reader of veclink: what it reads when all is right, how that is changed, and who reads it then."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import reading, specimens
from fuzz.mutations import changed_json, changed_value, mutated

SHARED = 5_000
"""Cases of a process that several targets share; those with shorter lives have processes of their own."""


@dataclass(frozen=True)
class Target:
    """One reader.

    make:   writes what is right into an empty folder.
    mutate: changes a copy of it.
    run:    lets veclink read the changed copy; says how it ended, or raises.
    share:  how many of 1,000 cases it gets; engines that are slow to open get few.
    lives:  cases after which its process is replaced: some clients keep all they ever opened.
    """

    name: str
    make: Callable[[Path], Any]
    mutate: Callable[[Path, Random], None]
    run: Callable[[Path, Random], str]
    share: int = 40
    lives: int = SHARED


def some_bytes(folder: Path, rng: Random, pattern: str = "*", suffixes: tuple[str, ...] = ()) -> None:
    """Change one file of a folder, or now and then lose it."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file() and not path.is_symlink())
    files = [path for path in files if not suffixes or path.suffix in suffixes]
    chosen = rng.choice(files)
    if rng.random() < 0.01:
        chosen.unlink()
        return
    chosen.write_bytes(mutated(chosen.read_bytes(), rng))


def _npz(folder: Path, rng: Random) -> None:
    """One of the arrays in the zip file; with a sum that fits, so that the array itself is looked at."""
    if rng.random() < 0.4:
        some_bytes(folder, rng)
        return
    path = next(folder.glob("*.npz"))
    with zipfile.ZipFile(path) as archive:
        members = {each.filename: archive.read(each) for each in archive.infolist()}
    name = rng.choice(list(members))
    members[name] = mutated(members[name], rng)
    if rng.random() < 0.2:
        members[rng.choice(("scale.npy", "ids.npy", "x", "../x.npy"))] = _odd_array(rng)
    kind = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(path, "w", kind) as archive:
        for each, content in members.items():
            archive.writestr(each, content)


def _npy(folder: Path, rng: Random) -> None:
    if rng.random() < 0.2:
        next(folder.glob("*.npy")).write_bytes(_odd_array(rng))
    else:
        some_bytes(folder, rng)


def _odd_array(rng: Random) -> bytes:
    shape = rng.choice(((12, 4), (12,), (), (0, 4), (12, 0), (2, 3, 4), (12, 1)))
    kind = rng.choice(("f2", "f4", ">f8", "i1", "i8", "u8", "?", "c8", "U3", "S2", "M8[s]", "f4,i4", "V8", "O", "g"))
    held = io.BytesIO()
    with suppress(ValueError, TypeError):
        np.save(held, np.ones(shape).astype(kind), allow_pickle=True)
    return held.getvalue()


def _safetensors(folder: Path, rng: Random) -> None:
    """The header, with a length that fits it."""
    if rng.random() < 0.4:
        some_bytes(folder, rng)
        return
    path = next(folder.glob("*.safetensors"))
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = content[8:end]
    if rng.random() < 0.3:
        held = json.loads(header)
        texts = held.get("__metadata__") or {}
        held["__metadata__"] = {key: changed_json(text.encode(), rng).decode() for key, text in texts.items()}
        header = json.dumps(held).encode()
    else:
        header = changed_json(header, rng)
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[end:])


def _parquet(folder: Path, rng: Random) -> None:
    """A Parquet file with another value in it, or damaged."""
    if rng.random() < 0.5:
        some_bytes(folder, rng)
        return
    path = rng.choice(sorted(folder.rglob("*.parquet")))
    with suppress(pa.ArrowException):
        pq.write_table(_other_column(pq.read_table(path), rng), path, compression=rng.choice(("none", "zstd", "gzip")))


def _links_parquet(folder: Path, rng: Random) -> None:
    """The metadata or the columns of a links file, in a Parquet file that is sound."""
    path = folder / "links.parquet"
    table = pq.read_table(path)
    kind = rng.random()
    if kind < 0.3:
        some_bytes(folder, rng)
        return
    if kind < 0.8:
        held = json.loads(table.schema.metadata[b"veclink"])
        table = table.replace_schema_metadata({b"veclink": json.dumps(changed_value(held, rng)).encode()})
    else:
        table = _other_column(table, rng)
    with suppress(pa.ArrowException):
        pq.write_table(table, path)


def _other_column(table: pa.Table, rng: Random) -> pa.Table:
    name = rng.choice(table.column_names)
    at = table.column_names.index(name)
    if rng.random() < 0.3:
        return table.drop_columns([name])
    values = table.column(name).to_pylist()
    values[rng.randrange(len(values))] = changed_value(values[0], rng)
    with suppress(pa.ArrowException, OverflowError, UnicodeEncodeError):
        return table.set_column(at, name, pa.array(values))
    return table.set_column(at, name, pa.nulls(table.num_rows))


def _sqlite(folder: Path, rng: Random, *, bytes_of_ten: int = 4) -> None:
    """A value in some row of some table, or damaged pages."""
    path = rng.choice(sorted(each for each in folder.rglob("*") if each.suffix in (".db", ".sqlite", ".sqlite3")))
    if rng.random() < bytes_of_ten / 10:
        path.write_bytes(mutated(path.read_bytes(), rng))
        return
    with sqlite3.connect(path) as base, suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
        tables = [name for (name,) in base.execute("select name from sqlite_master where type = 'table'")]
        table = rng.choice(tables)
        names = [row[1] for row in base.execute(f'pragma table_info("{table}")')]
        name = rng.choice(names)
        rows = list(base.execute(f'select rowid, "{name}" from "{table}"'))
        if rng.random() < 0.1:
            harm = ('drop table "{}"', 'delete from "{}"', 'alter table "{}" drop "{}"')
            base.execute(rng.choice(harm).format(table, name))
        elif rows:
            row, value = rng.choice(rows)
            base.execute(f'update "{table}" set "{name}" = ? where rowid = ?', (_other(value, rng), row))
    base.close()


def _other(value: Any, rng: Random) -> Any:
    """Another value for a cell: its bytes or its JSON changed, or of another kind."""
    if isinstance(value, bytes) and rng.random() < 0.7:
        return mutated(value, rng)
    if isinstance(value, str) and rng.random() < 0.7:
        changed = changed_json(value.encode(), rng)
        return mutated(changed, rng).decode("utf-8", "replace") if changed == value.encode() else changed.decode()
    return rng.choice((None, 0, -1, 2**62, 1.5, 1e308, "", "x", b"", b"\0" * 16, "x" * 4000))


def _faiss(folder: Path, rng: Random) -> None:
    """Damaged indexes of several kinds."""
    path = folder / "papers.faiss"
    if rng.random() < 0.7:
        import faiss

        made = faiss.index_factory(4, rng.choice(("Flat", "IDMap,Flat", "IVF2,Flat", "SQ8", "PQ2x2", "HNSW4", "LSH")))
        made.train(specimens.vectors())
        with suppress(RuntimeError):
            made.add(specimens.vectors())
        faiss.write_index(made, str(path))
        (folder / "papers.ids.txt").unlink(missing_ok=True)
        (folder / "papers.ids.json").unlink(missing_ok=True)
    some_bytes(folder, rng, "papers.faiss" if path.exists() else "*")


def _qdrant(folder: Path, rng: Random) -> None:
    """What meta.json says, a pickled point, or damaged pages."""
    if rng.random() < 0.4:
        meta = folder / "qdrant" / "meta.json"
        meta.write_bytes(changed_json(meta.read_bytes(), rng))
    else:
        _sqlite(folder, rng, bytes_of_ten=3)


def _store(
    name: str, place: str, mutate: Callable[[Path, Random], None] = some_bytes, *, whole: bool = True, **more: Any
) -> Target:
    """A collection in a file or a store: read without and with its payload."""

    def make(folder: Path) -> None:
        specimens.write(place.format(folder), whole=whole)

    return Target(name, make, mutate, lambda folder, rng: reading.collection(place.format(folder), rng, whole), **more)


def _milvus_made(folder: Path) -> None:
    from harmful_stores import make_milvus

    make_milvus(folder)
    for lock in folder.rglob("*.sock"):
        lock.unlink()


TARGETS = [
    _store("npy", "{}/papers.npy", _npy, share=70, whole=False),
    _store("npz", "{}/papers.npz", _npz, share=60, whole=False),
    _store("safetensors", "{}/papers.safetensors", _safetensors, share=70, whole=False),
    _store("jsonl", "{}/papers.jsonl", share=60),
    _store("parquet", "{}/papers.parquet", _parquet, share=80),
    _store("parquet folder", "parquet://{}/papers", _parquet, share=60),
    _store("hdf5", "hdf5://{}/papers.h5", share=50),
    _store("faiss", "faiss://{}/papers.faiss", _faiss, share=20, whole=False),
    _store("sqlite", "sqlite://{}/lite.db#papers", _sqlite, share=50),
    _store("duckdb", "duckdb://{}/file.duckdb#papers", share=6),
    _store("qdrant", "qdrant://{}/qdrant#papers", _qdrant, share=40, lives=1_000, whole=False),
    _store("lancedb", "lancedb://{}/lance#papers", share=4, lives=500),
    _store("chroma", "chroma://{}/chroma#papers", _sqlite, share=1, lives=50),
    Target(
        "milvus",
        _milvus_made,
        lambda folder, rng: some_bytes(folder, rng, suffixes=(".json", ".parquet")),
        lambda folder, rng: reading.collection(f"milvus://{folder}/lite.db#papers", rng, True),
        share=20,
        lives=500,
    ),
    Target("seeds", specimens.other_side, lambda f, r: some_bytes(f, r, "pairs.csv"), reading.pairs, share=80),
    Target("ids", specimens.with_ids, lambda f, r: some_bytes(f, r, "papers.ids.*"), reading.ids, share=50),
    Target("links csv", specimens.links_csv, some_bytes, reading.links, share=25),
    Target("links parquet", specimens.links_parquet, _links_parquet, reading.links, share=25),
    Target("journal", specimens.journal, some_bytes, reading.journal, share=40),
    Target("payload", specimens.payload_file, some_bytes, reading.payload, share=40),
    Target("translator", specimens.translator, _safetensors, reading.translator, share=30),
    Target("checkpoint", specimens.checkpoint, _npz, reading.checkpoint, share=40),
    Target("url", lambda folder: None, lambda folder, rng: None, reading.url, share=25),
]
BY_NAME = {target.name: target for target in TARGETS}


def copied(specimen: Path, folder: Path) -> None:
    """A fresh copy of what is right."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(specimen, folder)
