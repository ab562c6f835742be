"""What a Milvus Lite folder may say before its engine opens it: nothing that leads out of the folder, or loses rows.

The engine takes the folder's own word for which files hold the rows, deletes the others when it opens a collection,
maps what an index names, and sends texts to the server that an embedding function names, with the key of whoever runs
it. Where it cannot read which files hold the rows, it goes by an older list, and deletes what was added since.
"""

from __future__ import annotations

import json
import mmap
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from veclink.errors import InputError, StoreError, needed

MARK = "__veclink_"
"""What the names of collections have in them that are being written or replaced here."""
BM25 = ("BM25", 1)
"""The one function that only counts words: its name, and its number."""
_OTHER_FILE = re.compile(rb"ilod.{4}\0{4}", re.DOTALL)
"""In an index of FAISS: lists that are in another file ("ilod"), and how many, in eight bytes."""


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder that names files, servers or models outside it, or whose rows its engine would not find.

    Parameters
    ----------
    folder : Path
        The "file" of Milvus Lite; where it is not there, or none of ours to look into, nothing is checked.
    name : str
        What it is called in the sentence of an error.
    """
    for file in folder.rglob("schema.json"):
        _check_functions(_read(file), name)
    for file in folder.rglob("manifest.json*"):
        for path in _named_files(_read(file)):
            _check_path(path, name)
    for file in folder.rglob("*.idx"):
        _check_index(file, name)
    for file in folder.glob("collections/*/schema.json"):  # a collection is what has one
        if MARK not in file.parent.name:  # what a killed run left half-removed is removed whole
            _check_list(file.with_name("manifest.json"))


def damaged(file: Path) -> StoreError:
    """What is said of a file that describes the collection and cannot be read."""
    return StoreError(
        f"{file} is damaged or missing, and without it the rows cannot be told; restore it from a backup."
    )


def has_rows(collection: Path) -> bool:
    """Whether there are files of rows in the folder of a collection that are nowhere else.

    Before its first list, an engine that was killed has all rows in its log, too, and writes the files again.
    """
    begun = not any(collection.glob("manifest.json*")) and any((collection / "wal").glob("*.arrow"))
    return not begun and any((collection / "partitions").rglob("*.parquet"))


def _check_list(file: Path) -> None:
    """Refuse a list of the files with rows that the engine itself cannot read; it is asked without the older list."""
    if not has_rows(file.parent):
        return
    engine: Any = needed("milvus_lite.storage.manifest", "A Milvus Lite file", install="veclink[milvus]")
    with TemporaryDirectory(prefix="veclink-") as alone:
        try:
            shutil.copy(file, alone)
            engine.Manifest.load(alone)
        except Exception as error:  # whatever a changed list makes of the engine
            raise damaged(file) from error


def _read(file: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where it is damaged, which the engine does not read either."""
    with suppress(OSError, ValueError):
        described = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(described, dict):
            return described
    return {}


def _check_functions(schema: dict[str, Any], name: str) -> None:
    functions = schema.get("functions") or []
    kinds = [each.get("function_type") if isinstance(each, dict) else each for each in functions]
    for kind in kinds:
        if kind not in BM25:
            raise InputError(
                f"{name} has a function of the kind {kind!r}, which would send its texts to a server that it names; "
                "read it without a filter, or write to another store."
            )


def _named_files(manifest: dict[str, Any]) -> Iterator[str]:
    """The partitions and files that a manifest names."""
    partitions = manifest.get("partitions")
    if not isinstance(partitions, dict):
        return
    for partition, contents in partitions.items():
        yield partition
        if not isinstance(contents, dict):
            continue
        for files in contents.values():
            yield from (str(each) for each in files if isinstance(files, list))


def _check_path(path: str, name: str) -> None:
    given = PurePosixPath(path.replace("\\", "/"))
    if given.is_absolute() or ".." in given.parts or re.match("[A-Za-z]:", path):
        raise InputError(f"{name} names a file outside its folder, {path}; restore the folder from a backup.")


def _check_index(file: Path, name: str) -> None:
    if not file.stat().st_size:
        return
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _OTHER_FILE.search(content):
            raise InputError(f"{name} has an index, {file.name}, that names another file; remove that index.")
