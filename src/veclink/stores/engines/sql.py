"""What the SQL databases have in common: quoted names, bound values, tables of links, notes on rows."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from veclink.data.collection import as_ids
from veclink.errors import InputError
from veclink.stores.arrow import batch_of, check_known, id_column, records_of
from veclink.stores.protocol import LINKED, PROBABILITY, RATIO, SUSPECT, Batch, Id, Store


def quoted(*names: str) -> str:
    """A name as an SQL identifier, whatever is in it, with its schema before it; no database takes a NUL."""
    if any("\0" in name for name in names):
        raise InputError("A name has a NUL character in it, which no database takes; choose another.")
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def noted(comment: str | None) -> dict[str, Any] | None:
    """The metadata in a table's comment; None where it is another one, or none at all."""
    with suppress(ValueError, TypeError):
        known = json.loads(comment or "")
        if isinstance(known, dict):
            return known
    return None


def plain(values: list[Any]) -> list[Any]:
    """Values as a database takes them: lists and records as JSON."""
    return [json.dumps(value, default=str) if isinstance(value, (list, dict)) else value for value in values]


class SqlStore(Store):
    """A table or view of an SQL database."""

    _keeps: ClassVar[tuple[type, ...]] = (np.int8,)  # numbers that are kept as they are; others become float32
    _mark: ClassVar[str] = "?"  # how a query marks the place of its value of a number, counted from 1
    _columns: Any  # dict of str to str: the columns and their types; a cached property

    @abstractmethod
    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of an answer; values stand for the marks in the query."""

    @property
    @abstractmethod
    def _from(self) -> str:
        """The table's name, quoted."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Any]:
        """What executes statements that happen all or not at all."""

    @abstractmethod
    def _fill(self, writer: Any, batches: Iterable[Any], first: Any) -> None:
        """Make the table of Arrow tables, of which `first` is the first one, and fill it."""

    def _note(self, writer: Any, metadata: dict[str, Any]) -> None:
        """Keep what was said of the table, where a database can."""

    def _exists(self) -> bool:
        return bool(self._columns)

    @property
    def _fields(self) -> list[str]:
        return list(self._columns)

    def _chosen(self, columns: Sequence[str] | None) -> list[str]:
        """The names that a scan is to give; all but vectors that were not chosen where none are asked for."""
        if columns is not None:
            return [each for each in columns if each in self._columns or each == self._id]
        chosen = [each for each in self._columns if each not in self._vectors or each == self._vector]
        return [self._id, *chosen] if self._vectors and self._id and self._id not in chosen else chosen

    def _batch(self, names: list[str], rows: list[tuple[Any, ...]], start: int) -> Any:
        """Rows of an answer as an Arrow batch; `start` is the number of the first one."""
        found = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        for name in set(self._vectors) & set(names):
            found[name] = self._numbers(found[name], start)
        if self._vectors and self._id in found:
            found[self._id] = id_column(as_ids(found[self._id], self.name))
        return batch_of(found)

    def _numbers(self, values: list[Any], start: int) -> Any:
        """Vectors of an answer as an Arrow column."""
        raise NotImplementedError

    def count(self) -> int:
        where, values = self._where
        rows = f"{self._from}{where}"
        if self._makes_rows:
            # up to what is refused anyway, as far more than the file holds
            dimension, path = self.dimension(), self._path
            most = max(SUSPECT, RATIO * path.stat().st_size) // max(dimension * self.dtype.itemsize, 1) + 1
            rows = f"(select 1 from {rows} limit {most}) as veclink_rows"
        return int(self._run(f"select count(*) from {rows}", values)[0][0])

    _makes_rows: Any = False  # whether the rows are those of a view in a file, which can make rows without end

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        with self._writing() as writer:
            writer.execute(f"drop table if exists {self._from}")
            self._fill(writer, map(self._records, batches), self._records(first))
            if metadata:
                self._note(writer, metadata)

    def _records(self, batch: Batch) -> Any:
        kept = batch.vectors.dtype in self._keeps
        return records_of(batch if kept else replace(batch, vectors=batch.vectors.astype(np.float32)))

    def _create_table(self, links: Any) -> None:
        there = self.exists()
        with self._writing() as writer:
            if there:
                writer.execute(f"drop table {self._from}")
            self._fill(writer, [links], links)

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
