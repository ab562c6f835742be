"""DuckDB: `duckdb:///file.duckdb#table`. Vectors are columns of arrays or lists of FLOAT, DOUBLE or TINYINT."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from veclink.errors import InputError, StoreError, needed
from veclink.stores.arrow import ids_of, matrix, records_of, table_of_records
from veclink.stores.engines.sql import SqlStore, noted, quoted
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.link_rows import links_table
from veclink.stores.protocol import BATCH, LINKED, NO_ROOM, PROBABILITY, Batch, Id

READING_MEMORY = "256MB"
INTERRUPTED = "Query interrupted"  # the RuntimeError that DuckDB makes of a signal
_WITHIN_THE_FILE = {
    "enable_external_access": False,  # a view can read other files, and the network
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,  # of the user, which a view could use
    "python_enable_replacements": False,  # else a view can name a variable of this process
    "lock_configuration": True,
}
"""What is in a file reaches nothing outside it."""
_NUMBERS = {"FLOAT": "float32", "DOUBLE": "float32", "TINYINT": "int8"}


class DuckdbStore(SqlStore):
    """A table or view of a DuckDB file, read in the order in which it was filled."""

    needs = ("duckdb", "DuckDB", "veclink[duckdb]")
    _streams = 0
    _is_begun = False
    """Whether the file was made here, and nothing is committed to it yet."""

    @cached_property
    def _connection(self) -> Any:
        if not self.writable and not self._path.is_file():
            raise InputError(f"{self.name} does not exist; check the name.")
        options: dict[str, Any] = dict(_WITHIN_THE_FILE)
        if not self.writable:
            # a table is read once from end to end: pages kept for another time would only fill the memory
            options["memory_limit"] = READING_MEMORY
        with self.errors("opened"):
            return self._opened(options)

    def _opened(self, options: dict[str, Any]) -> Any:
        """A connection; where there is no room to make the file, nothing is left of it."""
        connect = self._package().connect
        new = self.writable and not self._path.exists()
        try:
            connection = connect(str(self._path), read_only=not self.writable, config=options)
        except Exception as error:
            if new and NO_ROOM.search(str(error)):  # else another process may have made it meanwhile
                self._remove_begun()
            raise
        self._is_begun = new and not connection.execute("select 1 from duckdb_tables() limit 1").fetchall()
        return connection

    def _remove_begun(self) -> None:
        """Remove a file that was made here and could not be finished: it would keep the same command from working."""
        self._is_begun = False
        for path in (self._path, self._path.with_name(f"{self._path.name}.wal")):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    @contextmanager
    def errors(self, done: str = "read") -> Iterator[None]:
        """As for every store; Ctrl-C during a query, of which DuckDB makes an error of its own, stays Ctrl-C."""
        with super().errors(done):
            try:
                yield
            except RuntimeError as error:
                if str(error) != INTERRUPTED:
                    raise
                raise KeyboardInterrupt from None

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.errors(), self._connection.cursor() as cursor:
            return cursor.execute(query, list(values)).fetchall()

    @cached_property
    def _table(self) -> str:
        if self.address.table is not None:
            return self.address.table
        rows = self._run("select table_name from information_schema.tables where table_schema = 'main'")
        return self._only_one((row[0] for row in rows), "table")

    @property
    def _from(self) -> str:
        return quoted(self._table)

    @cached_property
    def _columns(self) -> dict[str, str]:
        query = (
            "select column_name, data_type from information_schema.columns "
            "where table_schema = 'main' and table_name = ? order by ordinal_position"
        )
        return dict(self._run(query, [self._table]))

    def exists(self) -> bool:
        return bool(self._columns)

    @property
    def _makes_rows(self) -> bool:
        return not self._has_rowid

    def dimension(self) -> int:
        kind, _, size = self._columns[self._vector].partition("[")
        if size.count("["):
            raise InputError(f"{self.name} has lists of lists in {self._vector!r}; vectors are lists of {kind}.")
        if size != "]":
            return int(size.rstrip("]"))
        column = quoted(self._vector)
        rows = self._run(f"select len({column}) from {self._from} where {column} is not null limit 1")
        return int(rows[0][0]) if rows else 0

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_NUMBERS[self._columns[self._vector].partition("[")[0]])

    def metadata(self) -> dict[str, Any]:
        rows = self._run("select comment from duckdb_tables() where table_name = ?", [self._table])
        return noted(rows[0][0]) or {} if rows else {}

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        others = [name for name in self._columns if payload and name not in (self._vector, self._id, *self._vectors)]
        names = [quoted(self._vector), *([quoted(self._id)] if self._id else []), *map(quoted, others)]
        where, values = self._where
        if after is not None:
            where += f" {'and' if where else 'where'} rowid > {int(after)}"
        last = ["rowid as veclink_place"] if self._has_rowid else []
        query = f"select {', '.join([*names, *last])} from {self._from}{where}"
        row, connection = 0, self._connection
        with self.errors(), self._reading(connection) as cursor:
            # with parameters, even none, DuckDB keeps the whole answer in memory before it gives the first batch
            reader = cursor.sql(query, params=values) if values else cursor.sql(query)
            make = getattr(reader, "to_arrow_reader", None) or reader.fetch_record_batch
            for records in make(size):
                if not records.num_rows:
                    continue
                vectors = matrix(records.column(0), row, None, self.name)
                row += len(vectors)
                yield Batch(
                    vectors.astype(self.dtype, copy=False),
                    ids_of(records.column(1), self.name) if self._id else None,
                    table_of_records(records, others),
                    records.column(records.num_columns - 1)[-1].as_py() if last else None,
                )
                if self.__dict__.get("_connection") is not connection:
                    raise StoreError(f"{self.name} could not be read (it was closed).")

    @contextmanager
    def _reading(self, connection: Any) -> Iterator[Any]:
        """A cursor to stream from. DuckDB waits for ever where a connection is closed under a stream: so it is left."""
        cursor = connection.cursor()
        self._streams += 1
        try:
            yield cursor
        finally:
            self._streams -= 1
            cursor.close()
            if self.__dict__.get("_connection") is not connection:
                connection.close()

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        table, dimension = self._from, first.vectors.shape[1]
        with self._transaction() as cursor:
            cursor.execute(f"drop table if exists {table}")
            made = False
            for batch in batches:
                numbers = np.int8 if first.vectors.dtype == np.int8 else np.float32  # there is no float16 here
                records = records_of(Batch(batch.vectors.astype(numbers), batch.ids, batch.payload))
                kind = "TINYINT" if numbers is np.int8 else "FLOAT"
                names = ", ".join(
                    f"vector::{kind}[{dimension}] as vector" if name == "vector" else quoted(name)
                    for name in records.column_names
                )
                begin = f"insert into {table} by name" if made else f"create table {table} as"
                _run_with(records, cursor, f"{begin} select {names} from veclink_batch")
                made = True
            if metadata:
                text = json.dumps(metadata).replace("'", "''")
                cursor.execute(f"comment on table {table} is '{text}'")
        self._forget()

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        table, there = self._from, self.exists()
        with self.errors("written"), self._transaction() as cursor:
            gone = {pair: 0.0 for pair in (*changed, *removed)}
            if there and gone:
                query = f"delete from {table} t using veclink_batch n where t.a = n.a and t.b = n.b"
                _run_with(links_table(gone), cursor, query)
            begin = f"insert into {table} by name" if there else f"create table {table} as"
            _run_with(links_table(changed), cursor, f"{begin} select * from veclink_batch")
        self._forget()

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        arrow: Any = needed("pyarrow", "DuckDB")
        table, key, linked, probability = self._from, self._key, quoted(LINKED), quoted(PROBABILITY)
        values = [value or (None, None) for value in changes.values()]
        text = any(isinstance(value[0], str) for value in values)
        with self.errors("written"), self._transaction() as cursor:
            if LINKED not in self._columns:
                cursor.execute(f"alter table {table} add column {linked} {'VARCHAR' if text else 'BIGINT'}")
                cursor.execute(f"alter table {table} add column {probability} DOUBLE")
            columns = [
                list(changes),
                [None if value[0] is None else str(value[0]) if text else value[0] for value in values],
                [value[1] for value in values],
            ]
            notes = arrow.table([arrow.array(column) for column in columns], names=["k", "l", "p"])
            setting = f"{linked} = n.l, {probability} = n.p"
            same = f"{table}.{key} = n.k::{self._columns[str(self._id)]}"
            _run_with(notes, cursor, f"update {table} set {setting} from veclink_batch n where {same}")
        self._forget()

    def close(self) -> None:
        self._forget()
        connection = self.__dict__.pop("_connection", None)
        if connection is not None and not self._streams:  # else the stream closes it, when it notices
            with suppress(Exception):
                connection.close()
            if self._is_begun:
                self._remove_begun()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A cursor whose statements happen all or not at all."""
        with self._connection.cursor() as cursor:
            cursor.execute("begin transaction")
            try:
                yield cursor
            except BaseException:
                cursor.execute("rollback")
                raise
            cursor.execute("commit")
            self._is_begun = False

    @cached_property
    def _vectors(self) -> list[str]:
        kinds = {name: kind.partition("[") for name, kind in self._columns.items()}
        return [name for name, (base, mark, _) in kinds.items() if mark and base in _NUMBERS]

    @cached_property
    def _vector(self) -> str:
        return choose_vector(self.address.vector, list(self._columns), self._vectors, self.name)

    @cached_property
    def _id(self) -> str | None:
        return choose_id(self.address.id, [name for name in self._columns if name != self._vector], self.name)

    @cached_property
    def _has_rowid(self) -> bool:
        query = "select table_type from information_schema.tables where table_schema = 'main' and table_name = ?"
        return self._run(query, [self._table])[0][0] == "BASE TABLE"


def _run_with(records: Any, cursor: Any, query: str) -> None:
    """Run a query that reads an Arrow table under the name `veclink_batch`."""
    cursor.register("veclink_batch", records)
    cursor.execute(query)
    cursor.unregister("veclink_batch")
