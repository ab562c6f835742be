"""DuckDB: `duckdb:///file.duckdb#table`. Vectors are columns of arrays or lists of FLOAT, DOUBLE or TINYINT."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.stores.arrow import VECTOR, column_of, vectors_of
from veclink.stores.engines.sql import SqlStore, quoted
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY

_WITHIN_THE_FILE = {
    "enable_external_access": False,  # a view can read other files, and the network
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,  # of the user, which a view could use
    "python_enable_replacements": False,  # else a view can name a variable of this process
    "lock_configuration": True,
}
"""What is in a file reaches nothing outside it."""
_VECTOR = re.compile(r"(FLOAT|DOUBLE|TINYINT)\[\d*\]")


class DuckdbStore(SqlStore):
    """A table or view of a DuckDB file, read in the order in which it was filled."""

    needs = ("duckdb", "DuckDB", "veclink[duckdb]")
    _tables = "select table_name from information_schema.tables where table_schema = 'main'"

    @cached_property
    def _connection(self) -> Any:
        # a table is read once from end to end: pages kept for another time would only fill the memory
        options = _WITHIN_THE_FILE if self.writable else {**_WITHIN_THE_FILE, "memory_limit": "256MB"}
        return self._package().connect(str(self._path), read_only=not self.writable, config=options)

    @contextmanager
    def errors(self, done: str = "read") -> Iterator[None]:
        """As for every store; Ctrl-C during a query, of which DuckDB makes an error of its own, stays Ctrl-C."""
        with super().errors(done):
            try:
                yield
            except RuntimeError as error:
                if str(error) != "Query interrupted":
                    raise
                raise KeyboardInterrupt from None

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            return cursor.execute(query, list(values)).fetchall()

    @cached_property
    def _columns(self) -> dict[str, str]:
        query = """select column_name, data_type from information_schema.columns
            where table_schema = 'main' and table_name = ? order by ordinal_position"""
        return dict(self._run(query, [self._table]))

    @cached_property
    def _vectors(self) -> list[str]:
        return [name for name, kind in self._columns.items() if _VECTOR.fullmatch(kind)]

    def _decoded(self, value: Any) -> np.ndarray:
        return np.asarray(value, self.dtype)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int8 if self._columns[self._vector].startswith("TINYINT") else np.float32)

    def _metadata(self) -> dict[str, Any]:
        rows = self._run("select comment from duckdb_tables() where table_name = ?", [self._table])
        return self._metadata_in(rows[0][0]) if rows else {}

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        _, query, values = self._query(vectors, payload)
        with self._connection.cursor() as cursor:
            # with parameters, even none, DuckDB keeps the whole answer in memory before it gives the first batch
            answer = cursor.sql(query, params=values) if values else cursor.sql(query)
            make = getattr(answer, "to_arrow_reader", None) or answer.fetch_record_batch
            yield from make(size)

    def _fill(self, writer: Any, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        begin = f"create table {self._from} as"
        for table in tables:
            if VECTOR in schema.names and schema.field(VECTOR).type.value_type != pa.int8():
                vectors = column_of(vectors_of(table).astype(np.float32, copy=False))
                table = table.set_column(schema.names.index(VECTOR), VECTOR, vectors)
            _run_with(table, writer, f"{begin} select * from veclink_batch")
            begin = f"insert into {self._from}"

    def _set_notes(self, writer: Any, key: str, notes: list[tuple[Any, Any, Any]]) -> None:
        linked, probability, keys = ([note[place] for note in notes] for place in range(3))
        text = [None if each is None else str(each) for each in linked]  # takes the type of its column
        given = pa.table({"k": list(map(str, keys)), "l": pa.array(text, pa.string()), "p": probability})
        same = f"{self._from}.{key} = n.k::{self._columns[self._annotated_id]}"
        setting = f"{quoted(LINKED)} = n.l, {quoted(PROBABILITY)} = n.p"
        _run_with(given, writer, f"update {self._from} set {setting} from veclink_batch n where {same}")

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        new = not self._path.exists()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("begin transaction")
                try:
                    yield cursor
                except BaseException:
                    cursor.execute("rollback")
                    raise
                cursor.execute("commit")
        except BaseException:
            if new:  # a file that could not even take its first pages can never be opened
                self.close()
                for file in (self._path, self._path.with_name(f"{self._path.name}.wal")):
                    file.unlink(missing_ok=True)
            raise


def _run_with(table: pa.Table, cursor: Any, query: str) -> None:
    """Run a query that reads an Arrow table under the name `veclink_batch`."""
    cursor.register("veclink_batch", table)
    cursor.execute(query)
    cursor.unregister("veclink_batch")
