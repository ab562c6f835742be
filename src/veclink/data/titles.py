"""What rows are called wherever a person reads of them: their ids, titles from the payload, and the ids of rivals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.data.pairs import lookup

TITLES = ("title", "name", "label", "headline", "subject", "question", "text", "content", "document",
          "description")  # fmt: skip
TEXT = ("string", "large_string", "string_view")  # as Arrow calls the kinds
LONGEST = 160
CUT = "…"  # at the end of a text that was shortened
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format, half a character, line and paragraph separators


@dataclass(frozen=True, eq=False)
class Names:
    """The rows of one collection that a report speaks of, in rising order, with their ids and titles.

    ids: as they are, for a reader may save them again; row numbers where `numbered`. titles: None where the collection
    has no payload to take them from.
    """

    rows: np.ndarray
    ids: list[str]
    titles: list[str] | None
    numbered: bool

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Where rows stand among these; −1 for −1 and for rows that are not here."""
        return lookup(self.rows, rows).astype(np.int32)

    def of(self, row: int) -> str:
        """The title of a row, else its id."""
        place = int(self.place(np.array([row]))[0])
        if place < 0:
            return f"row {row}"
        title = self.titles[place] if self.titles is not None else ""
        return title or (f"row {row}" if self.numbered else clipped(self.ids[place]))


def names(rows: np.ndarray, collection: Collection | None, known: dict[int, str]) -> Names:
    """The names of some rows. known: ids that the links themselves carry, for reports made without the collection."""
    rows = np.unique(rows[rows >= 0]).astype(np.int64)
    ids = None if collection is None else collection.ids
    written = [str(ids[row]) for row in rows] if ids is not None else [known.get(int(r), str(r)) for r in rows]
    titles = _title_values(collection)
    return Names(rows, written, None if titles is None else _titles(titles, rows), ids is None and not known)


def title_column(collection: Collection | None) -> str | None:
    """The column of the payload that tells a person what a row is: a usual name, else the first column of text."""
    if collection is None or collection.payload is None:
        return None
    texts = [field.name for field in collection.payload.schema if str(field.type) in TEXT]
    return usual_title(texts) or next(iter(texts), None)


def usual_title(names: Iterable[str]) -> str | None:
    """Of the names of columns, the one that is usual for a title; None where none is."""
    listed = list(names)
    return next((name for wanted in TITLES for name in listed if name.lower() == wanted), None)


def named_title(columns: Mapping[str, Any]) -> str | None:
    """Of Arrow columns by their names, the one of text that is called as titles usually are; None where none is."""
    return usual_title(name for name, column in columns.items() if str(column.type) in TEXT)


def cleaned(text: str) -> str:
    """A text in one line, without characters that cannot be seen or that turn the line around."""
    if not text.isprintable():  # looking at each character takes long, and nearly all titles are printable
        text = "".join(" " if unicodedata.category(each) in UNSEEN else each for each in text)
    return " ".join(text.split())


def clipped(text: str) -> str:
    """A cleaned text that is not too long."""
    plain = cleaned(text[: 4 * LONGEST])
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1].rstrip() + CUT


def is_shortened(text: str) -> bool:
    """Whether `clipped` has cut a text; one that is shorter than what it leaves ends so by itself."""
    return text.endswith(CUT) and len(text) >= LONGEST - 1


def _title_values(collection: Collection | None) -> pa.ChunkedArray | None:
    name = title_column(collection)
    return None if name is None or collection is None or collection.payload is None else collection.payload.column(name)


def _titles(column: pa.ChunkedArray, rows: np.ndarray) -> list[str]:
    return ["" if value is None else clipped(str(value)) for value in column.take(rows).to_pylist()]


TEXTS = ("title_a", "title_b", "rival_id_a", "rival_id_b")
"""Columns that hold text, in the order in which they are written."""
Evidence = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class PayloadTexts:
    """Texts from the ids and the titles of two collections, each by row; None where a collection has none."""

    ids: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    titles: tuple[pa.ChunkedArray | None, pa.ChunkedArray | None] = (None, None)

    def of(self, pairs: np.ndarray, evidence: Evidence) -> dict[str, np.ndarray]:
        """Columns (m,) of str for pairs of rows (m, 2) with their evidence: those of `TEXTS` that are known."""
        found = {}
        for side, column in (("a", 0), ("b", 1)):
            titles = self.titles[column]
            if titles is not None:
                found[f"title_{side}"] = np.array([*_titles(titles, pairs[:, column]), None], object)[:-1]
            rivals = evidence.get(f"rival_{side}")
            if rivals is not None:
                found[f"rival_id_{side}"] = _names(rivals, self.ids[column])
        return {name: found[name] for name in TEXTS if name in found}


def texts_of(a: Collection, b: Collection) -> PayloadTexts:
    """The texts of the links between two collections, as far as their payload was read."""
    return PayloadTexts((a.ids, b.ids), (_title_values(a), _title_values(b)))


def _names(rows: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
    """Ids (m,) of rows, else the rows themselves; empty for −1."""
    found = np.full(len(rows), "", dtype=object)
    known = rows >= 0
    named: Any = rows[known] if ids is None else ids[rows[known]]
    found[known] = [str(each) for each in named]
    return found
