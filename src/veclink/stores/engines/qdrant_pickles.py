"""The points of a local Qdrant folder are pickles: here they are read so that no code inside them ever runs.

A pickle can name any function of any package and have it called. The unpickler here knows plain values, UUIDs, dates
and the two classes that the client keeps points in, without their code; everything else is refused. qdrant-client
itself has no such limit, so `check_folder` looks at every point before the client opens a folder.
"""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
import uuid
from contextlib import closing
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from veclink.errors import InputError, StoreError
from veclink.stores.engines.local import undo_killed_write

EVERY_POINT = "SELECT rowid, id, point FROM points ORDER BY rowid DESC"
"""As the client asks for them: another query could be answered from an index that says something else."""


class _Model:
    """What the client's classes are read as: nothing of their code."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields = state["__dict__"]


class _Unsafe(pickle.UnpicklingError):
    """A pickle that names something which is not loaded."""


class _Plain(pickle.Unpickler):
    """Reads pickles of plain values and of the few kinds below, and refuses all else."""

    # whole names only: a name with dots in it would reach what these modules import
    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("qdrant_client.http.models.models", "PointStruct"): _Model,
        ("qdrant_client.http.models.models", "SparseVector"): _Model,
        ("builtins", "set"): set,
        ("uuid", "UUID"): uuid.UUID,
        ("datetime", "date"): date,
        ("datetime", "datetime"): datetime,
        ("datetime", "timedelta"): timedelta,
        ("datetime", "timezone"): timezone,
    }

    def find_class(self, module: str, name: str) -> Any:
        known = self._KNOWN.get((module, name))
        if known is None:
            raise _Unsafe(f"{module}.{name}")
        return known


def check_plain(data: bytes, name: str) -> None:
    """Refuse a pickle that holds anything but plain values; `name` is what it is called in the sentence of an error."""
    try:
        point = _Plain(io.BytesIO(data)).load()
        if not isinstance(point, _Model) or not {"id", "vector", "payload"} <= set(point.fields):
            raise ValueError("no point")
    except _Unsafe as error:
        raise InputError(
            f"{name} cannot be read safely: it holds something of the kind {error}, which no point needs and which "
            "could be code; do not open it with other programs either, and ask for the collection in another format."
        ) from None
    except Exception as error:  # a damaged pickle can raise anything
        raise InputError(f"{name} holds a point that is damaged ({error}); restore it from a backup.") from error


def collections_of(folder: Path, name: str) -> list[str]:
    """The collections that meta.json names."""
    file = folder / "meta.json"
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
        collections, aliases = dict(meta["collections"]), dict(meta.get("aliases") or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{file} is damaged ({error!r}), and it names the collections; restore it.") from error
    for each in (*collections, *aliases.values()):
        check_name(each, name)
    return list(collections)


def check_name(collection: str, name: str) -> None:
    """Refuse a collection whose name would lead out of the folder."""
    if collection in ("", ".", "..") or any(mark in collection for mark in "/\\\0"):
        raise InputError(f"{name} names a collection {collection!r}, which is no name inside a folder; rename it.")


def check_folder(folder: Path, collection: str | None, name: str) -> None:
    """Look at every point that the client would unpickle, and refuse the folder where one is not plain.

    `collection` is the one that is asked for; it need not be there. `name` is what the folder is called in the sentence
    of an error.
    """
    if collection is not None:
        check_name(collection, name)
    listed = collections_of(folder, name) if (folder / "meta.json").exists() else {}
    for each in listed:
        file = folder / "collection" / each / "storage.sqlite"
        if not file.exists():  # the client would make an empty one
            raise StoreError(f"{file} is missing, and with it the points; restore it from a backup.")
    # also those that meta.json does not name: the client loads what it finds where it makes a collection
    for file in sorted((folder / "collection").glob("*/storage.sqlite")):
        _check_points(file, name)


def _check_points(file: Path, name: str) -> None:
    undo_killed_write(file)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)) as storage:
            storage.execute("pragma trusted_schema = off")
            kinds = list(storage.execute("select type, rootpage from sqlite_master where lower(name) = 'points'"))
            if not kinds:
                return
            columns = storage.execute("select name from pragma_table_xinfo('points') where hidden = 0")
            # a view or a virtual table could answer differently each time it is asked
            table = [kind == "table" and page > 0 for kind, page in kinds] == [True]
            if not table or not {"id", "point"} <= {row[0] for row in columns}:
                raise StoreError(
                    f"{name} has a layout that is not known here; open it with qdrant-client if you trust it, "
                    "and write its points into a new folder."
                )
            for _, _, point in storage.execute(EVERY_POINT):
                check_plain(point, name)
    except sqlite3.Error as error:
        raise StoreError(f"{name} could not be read ({error}); restore {file.name} from a backup.") from None
