"""PostgreSQL with pgvector: `postgresql://user@host:5432/db?table=papers&vector=embedding&id=id`.

Vectors are columns of pgvector's types `vector` and `halfvec`, or arrays of `real` or `double precision`. A password
comes from PGPASSWORD or ~/.pgpass, as psycopg finds it. Names are quoted by the driver, values are bound.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from veclink.data.ids import as_ids
from veclink.errors import InputError, named, needed
from veclink.stores.arrow import values_of
from veclink.stores.engines.pg_binary import VectorLoaders
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.link_rows import check_columns, links_of_rows, plain_id
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, Store
from veclink.stores.tables import records_of
from veclink.stores.urls import Address

_DTYPES = {"vector": "float32", "halfvec": "float16", "_float4": "float32", "_float8": "float32"}


def open_address(address: Address, *, writable: bool) -> Store:
    """The table, in a connection that can change nothing unless `writable`."""
    needed("psycopg", "PostgreSQL", install="veclink[postgres]")
    return PostgresStore(address, writable=writable)


class PostgresStore(Store):
    """A table, read in the order of its id where that is unique, in a transaction of its own."""

    @cached_property
    def _connection(self) -> Any:
        psycopg: Any = needed("psycopg", "PostgreSQL", install="veclink[postgres]")
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
            VectorLoaders.register(connection)
        return connection

    @cached_property
    def _sql(self) -> Any:
        return needed("psycopg.sql", "PostgreSQL", install="veclink[postgres]")

    def _run(self, query: Any, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
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
    def _table(self) -> Any:
        """The table's name, quoted by the driver."""
        place = self._place or (self.address.schema, self.address.table)
        return self._sql.Identifier(*(part for part in place if part is not None))

    @cached_property
    def _columns(self) -> dict[str, str]:
        """The columns and the names of their types."""
        query = (
            "select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid "
            "where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"
        )
        return dict(self._run(query, (self._table.as_string(self._connection),)))

    def exists(self) -> bool:
        return self._place is not None

    def count(self) -> int:
        sql = self._sql
        query = sql.SQL("select count(*) from {}{}").format(self._table, self._where[0])
        return int(self._run(query, self._where[1])[0][0])

    @cached_property
    def _first(self) -> np.ndarray | None:
        sql, vector = self._sql, self._sql.Identifier(self._vector)
        query = sql.SQL("select {v} from {t} where {v} is not null limit 1").format(v=vector, t=self._table)
        with self.errors(), self._connection.cursor(binary=True) as cursor:
            row = cursor.execute(query).fetchone()
        return None if row is None else np.asarray(row[0])

    def dimension(self) -> int:
        query = "select atttypmod from pg_attribute where attrelid = $1::text::regclass and attname = $2"
        declared = self._run(query, (self._table.as_string(self._connection), self._vector))[0][0]
        if declared > 0 and self._columns[self._vector] in ("vector", "halfvec"):
            return int(declared)
        return 0 if self._first is None else len(self._first)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_DTYPES[self._columns[self._vector]])

    def metadata(self) -> dict[str, Any]:
        query = "select obj_description($1::text::regclass, 'pg_class')"
        comment = self._run(query, (self._table.as_string(self._connection),))[0][0]
        with suppress(ValueError, TypeError):
            known = json.loads(comment)
            if isinstance(known, dict):
                return known
        return {"comment": comment} if comment else {}

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        sql = self._sql
        others = [name for name, kind in self._columns.items() if payload and kind not in _DTYPES and name != self._id]
        names = [self._vector, *([self._id] if self._id else []), *others]
        where, values = self._where
        if after is not None:
            text = f" {'and' if values else 'where'} {{}} > ${len(values) + 1}"
            where += sql.SQL(text).format(sql.Identifier(str(self._id)))
            values = [*values, after]
        order = sql.SQL(" order by {}").format(sql.Identifier(str(self._id))) if self._ordered else sql.SQL("")
        chosen = sql.SQL(", ").join(map(sql.Identifier, names))
        query = sql.SQL("select {} from {}{}{}").format(chosen, self._table, where, order)
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
        payload = None
        if others:
            arrow: Any = needed("pyarrow", "Keeping the payload")
            payload = arrow.table([values_of(list(column)) for column in columns[1 + bool(self._id) :]], names=others)
        ids = as_ids(columns[1], self.name) if self._id else None
        place = None
        if self._ordered:
            last = columns[1][-1]
            place = last if isinstance(last, (int, str)) else str(last)
        return Batch(vectors, ids, payload, place)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> int:
        from veclink.stores.engines.pg_write import create_table

        with self._connection.transaction():  # whole or not at all
            rows = create_table(self._connection, self._table, first, map(records_of, batches), metadata)
        self._connection.commit()
        self._forget()
        return rows

    def links(self) -> dict[tuple[Id, Id], float] | None:
        if not self.exists():
            return None
        check_columns(list(self._columns), self.name)
        return links_of_rows(self._run(self._sql.SQL("select a, b, probability from {}").format(self._table)))

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        from veclink.stores.engines.pg_write import put_links

        self.check_writable()
        with self.errors("written"), self._connection.transaction():
            put_links(self._connection, self._table, changed, removed, there=self.exists())
        self._connection.commit()
        self._forget()

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        if self._id is None:
            raise InputError(f"{self.name} has no ids, so its rows cannot be annotated; name the column: ?id=…")
        sql = self._sql
        there = LINKED in self._columns
        names = [self._id, LINKED, PROBABILITY] if there else [self._id]
        query = sql.SQL("select {} from {}").format(sql.SQL(", ").join(map(sql.Identifier, names)), self._table)
        return {plain_id(row[0]): (row[1], row[2]) if there else (None, None) for row in self._run(query)}

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        from veclink.stores.engines.pg_write import annotate

        self.check_writable()
        assert self._id is not None
        with self.errors("written"), self._connection.transaction():
            annotate(self._connection, self._table, self._id, changes, there=LINKED in self._columns)
        self._connection.commit()
        self._forget()

    def close(self) -> None:
        connection = self.__dict__.pop("_connection", None)
        self._forget()
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _forget(self) -> None:
        for name in ("_place", "_columns", "_vector", "_id", "_ordered", "_where", "_first"):
            self.__dict__.pop(name, None)

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
        return [row[0] for row in self._run(query, (self._table.as_string(self._connection),))]

    @cached_property
    def _ordered(self) -> bool:
        return self._id is not None and self._id in self._keys

    @cached_property
    def _where(self) -> tuple[Any, list[Any]]:
        sql = self._sql
        missing = [each.field for each in self.address.where if each.field not in self._columns]
        if missing:
            raise InputError(f"{self.name} has no column {named(missing)} to filter by.")
        parts = [
            sql.SQL(f"{{}} {each.sign} ${number}").format(sql.Identifier(each.field))
            for number, each in enumerate(self.address.where, start=1)
        ]
        if not parts:
            return sql.SQL(""), []
        return sql.SQL(" where ") + sql.SQL(" and ").join(parts), [each.value for each in self.address.where]
