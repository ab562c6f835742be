"""SQLite with sqlite-vec, through apsw: `sqlite:///file.db#table`.

Read are vec0 tables and ordinary ones whose vectors are blobs of float32 (or of int8, where the column's type says
so). Written are ordinary tables with the column types `float[d]` and `int8[d]`: sqlite-vec's functions take their
blobs as they are, and unlike vec0 tables they take any payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.errors import InputError, needed
from veclink.stores.arrow import VECTOR, choose_id, choose_vector, vectors_of
from veclink.stores.engines.clients import undo_killed_write
from veclink.stores.engines.sql import SqlStore, plain
from veclink.stores.protocol import Id, Note

_VEC0 = re.compile(r"\busing\s+vec0\s*\((?P<columns>.*)\)", re.IGNORECASE | re.DOTALL)
STEPS = 100_000
"""Steps of SQLite's machine after which Python is asked whether to go on: a view may never end, but Ctrl-C ends it."""
_NUMBERS = re.compile(r"\b(float|f32|int8|i8|bit)\s*\[\s*(\d+)\s*\]", re.IGNORECASE)


class SqliteStore(SqlStore):
    """A table of a SQLite file; without a column of ids its row ids are the ids."""

    needs = ("apsw", "SQLite", "veclink[sqlite]")
    _tables = """select name from sqlite_master t where type = 'table' and name not like 'sqlite_%' and not exists (
        select 1 from sqlite_master v where v.sql like '% using vec0%' and t.name like v.name || '\\_%' escape '\\')"""

    @cached_property
    def _connection(self) -> Any:
        apsw = self._package()
        vec: Any = needed("sqlite_vec", "SQLite", install="veclink[sqlite]")
        flags = apsw.SQLITE_OPEN_READONLY
        if self.writable:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        else:
            undo_killed_write(self._path)
        connection = apsw.Connection(str(self._path), flags=flags)
        connection.set_busy_timeout(10_000)
        connection.set_progress_handler(lambda: False, STEPS)
        connection.enable_load_extension(True)
        connection.load_extension(vec.loadable_path())
        connection.enable_load_extension(False)
        # the file's own views and triggers get harmless functions only, and cannot damage its tables
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        return connection

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(query, tuple(values)))

    @cached_property
    def _virtual(self) -> Any:
        """What stands between the brackets of a vec0 table; None for any other."""
        query = "select sql from sqlite_master where type in ('table', 'view') and name = ?"
        return _VEC0.search(self._run(query, [self._table])[0][0] or "")

    @cached_property
    def _columns(self) -> dict[str, str]:
        """The columns and their declared types; those of vec0 stand only in its definition."""
        rows = self._run("select name, type from pragma_table_xinfo(?) where hidden = 0", [self._table])
        if not rows or self._virtual is None:
            return {name: kind or "" for name, kind in rows}
        declared = {}
        for part in re.split(r",(?![^\[(]*[\])])", self._virtual["columns"]):
            words = part.strip().lstrip("+").split(None, 1)
            if len(words) == 2:
                declared[words[0].strip("\"'`[]")] = words[1]
        return {name: declared.get(name, "") for name, _ in rows}

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int8 if re.search("int8|i8", self._columns[self._vector].lower()) else np.float32)

    def _parts(self, query: str, values: list[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        order = " order by rowid" if self._has_rowid and self._virtual is None else ""
        cursor = self._connection.execute(query + order, values)
        while rows := list(islice(cursor, size)):
            yield rows

    def _decoded(self, value: Any) -> np.ndarray | None:
        return np.frombuffer(value, self.dtype) if isinstance(value, bytes) else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One transaction."""
        try:
            with self.errors("written"):
                self._connection.execute("begin immediate")
            yield
            with self.errors("written"):
                self._connection.execute("commit")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("rollback")

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self.alone():
            yield self._connection

    def _declared(self, field: Any, writer: Any) -> str:
        if field.name == VECTOR:
            kind = "int8" if str(field.type.value_type) == "int8" else "float"
            return f"{kind}[{field.type.list_size}] not null"
        if field.name != "id":
            return ""  # no affinity: values stay as they are
        return f"{'integer' if str(field.type) == 'int64' else 'text'} primary key not null"

    def _values(self, table: pa.Table, name: str) -> list[Any]:
        if name == VECTOR:
            vectors = vectors_of(table)
            kind = np.int8 if vectors.dtype == np.int8 else np.float32
            return [row.tobytes() for row in vectors.astype(kind, copy=False)]
        kept = (int, float, str, bytes, type(None))
        return [value if isinstance(value, kept) else str(value) for value in plain(table.column(name).to_pylist())]

    def _insert(self, writer: Any, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(names))
        writer.executemany(f"insert into {self._from} ({', '.join(names)}) values ({marks})", rows)

    def _note(self, writer: Any, text: str) -> None:
        """SQLite keeps no comments."""

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        if self._virtual is not None:
            raise InputError(
                f"{self.name} is a vec0 table, which takes no new columns; write a table of links instead."
            )
        super()._annotate(notes)

    @cached_property
    def _vectors(self) -> list[str]:
        """Columns whose type says vector, or else all blobs; and a column without a type, if one asks for it."""
        said = [name for name, kind in self._columns.items() if _NUMBERS.search(kind) and "bit" not in kind.lower()]
        found = said or [name for name, kind in self._columns.items() if kind.lower() == "blob"]
        wanted = self.address.vector
        return [*found, wanted] if wanted in self._columns and wanted not in found else found

    @cached_property
    def _vector(self) -> str:
        return choose_vector(self.address.vector, self._fields, self._vectors, self.name)

    @cached_property
    def _id(self) -> str | None:
        """The column of ids; the row ids where there is none."""
        if self.address.id is not None or "id" in self._columns:
            return choose_id(self.address.id, self._fields, self.name)
        keys = self._run("select name from pragma_table_xinfo(?) where pk > 0", [self._table])
        return keys[0][0] if len(keys) == 1 else "rowid" if self._has_rowid else None

    @cached_property
    def _has_rowid(self) -> bool:
        try:
            list(self._connection.execute(f"select rowid from {self._from} limit 1"))
        except Exception:
            return False
        return True
