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

from veclink.errors import InputError, named, needed
from veclink.stores.arrow import choose_id, column_of
from veclink.stores.engines.sql import SqlStore, plain, quoted

_DTYPES = {"vector": "float32", "halfvec": "float16", "_float4": "float32", "_float8": "float32"}


class PostgresStore(SqlStore):
    """A table, read in the order of its id where that is unique, in a transaction of its own."""

    needs = ("psycopg", "PostgreSQL", "veclink[postgres]")
    _keeps = (np.float16,)
    # raw cursors bind $1, $2: with the usual ones a per cent sign in a table's name would be a placeholder
    _mark = "${}"

    @cached_property
    def _connection(self) -> Any:
        psycopg = self._package()
        address = self.address
        given = {"host": address.host, "port": address.port, "user": address.user, "dbname": address.database}
        options = {key: value for key, value in {**given, "password": address.password}.items() if value}
        with self.errors("reached"):
            connection = psycopg.connect(
                **{"connect_timeout": "10", **address.more, **options}, cursor_factory=psycopg.RawCursor
            )
            connection.server_cursor_factory = psycopg.RawServerCursor
            connection.read_only = not self.writable
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # one moment for all batches
            _register_loaders(connection)
        return connection

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.errors(), self._connection.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    @cached_property
    def _place(self) -> tuple[str, str] | None:
        """The schema and the table, None where there is no such table."""
        wanted, schema = self.address.table, self.address.schema
        if wanted is None:
            raise InputError(f"{self.name} does not say which table; name one: ?table=…")
        tries = [(schema, wanted)]
        if schema is None and "." in wanted:
            tries.append((wanted.partition(".")[0], wanted.partition(".")[2]))
        for schema, table in tries:
            found = self._run(
                "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                "where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname = $1 and "
                "case when $2::text is null then pg_table_is_visible(c.oid) else n.nspname = $2 end",
                (table, schema),
            )
            if found:
                return found[0][0], found[0][1]
        return None

    @property
    def _from(self) -> str:
        place = self._place or (self.address.schema, self.address.table)
        return quoted(*(part for part in place if part is not None))

    @cached_property
    def _columns(self) -> dict[str, str]:
        """The columns and the names of their types."""
        query = (
            "select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid "
            "where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"
        )
        return dict(self._run(query, [self._from]))

    def _exists(self) -> bool:
        return self._place is not None

    def dimension(self) -> int:
        query = "select atttypmod from pg_attribute where attrelid = $1::text::regclass and attname = $2"
        declared = self._run(query, [self._from, self._vector])[0][0]
        if declared > 0 and self._columns[self._vector] in ("vector", "halfvec"):
            return int(declared)
        vector = quoted(self._vector)
        query = f"select {vector} from {self._from} where {vector} is not null limit 1"
        with self.errors(), self._connection.cursor(binary=True) as cursor:
            row = cursor.execute(query).fetchone()
        return 0 if row is None else len(row[0])

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_DTYPES[self._columns[self._vector]])

    def metadata(self) -> dict[str, Any]:
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

    def _numbers(self, values: list[Any], start: int) -> Any:
        missing = [start + row for row, value in enumerate(values) if value is None]
        if missing:
            raise InputError(f"{self.name} has no vector in row {named(missing)}; filter or fill them.")
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            raise InputError(f"{self.name} has vectors of {named(sorted(lengths))} numbers; give all the same length.")
        return column_of(np.stack(values).astype(self.dtype, copy=False))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """As for every store, and among all machines; what is read in the block is of the transaction that writes."""
        if self._is_alone:
            yield
            return
        with super().alone():
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
        if field.name == "vector":
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

    def _values(self, column: Any, name: str) -> list[Any]:
        if name == "vector":
            # text of float64, which has more digits than float32 needs to come back to the same bits
            numbers = column.combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.float32)
            return [json.dumps(row) for row in numbers.reshape(len(column), column.type.list_size).tolist()]
        return plain(column.to_pylist())

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
        return [name for name, kind in self._columns.items() if kind in _DTYPES]

    @cached_property
    def _id(self) -> str | None:
        if self.address.id is None and "id" not in self._columns:
            return self._keys[0] if len(self._keys) == 1 else None
        return choose_id(self.address.id, self._fields, self.name)

    @cached_property
    def _keys(self) -> list[str]:
        """Columns that are unique and never null by themselves."""
        query = (
            "select a.attname from pg_index i "
            "join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] "
            "where i.indrelid = $1::text::regclass and i.indisunique and i.indnkeyatts = 1 and i.indpred is null "
            "and a.attnotnull order by i.indisprimary desc"
        )
        return [row[0] for row in self._run(query, [self._from])]


def _register_loaders(connection: Any) -> None:
    """Have this connection read `vector`, `halfvec`, `real[]` and `double precision[]` as numpy arrays."""
    loader: Any = needed("psycopg.adapt", "PostgreSQL").Loader
    kinds: Any = needed("psycopg.types", "PostgreSQL").TypeInfo
    binary: Any = needed("psycopg.pq", "PostgreSQL").Format.BINARY

    def register(oid: int, read: Any) -> None:
        kind = type("VectorLoader", (loader,), {"format": binary, "load": lambda self, data: read(data)})
        connection.adapters.register_loader(oid, kind)

    # int16 dimension, int16 unused, then big-endian numbers
    for name, number in (("vector", ">f4"), ("halfvec", ">f2")):
        info = kinds.fetch(connection, name)
        if info is not None:
            register(info.oid, lambda data, number=number: np.frombuffer(data, number, offset=4))
    for oid, number in ((1021, ">f4"), (1022, ">f8")):
        register(oid, lambda data, number=number: _array(data, number))
    connection.rollback()  # fetching began a transaction


def _array(data: Any, number: str) -> np.ndarray:
    header = np.frombuffer(data, ">i4", count=3)
    if header[0] == 0:
        return np.empty(0, np.float32)
    if header[0] != 1 or header[1]:
        raise ValueError("an array of vectors has missing numbers or more than one dimension")
    # 12 bytes of header, 8 of bounds, then for each number its length and itself
    packed = np.dtype([("length", ">i4"), ("number", number)])
    return np.frombuffer(data, packed, offset=20)["number"].astype(np.float32)
