"""SQLite with sqlite-vec, through apsw: `sqlite:///file.db#table`.

Read are vec0 tables and ordinary ones whose vectors are blobs of float32 (or of int8, where the column's type says
so). Written are ordinary tables with the column types `float[d]` and `int8[d]`: sqlite-vec's functions take their
blobs as they are, and unlike vec0 tables they take any payload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from veclink.data.ids import as_ids
from veclink.errors import InputError, named, needed
from veclink.stores.arrow import records_of, table_of_columns
from veclink.stores.engines.hot_journal import undo_killed_write
from veclink.stores.engines.sql import SqlStore, quoted
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id

_VEC0 = re.compile(r"\busing\s+vec0\s*\((?P<columns>.*)\)", re.IGNORECASE | re.DOTALL)
STEPS = 100_000
"""Steps of SQLite's machine after which Python is asked whether to go on: a view may never end, but Ctrl-C ends it."""
ROLLED_BACK = "cannot rollback - no transaction is active"
_NUMBERS = re.compile(r"\b(float|f32|int8|i8|bit)\s*\[\s*(\d+)\s*\]", re.IGNORECASE)


class SqliteStore(SqlStore):
    """A table of a SQLite file; without a column of ids its row ids are the ids."""

    needs = ("apsw", "SQLite", "veclink[sqlite]")

    @cached_property
    def _connection(self) -> Any:
        apsw = self._package()
        vec: Any = needed("sqlite_vec", "SQLite", install="veclink[sqlite]")
        flags = apsw.SQLITE_OPEN_READONLY
        if self.writable:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        elif not self._path.is_file():
            raise InputError(f"{self.name} does not exist; check the name.")
        else:
            undo_killed_write(self._path)
        with self.errors("opened"):
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

    @contextmanager
    def errors(self, done: str = "read") -> Iterator[None]:
        """As for every store. Where SQLite has rolled back by itself, the error before the vain second try is told."""
        with super().errors(done):
            try:
                yield
            except Exception as error:
                if ROLLED_BACK not in str(error) or error.__context__ is None:
                    raise
                raise error.__context__ from None

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.errors():
            return list(self._connection.execute(query, tuple(values)))

    @cached_property
    def _table(self) -> str:
        if self.address.table is not None:
            return self.address.table
        tables = dict(
            self._run("select name, sql from sqlite_master where type = 'table' and name not like 'sqlite_%'")
        )
        hidden = tuple(f"{name}_" for name, text in tables.items() if text and _VEC0.search(text))
        return self._only_one((name for name in tables if not name.startswith(hidden)), "table")

    @property
    def _from(self) -> str:
        return quoted(self._table)

    @property
    def _key(self) -> str:
        return "rowid" if self._id is None else quoted(self._id)

    @cached_property
    def _definition(self) -> str:
        query = "select sql from sqlite_master where type in ('table', 'view') and name = ?"
        return self._run(query, [self._table])[0][0] or ""

    @cached_property
    def _columns(self) -> dict[str, str]:
        """The columns and their declared types; those of vec0 stand only in its definition."""
        rows = self._run("select name, type from pragma_table_xinfo(?) where hidden = 0", [self._table])
        virtual = _VEC0.search(self._definition)
        if virtual is None:
            return {name: kind or "" for name, kind in rows}
        declared = {}
        for part in re.split(r",(?![^\[(]*[\])])", virtual["columns"]):
            words = part.strip().lstrip("+").split(None, 1)
            if len(words) == 2:
                declared[words[0].strip("\"'`[]")] = words[1]
        return {name: declared.get(name, "") for name, _ in rows}

    @cached_property
    def _virtual(self) -> bool:
        return _VEC0.search(self._definition) is not None

    def exists(self) -> bool:
        query = "select count(*) from sqlite_master where type in ('table', 'view') and name = ?"
        return bool(self._run(query, [self._table])[0][0])

    @cached_property
    def _shape(self) -> tuple[int, np.dtype]:
        kind = self._columns[self._vector]
        declared = _NUMBERS.search(kind)
        integers = "int8" in kind.lower() or "i8" in kind.lower()
        dtype = np.dtype(np.int8 if integers else np.float32)
        if declared is not None:
            return int(declared[2]), dtype
        column, table = quoted(self._vector), self._from
        rows = self._run(f"select typeof({column}), length({column}) from {table} where {column} is not null limit 1")
        if rows and (rows[0][0] != "blob" or rows[0][1] < dtype.itemsize):
            raise InputError(
                f"{self.name} holds no vectors in {self._vector!r}, but {rows[0][0]}; name a column of blobs."
            )
        if not rows and self._run(f"select 1 from {table} limit 1"):
            raise InputError(f"{self.name} has no vector in {self._vector!r}: every row is empty.")
        return (rows[0][1] // dtype.itemsize if rows else 0), dtype

    def at_most(self) -> int | None:
        """The span of the row ids, where as many rows would fit into the file; counting reads all of it."""
        if self.address.where or self._virtual or not self._has_rowid:
            return None
        table = self._from
        ends = self._run(f"select (select min(rowid) from {table}), (select max(rowid) from {table})")[0]
        span = 0 if ends[0] is None else ends[1] - ends[0] + 1
        dimension, dtype = self._shape
        return span if span * dimension * dtype.itemsize <= self._path.stat().st_size else None

    @property
    def _makes_rows(self) -> bool:
        return self._run("select type from sqlite_master where name = ?", [self._table]) != [("table",)]

    def dimension(self) -> int:
        return self._shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self._shape[1]

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        others = [name for name in self._columns if payload and name not in (self._vector, self._id, *self._vectors)]
        where, values = self._where
        ordered = self._has_rowid and not self._virtual
        if after is not None:
            where, values = f"{where} {'and' if where else 'where'} rowid > ?", [*values, after]
        chosen = ", ".join([quoted(self._vector), self._key, "rowid" if ordered else "null", *map(quoted, others)])
        order = " order by rowid" if ordered else ""
        with self.errors():
            cursor = self._connection.execute(f"select {chosen} from {self._from}{where}{order}", values)
            row = 0
            while rows := list(islice(cursor, size)):
                yield self._batch(rows, others, row)
                row += len(rows)

    def _batch(self, rows: list[tuple[Any, ...]], others: list[str], start: int) -> Batch:
        dimension, dtype = self._shape
        columns = list(zip(*rows, strict=True))
        width = dimension * dtype.itemsize
        if set(map(type, columns[0])) != {bytes} or set(map(len, columns[0])) != {width}:
            wrong = [start + row for row, b in enumerate(columns[0]) if not (isinstance(b, bytes) and len(b) == width)]
            raise InputError(
                f"{self.name} has no vector of {dimension:,} numbers ({width:,} bytes) in row {named(wrong)}; fill it."
            )
        vectors = np.frombuffer(b"".join(columns[0]), dtype).reshape(len(rows), dimension)
        return Batch(vectors, as_ids(columns[1], self.name), table_of_columns(columns[3:], others), columns[2][-1])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """As for every store, and in one transaction."""
        if self._is_alone:
            yield
            return
        with super().alone():
            with self.errors("written"):
                self._connection.execute("begin immediate")
            try:
                yield
                with self.errors("written"):
                    self._connection.execute("commit")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        integers = first.vectors.dtype == np.int8
        with self._connection:  # whole or not at all
            self._connection.execute(f"drop table if exists {self._from}")
            names: list[str] = []
            for batch in batches:
                numbers = batch.vectors.astype(np.int8 if integers else np.float32, copy=False)
                table = records_of(batch)
                if not names:
                    names = table.column_names
                    kind = f"{'int8' if integers else 'float'}[{numbers.shape[1]}]"
                    parts = [self._declared(name, kind, first) for name in names]
                    self._connection.execute(f"create table {self._from} ({', '.join(parts)})")
                    insert = (
                        f"insert into {self._from} ({', '.join(map(quoted, names))}) "
                        f"values ({', '.join('?' * len(names))})"
                    )
                if table.column_names != names:
                    raise InputError("Later rows have other fields than the first ones; give all the same.")
                columns = [
                    [row.tobytes() for row in numbers]
                    if name == "vector"
                    else map(_value, table.column(name).to_pylist())
                    for name in names
                ]
                self._connection.executemany(insert, zip(*columns, strict=True))
        self._forget()

    @staticmethod
    def _declared(name: str, kind: str, first: Batch) -> str:
        if name == "vector":
            return f"{quoted(name)} {kind} not null"
        if name != "id":
            return quoted(name)  # no affinity: values stay as they are
        whole = first.ids is not None and first.ids.dtype != object
        return f"{quoted(name)} {'integer' if whole else 'text'} primary key not null"

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        table = self._from
        with self.errors("written"), self._connection:
            columns = "a not null, b not null, probability real not null, primary key (a, b)"
            self._connection.execute(f"create table if not exists {table} ({columns})")
            rows = ((a, b, p) for (a, b), p in changed.items())
            self._connection.executemany(f"insert or replace into {table} (a, b, probability) values (?, ?, ?)", rows)
            self._connection.executemany(f"delete from {table} where a = ? and b = ?", removed)
        self._forget()

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        if self._virtual:
            raise InputError(
                f"{self.name} is a vec0 table, which takes no new columns; write a table of links instead."
            )
        table = self._from
        with self.errors("written"), self._connection:
            if LINKED not in self._columns:
                self._connection.execute(f"alter table {table} add column {quoted(LINKED)}")
                self._connection.execute(f"alter table {table} add column {quoted(PROBABILITY)} real")
            self._connection.executemany(
                f"update {table} set {quoted(LINKED)} = ?, {quoted(PROBABILITY)} = ? where {self._key} = ?",
                ((*(value or (None, None)), each) for each, value in changes.items()),
            )
        self._forget()

    def close(self) -> None:
        self._forget()
        connection = self.__dict__.pop("_connection", None)
        if connection is not None:
            with suppress(Exception):
                connection.close(True)

    @cached_property
    def _vectors(self) -> list[str]:
        """Columns whose type says vector, or else all blobs."""
        said = [name for name, kind in self._columns.items() if _NUMBERS.search(kind) and "bit" not in kind.lower()]
        return said or [name for name, kind in self._columns.items() if kind.lower() == "blob"]

    @cached_property
    def _vector(self) -> str:
        candidates = self._vectors
        if self.address.vector in self._columns:  # blobs of a column without a type, if one asks for them
            candidates = [*candidates, str(self.address.vector)]
        return choose_vector(self.address.vector, list(self._columns), candidates, self.name)

    @cached_property
    def _id(self) -> str | None:
        """The column of ids; None means the row ids."""
        if self.address.id is None and "id" not in self._columns:
            keys = self._run("select name from pragma_table_xinfo(?) where pk > 0", [self._table])
            return keys[0][0] if len(keys) == 1 else None
        return choose_id(self.address.id, list(self._columns), self.name)

    @cached_property
    def _has_rowid(self) -> bool:
        try:
            list(self._connection.execute(f"select rowid from {self._from} limit 1"))
        except Exception:
            return False
        return True


def _value(value: Any) -> Any:
    if value is None or isinstance(value, (int, float, str, bytes)):
        return value
    return json.dumps(value, default=str) if isinstance(value, (list, dict)) else str(value)
