"""What the SQL databases have in common: quoted names, bound values, tables of links, notes on rows."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from veclink.errors import InputError, named
from veclink.stores.link_rows import check_columns, links_of_rows, plain_id
from veclink.stores.protocol import LINKED, PROBABILITY, RATIO, SUSPECT, Id, Store


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


class SqlStore(Store):
    """A table or view of an SQL database."""

    _columns: Any
    """dict of str to str: the columns and their types; a cached property."""
    _id: Any
    """str or None: the column of the ids; a cached property."""

    @abstractmethod
    def _run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of an answer; values stand for the marks in the query."""

    @property
    @abstractmethod
    def _from(self) -> str:
        """The table's name, quoted."""

    def _mark(self, number: int) -> str:
        """How a query marks the place of its value of this number, counted from 1."""
        return "?"

    def count(self) -> int:
        where, values = self._where
        rows = f"{self._from}{where}"
        if self._makes_rows:
            # up to what is refused anyway, as far more than the file holds
            dimension, path = self.dimension(), self._path
            most = max(SUSPECT, RATIO * path.stat().st_size) // max(dimension * self.dtype.itemsize, 1) + 1
            rows = f"(select 1 from {rows} limit {most}) as veclink_rows"
        return int(self._run(f"select count(*) from {rows}", values)[0][0])

    @property
    def _makes_rows(self) -> bool:
        """Whether the rows are those of a view in a file, which can make rows without end."""
        return False

    def links(self) -> dict[tuple[Id, Id], float] | None:
        if not self.exists():
            return None
        check_columns(list(self._columns), self.name)
        return links_of_rows(self._run(f"select a, b, probability from {self._from}"))

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        notes = f"{quoted(LINKED)}, {quoted(PROBABILITY)}" if LINKED in self._columns else "null, null"
        rows = self._run(f"select {self._key}, {notes} from {self._from}")
        return {plain_id(row[0]): (row[1], row[2]) for row in rows}

    @property
    def _key(self) -> str:
        """What rows are known by in a query."""
        if self._id is None:
            raise InputError(f"{self.name} has no ids, so its rows cannot be annotated; name the column: ?id=…")
        return quoted(self._id)

    @cached_property
    def _where(self) -> tuple[str, list[Any]]:
        """The filters of the URL: " where …" (empty without any), and the values to bind."""
        conditions = self.address.where
        missing = [each.field for each in conditions if each.field not in self._columns]
        if missing:
            raise InputError(f"{self.name} has no column {named(missing)} to filter by.")
        parts = [
            f"{quoted(each.field)} {each.sign} {self._mark(number)}" for number, each in enumerate(conditions, start=1)
        ]
        values = [each.value for each in conditions]
        return (" where " + " and ".join(parts) if parts else ""), values
