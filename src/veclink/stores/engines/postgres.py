"""PostgreSQL with pgvector: `postgresql://user@host:5432/db?table=papers&vector=embedding&id=id`.

Vectors are columns of pgvector's types `vector` and `halfvec`, or arrays of `real` or `double precision`. A password
comes from PGPASSWORD or ~/.pgpass, as psycopg finds it. Names are quoted, values are bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from veclink.data.ids import as_ids
from veclink.errors import InputError, named
from veclink.stores.arrow import records_of, table_of_columns
from veclink.stores.engines.pg_binary import register_loaders
from veclink.stores.engines.pg_write import annotate, create_table, put_links
from veclink.stores.engines.sql import SqlStore, noted, quoted
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.protocol import BATCH, LINKED, Batch, Id

_DTYPES = {"vector": "float32", "halfvec": "float16", "_float4": "float32", "_float8": "float32"}


class PostgresStore(SqlStore):
    """A table, read in the order of its id where that is unique, in a transaction of its own."""

    needs = ("psycopg", "PostgreSQL", "veclink[postgres]")

    @cached_property
    def _connection(self) -> Any:
        psycopg = self._package()
        address = self.address
        given = {"host": address.host, "port": address.port, "user": address.user, "dbname": address.database}
        options = {key: value for key, value in {**given, "password": address.password}.items() if value}
        with self.errors("reached"):
            # raw cursors bind $1, $2: with the usual ones a per cent sign in a table's name would be a placeholder
            connection = psycopg.connect(
                **{"connect_timeout": "10", **address.more, **options}, cursor_factory=psycopg.RawCursor
            )
            connection.server_cursor_factory = psycopg.RawServerCursor
            connection.read_only = not self.writable
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # one moment for all batches
            register_loaders(connection)
        return connection

    def _mark(self, number: int) -> str:
        return f"${number}"

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

    def exists(self) -> bool:
        return self._place is not None

    @cached_property
    def _first(self) -> np.ndarray | None:
        vector = quoted(self._vector)
        query = f"select {vector} from {self._from} where {vector} is not null limit 1"
        with self.errors(), self._connection.cursor(binary=True) as cursor:
            row = cursor.execute(query).fetchone()
        return None if row is None else np.asarray(row[0])

    def dimension(self) -> int:
        query = "select atttypmod from pg_attribute where attrelid = $1::text::regclass and attname = $2"
        declared = self._run(query, [self._from, self._vector])[0][0]
        if declared > 0 and self._columns[self._vector] in ("vector", "halfvec"):
            return int(declared)
        return 0 if self._first is None else len(self._first)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_DTYPES[self._columns[self._vector]])

    def metadata(self) -> dict[str, Any]:
        query = "select obj_description($1::text::regclass, 'pg_class')"
        comment = self._run(query, [self._from])[0][0]
        known = noted(comment)
        if known is None:
            return {"comment": comment} if comment else {}
        return known

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        others = [name for name, kind in self._columns.items() if payload and kind not in _DTYPES and name != self._id]
        names = [self._vector, *([self._id] if self._id else []), *others]
        where, values = self._where
        if after is not None:
            values = [*values, after]
            where += f" {'and' if where else 'where'} {self._key} > {self._mark(len(values))}"
        order = f" order by {self._key}" if self._ordered else ""
        query = f"select {', '.join(map(quoted, names))} from {self._from}{where}{order}"
        with self.errors():
            self._run("set local synchronize_seqscans = off")  # the same order each time
            with self._connection.cursor("veclink", binary=True) as cursor:
                cursor.itersize = size
                cursor.execute(query, values)
                row = 0
                while rows := cursor.fetchmany(size):
                    yield self._batch(rows, others, row)
                    row += len(rows)

    def _batch(self, rows: list[tuple[Any, ...]], others: list[str], start: int) -> Batch:
        columns = list(zip(*rows, strict=True))
        missing = [start + row for row, value in enumerate(columns[0]) if value is None]
        if missing:
            raise InputError(f"{self.name} has no vector in row {named(missing)}; filter or fill them.")
        lengths = {len(value) for value in columns[0]}
        if len(lengths) > 1:
            raise InputError(f"{self.name} has vectors of {named(sorted(lengths))} numbers; give all the same length.")
        vectors = np.stack(columns[0]).astype(self.dtype, copy=False)
        payload = table_of_columns(columns[1 + bool(self._id) :], others)
        ids = as_ids(columns[1], self.name) if self._id else None
        place = None
        if self._ordered:
            last = columns[1][-1]
            place = last if isinstance(last, (int, str)) else str(last)
        return Batch(vectors, ids, payload, place)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """As for every store, and among all machines; what is read in the block is of the transaction that writes."""
        if self._is_alone:
            yield
            return
        with super().alone():
            name = [f"veclink {self.address.table}"]
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

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        with self._connection.transaction():  # whole or not at all
            create_table(self._connection, self._from, first, map(records_of, batches), metadata)
        self._connection.commit()
        self._forget()

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        with self.errors("written"), self._connection.transaction():
            put_links(self._connection, self._from, changed, removed, there=self.exists())
        self._connection.commit()
        self._forget()

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        with self.errors("written"), self._connection.transaction():
            annotate(self._connection, self._from, self._key, changes, there=LINKED in self._columns)
        self._connection.commit()
        self._forget()

    @cached_property
    def _vector(self) -> str:
        candidates = [name for name, kind in self._columns.items() if kind in _DTYPES]
        return choose_vector(self.address.vector, list(self._columns), candidates, self.name)

    @cached_property
    def _id(self) -> str | None:
        if self.address.id is None and "id" not in self._columns:
            keys = self._keys
            return keys[0] if len(keys) == 1 else None
        return choose_id(self.address.id, list(self._columns), self.name)

    @property
    def _keys(self) -> list[str]:
        """Columns that are unique and never null by themselves."""
        query = (
            "select a.attname from pg_index i "
            "join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] "
            "where i.indrelid = $1::text::regclass and i.indisunique and i.indnkeyatts = 1 and i.indpred is null "
            "and a.attnotnull order by i.indisprimary desc"
        )
        return [row[0] for row in self._run(query, [self._from])]

    @cached_property
    def _ordered(self) -> bool:
        return self._id is not None and self._id in self._keys
