"""Names in SQL for drivers that do not quote them themselves: always quoted, quotes inside doubled."""

from __future__ import annotations

from veclink.errors import InputError


def quoted(name: str) -> str:
    """`name` as an SQL identifier, whatever is in it; no database takes a NUL."""
    if "\0" in name:
        raise InputError("A name has a NUL character in it, which no database takes; choose another.")
    return '"' + name.replace('"', '""') + '"'
