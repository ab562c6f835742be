"""PostgreSQL with pgvector: `postgresql://user@host:5432/db?table=papers&vector=embedding&id=id`.

Vectors are columns of pgvector's types `vector` and `halfvec`, or arrays of `real` or `double precision`. A password
comes from PGPASSWORD or ~/.pgpass, as psycopg finds it. Names are quoted, values are bound.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.errors import InputError
from veclink.stores.arrow import VECTOR, choose_id, vectors_of
from veclink.stores.engines.sql import SqlStore, plain, quoted

_SENT: dict[str, tuple[str, Any, int]] = {
    "vector": ("vector_send", np.dtype(">f4"), 4),
    "halfvec": ("halfvec_send", np.dtype(">f2"), 4),
    "_float4": ("array_send", np.dtype([("length", ">i4"), ("number", ">f4")]), 20),
    "_float8": ("array_send", np.dtype([("length", ">i4"), ("number", ">f8")]), 20),
}
"""Of each type of vectors what gives its bytes, what the numbers are there, and where they begin."""


class PostgresStore(SqlStore):
    """A table, read in the order of its id where that is unique, in a transaction of its own."""

    needs = ("psycopg", "PostgreSQL", "veclink[postgres]")
    # raw cursors bind $1, $2: with the usual ones a per cent sign in a table's name would be a placeholder
    _mark = "${}"

    @cached_property
    def _connection(self) -> Any:
        psycopg = self._package()
        address = self.address
        given = {"host": address.host, "port": address.port, "user": address.user, "dbname": address.database}
        options = {key: value for key, value in {**given, "password": address.password}.items() if value}
        connection = psycopg.connect(
            **{"connect_timeout": "10", **address.more, **options}, cursor_factory=psycopg.RawCursor
        )
        connection.server_cursor_factory = psycopg.RawServerCursor
        connection.read_only = not self.writable
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # one moment for all batches
        return connection

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    @cached_property
    def _place(self) -> str | None:
        """The name of the table, quoted; None where there is no such table."""
        wanted, schema = self.address.table, self.address.schema
        if wanted is None:
            raise InputError(f"{self.name} does not say which table; name one: ?table=…")
        names = [quoted(wanted), quoted(*wanted.split(".", 1))] if schema is None else [quoted(schema, wanted)]
        return next((name for name in names if self._run("select to_regclass($1)", [name])[0][0]), None)

    @property
    def _from(self) -> str:
        schema, table = self.address.schema, self.address.table or ""
        return self._place or (quoted(table) if schema is None else quoted(schema, table))

    @cached_property
    def _columns(self) -> dict[str, str]:
        """The columns and the names of their types."""
        query = """select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid
            where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"""
        return dict(self._run(query, [self._from]))

    def _exists(self) -> bool:
        return self._place is not None

    def _selected(self, name: str) -> str:
        return f"{_SENT[self._columns[name]][0]}({quoted(name)})" if name in self._vectors else quoted(name)

    def _decoded(self, value: bytes) -> np.ndarray:
        """A vector as the server sends it: of an array, a header, and before each number its length."""
        _, kind, start = _SENT[self._columns[self._vector]]
        if kind.names is None:
            return np.frombuffer(value, kind, offset=start).astype(self.dtype)
        dimensions, missing, _ = np.frombuffer(value, ">i4", count=3)
        if dimensions > 1 or missing:
            raise ValueError("an array of vectors has missing numbers or more than one dimension")
        return np.frombuffer(value, kind, offset=start)["number"].astype(self.dtype) if dimensions else np.empty(0)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float16 if self._columns[self._vector] == "halfvec" else np.float32)

    def _metadata(self) -> dict[str, Any]:
        query = "select obj_description($1::text::regclass, 'pg_class')"
        return self._metadata_in(self._run(query, [self._from])[0][0])

    def _parts(self, query: str, values: list[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        order = f" order by {quoted(self._id)}" if self._vectors and self._id in self._keys else ""
        self._run("set local synchronize_seqscans = off")  # the same order each time
        with self._connection.cursor("veclink", binary=True) as cursor:
            cursor.itersize = size
            cursor.execute(query + order, values)
            while rows := cursor.fetchmany(size):
                yield rows

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Among all machines; what is read in the block is of the transaction that writes."""
        name = [f"veclink {str(self.address.table).rpartition('.')[2]}"]  # the schema may be named or not
        with self.errors("written"):
            self._connection.rollback()  # else all would be read as it was when this connection was first asked
            self._run("select pg_advisory_lock(hashtextextended($1, 0))", name)
            self._connection.rollback()
        try:
            yield
        finally:
            with suppress(Exception):  # without a connection the lock is gone, too
                self._connection.rollback()
                self._run("select pg_advisory_unlock(hashtextextended($1, 0))", name)
                self._connection.rollback()

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            yield cursor
        self._connection.commit()

    def _declared(self, field: Any, writer: Any) -> str:
        if field.name == VECTOR:
            query = "select count(*) from pg_type where typname in ('vector', 'halfvec')"
            if not writer.execute(query).fetchone()[0]:
                writer.execute("create extension if not exists vector")
            # pgvector has halfvec since 0.7
            half = str(field.type.value_type) == "halffloat" and writer.execute(query).fetchone()[0] > 1
            return f"{'halfvec' if half else 'vector'}({field.type.list_size})"
        kinds = (
            (pa.types.is_boolean, "boolean"),
            (pa.types.is_integer, "bigint"),
            (pa.types.is_floating, "double precision"),
            (pa.types.is_timestamp, "timestamptz" if getattr(field.type, "tz", None) else "timestamp"),
            (pa.types.is_date, "date"),
            (pa.types.is_nested, "jsonb"),
        )
        kind = next((name for fits, name in kinds if fits(field.type)), "text")
        if field.name != "id":
            return kind
        # in the order of their bytes, whatever the language of the server: the order in which rows are read
        return f"{kind} {'collate ' + quoted('C') if kind == 'text' else ''} primary key"

    def _values(self, table: pa.Table, name: str) -> list[Any]:
        if name == VECTOR:
            # text of float64, which has more digits than float32 needs to come back to the same bits
            return [json.dumps(row) for row in vectors_of(table).astype(np.float32).tolist()]
        return plain(table.column(name).to_pylist())

    def _insert(self, writer: Any, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
        with writer.copy(f"copy {self._from} ({', '.join(names)}) from stdin") as copy:
            for row in rows:
                copy.write_row(row)

    def _set_notes(self, writer: Any, key: str, notes: list[tuple[Any, Any, Any]]) -> None:
        # text takes the type of the column that it is written to or compared with
        plain = [(None if linked is None else str(linked), chance, str(each)) for linked, chance, each in notes]
        super()._set_notes(writer, key, plain)

    @cached_property
    def _vectors(self) -> list[str]:
        return [name for name, kind in self._columns.items() if kind in _SENT]

    @cached_property
    def _id(self) -> str | None:
        if self.address.id is None and "id" not in self._columns:
            return self._keys[0] if len(self._keys) == 1 else None
        return choose_id(self.address.id, self._fields, self.name)

    @cached_property
    def _keys(self) -> list[str]:
        """Columns that are unique and never null by themselves."""
        query = """select a.attname from pg_index i
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
            where i.indrelid = $1::text::regclass and i.indisunique and i.indnkeyatts = 1 and i.indpred is null
            and a.attnotnull order by i.indisprimary desc"""
        return [row[0] for row in self._run(query, [self._from])]
