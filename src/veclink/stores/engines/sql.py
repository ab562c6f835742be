"""What the SQL databases have in common: quoted names, bound values, tables of rows and of links, notes on rows."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from veclink.data.collection import as_ids
from veclink.errors import InputError
from veclink.stores.arrow import batch_of, check_known, id_column
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Id, Note, Store


def quoted(*names: str) -> str:
    """A name as an SQL identifier, whatever is in it, with its schema before it; no database takes a NUL."""
    if any("\0" in name for name in names):
        raise InputError("A name has a NUL character in it, which no database takes; choose another.")
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def plain(values: list[Any]) -> list[Any]:
    """Values as a database takes them: lists and records as JSON."""
    return [json.dumps(value, default=str) if isinstance(value, (list, dict)) else value for value in values]


class SqlStore(Store):
    """A table or view of an SQL database."""

    _mark: ClassVar[str] = "?"  # how a query marks the place of its value of a number, counted from 1
    _tables: ClassVar[str] = ""  # the query for the names of all tables
    _columns: Any  # dict of str to str: the columns and their types; a cached property

    @abstractmethod
    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of an answer; values stand for the marks in the query."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Any]:
        """What executes statements that happen all or not at all."""

    @cached_property
    def _table(self) -> str:
        return self.address.table or self._only_one((row[0] for row in self._run(self._tables)), "table")

    @property
    def _from(self) -> str:
        """The table's name, quoted."""
        return quoted(self._table)

    def _exists(self) -> bool:
        return bool(self._columns)

    @property
    def _fields(self) -> list[str]:
        return list(self._columns)

    def _count(self) -> int:
        where, values = self._where
        return int(self._run(f"select count(*) from {self._from}{where}", values)[0][0])

    def _metadata_in(self, comment: str | None) -> dict[str, Any]:
        """What was written with a table, in its comment; a comment that is something else is one."""
        with suppress(ValueError):
            known = json.loads(comment or "{}")
            if isinstance(known, dict):
                return known
        return {"comment": comment}

    def _query(self, vectors: bool, payload: bool) -> tuple[list[str], str, list[Any]]:
        """The names of the columns for `scan`, the query for them, and its values."""
        names = self._names(vectors, payload)
        if self._vectors and self._id and self._id not in names:  # a row id is no column
            names.insert(0, self._id)
        where, values = self._where
        return names, f"select {', '.join(map(self._selected, names))} from {self._from}{where}", values

    def _selected(self, name: str) -> str:
        """What is asked for in order to have a column."""
        return quoted(name)

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        names, query, values = self._query(vectors, payload)
        for rows in self._parts(query, values, size):
            found: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            for name in set(self._vectors) & set(names):
                found[name] = pa.array([None if each is None else self._decoded(each) for each in found[name]])
            if self._vectors and self._id in found:
                found[self._id] = id_column(as_ids(found[self._id], self.name))
            yield batch_of(found)

    def _dimension(self) -> int:
        vector = self._vector
        query = f"select {self._selected(vector)} from {self._from} where {quoted(vector)} is not null limit 1"
        decoded = [self._decoded(value) for (value,) in self._run(query)]
        return 0 if not decoded or decoded[0] is None else len(decoded[0])

    def _parts(self, query: str, values: list[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of an answer, `size` at a time, always in the same order."""
        raise NotImplementedError

    def _decoded(self, value: Any) -> np.ndarray | None:
        """A vector of an answer; None where it is none."""
        raise NotImplementedError

    @cached_property
    def _where(self) -> tuple[str, list[Any]]:
        """The filters of the URL: " where …" (empty without any), and the values to bind."""
        conditions = self.address.where
        check_known(conditions, self._fields, self.name)
        parts = [
            f"{quoted(each.field)} {each.sign} {self._mark.format(number)}"
            for number, each in enumerate(conditions, start=1)
        ]
        return (" where " + " and ".join(parts) if parts else ""), [each.value for each in conditions]

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        with self._writing() as writer:
            writer.execute(f"drop table if exists {self._from}")
            self._fill(writer, first.schema, tables)
            if metadata:
                self._note(writer, json.dumps(metadata))

    def _fill(self, writer: Any, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        """Make the table, and fill it."""
        parts = [f"{quoted(each.name)} {self._declared(each, writer)}".rstrip() for each in schema]
        keys = ", primary key (a, b)" if schema.names[:2] == ["a", "b"] else ""
        writer.execute(f"create table {self._from} ({', '.join(parts)}{keys})")
        for table in tables:
            columns = [self._values(table, name) for name in schema.names]
            self._insert(writer, list(map(quoted, schema.names)), zip(*columns, strict=True))

    def _declared(self, field: Any, writer: Any) -> str:
        """The type of a column."""
        raise NotImplementedError

    def _values(self, table: pa.Table, name: str) -> list[Any]:
        """The values of a column as the database takes them."""
        raise NotImplementedError

    def _insert(self, writer: Any, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows to the columns of these quoted names."""
        raise NotImplementedError

    def _note(self, writer: Any, text: str) -> None:
        """Keep what was said of the table."""
        writer.execute(f"comment on table {self._from} is '{text.replace(chr(39), chr(39) * 2)}'")

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        key = quoted(self._annotated_id)
        rows = [(*note, each) for each, note in notes.items()]
        text = any(isinstance(row[0], str) for row in rows)
        with self._writing() as writer:
            if LINKED not in self._columns:
                for name, kind in ((LINKED, "text" if text else "bigint"), (PROBABILITY, "double precision")):
                    writer.execute(f"alter table {self._from} add column {quoted(name)} {kind}")
            self._set_notes(writer, key, rows)

    def _set_notes(self, writer: Any, key: str, notes: list[tuple[Any, Any, Any]]) -> None:
        """Write linked id and probability of each key."""
        marks = [self._mark.format(number) for number in (1, 2, 3)]
        query = f"set {quoted(LINKED)} = {marks[0]}, {quoted(PROBABILITY)} = {marks[1]} where {key} = {marks[2]}"
        writer.executemany(f"update {self._from} {query}", notes)
