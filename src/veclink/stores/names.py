"""Names and filters in SQL for drivers that do not quote names themselves: always quoted, quotes inside doubled."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from veclink.errors import InputError, named
from veclink.stores.filters import Condition


def quoted(name: str) -> str:
    """`name` as an SQL identifier, whatever is in it; no database takes a NUL."""
    if "\0" in name:
        raise InputError("A name has a NUL character in it, which no database takes; choose another.")
    return '"' + name.replace('"', '""') + '"'


def where_clause(conditions: Sequence[Condition], columns: Container[str], name: str) -> tuple[str, list[Any]]:
    """ " where …" with a question mark for each value (empty without conditions), and the values to bind."""
    missing = [each.field for each in conditions if each.field not in columns]
    if missing:
        raise InputError(f"{name} has no column {named(missing)} to filter by.")
    parts = [f"{quoted(each.field)} {each.sign} ?" for each in conditions]
    return (" where " + " and ".join(parts) if parts else ""), [each.value for each in conditions]
