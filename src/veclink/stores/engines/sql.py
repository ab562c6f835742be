"""What the SQL databases have in common: quoted names, bound values, tables of rows and of links, notes on rows."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from veclink.data.collection import as_ids
from veclink.errors import InputError
from veclink.stores.arrow import batch_of, check_known, id_column, records_of
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, Store


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

    _keeps: ClassVar[tuple[type, ...]] = (np.int8,)  # numbers that are kept as they are; others become float32
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

    def count(self) -> int:
        where, values = self._where
        return int(self._run(f"select count(*) from {self._from}{where}", values)[0][0])

    def _metadata_in(self, comment: str | None) -> dict[str, Any]:
        """What was written with a table, in its comment; a comment that is something else is one."""
        with suppress(ValueError):
            known = json.loads(comment or "{}")
            if isinstance(known, dict):
                return known
        return {"comment": comment}

    def _query(self, columns: Sequence[str] | None) -> tuple[list[str], str, list[Any]]:
        """The names of these columns (all but vectors that were not chosen), the query for them, and its values."""
        if columns is not None:
            names = [each for each in columns if each in self._columns or each == self._id]
        else:
            names = [each for each in self._columns if each not in self._vectors or each == self._vector]
            if self._vectors and self._id and self._id not in names:
                names.insert(0, self._id)
        where, values = self._where
        return names, f"select {', '.join(map(quoted, names))} from {self._from}{where}", values

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        names, query, values = self._query(columns)
        row = 0
        with self.errors():
            for rows in self._parts(query, values, size):
                found: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                for name in set(self._vectors) & set(names):
                    found[name] = self._numbers(found[name], row)
                if self._vectors and self._id in found:
                    found[self._id] = id_column(as_ids(found[self._id], self.name))
                yield batch_of(found)
                row += len(rows)

    def _parts(self, query: str, values: list[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of an answer, `size` at a time, always in the same order."""
        raise NotImplementedError

    def _numbers(self, values: list[Any], start: int) -> Any:
        """Vectors of an answer as an Arrow column; `start` is the number of the first row."""
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

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        def records(batch: Batch) -> Any:
            kept = batch.vectors.dtype in self._keeps
            return records_of(batch if kept else replace(batch, vectors=batch.vectors.astype(np.float32)))

        with self._writing() as writer:
            writer.execute(f"drop table if exists {self._from}")
            self._fill(writer, map(records, batches))
            if metadata:
                self._note(writer, json.dumps(metadata))

    def _create_table(self, links: Any) -> None:
        there = self.exists()
        with self._writing() as writer:
            if there:
                writer.execute(f"drop table {self._from}")
            self._fill(writer, iter([links]))

    def _fill(self, writer: Any, tables: Iterator[Any]) -> None:
        """Make the table of Arrow tables, and fill it."""
        first = next(tables)
        names = first.column_names
        parts = [f"{quoted(name)} {self._declared(first.schema.field(name), writer)}".rstrip() for name in names]
        keys = ", primary key (a, b)" if names[:2] == ["a", "b"] else ""
        writer.execute(f"create table {self._from} ({', '.join(parts)}{keys})")
        for table in chain([first], tables):
            if table.column_names != names:
                raise InputError("Later rows have other fields than the first ones; give all the same.")
            columns = [self._values(table.column(name), name) for name in names]
            self._insert(writer, list(map(quoted, names)), zip(*columns, strict=True))

    def _declared(self, field: Any, writer: Any) -> str:
        """The type of a column."""
        raise NotImplementedError

    def _values(self, column: Any, name: str) -> list[Any]:
        """The values of a column as the database takes them."""
        raise NotImplementedError

    def _insert(self, writer: Any, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows to the columns of these quoted names."""
        raise NotImplementedError

    def _note(self, writer: Any, text: str) -> None:
        """Keep what was said of the table."""
        writer.execute(f"comment on table {self._from} is '{text.replace(chr(39), chr(39) * 2)}'")

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        key = quoted(self._annotated_id)
        notes = [(*(value or (None, None)), each) for each, value in changes.items()]
        text = any(isinstance(note[0], str) for note in notes)
        with self.errors("written"), self._writing() as writer:
            if LINKED not in self._columns:
                for name, kind in ((LINKED, "text" if text else "bigint"), (PROBABILITY, "double precision")):
                    writer.execute(f"alter table {self._from} add column {quoted(name)} {kind}")
            self._set_notes(writer, key, notes)
        self._forget()

    def _set_notes(self, writer: Any, key: str, notes: list[tuple[Any, Any, Any]]) -> None:
        """Write linked id and probability of each key."""
        marks = [self._mark.format(number) for number in (1, 2, 3)]
        query = f"set {quoted(LINKED)} = {marks[0]}, {quoted(PROBABILITY)} = {marks[1]} where {key} = {marks[2]}"
        writer.executemany(f"update {self._from} {query}", notes)
