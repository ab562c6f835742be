"""What rows are called wherever a person reads of them: their ids, and a title from the payload."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.pairs import lookup

if TYPE_CHECKING:
    import pyarrow as pa

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
    return Names(rows, written, _titles(rows, collection), ids is None and not known)


def title_column(collection: Collection | None) -> str | None:
    """The column of the payload that tells a person what a row is: a usual name, else the first column of text."""
    if collection is None or collection.payload is None:
        return None
    texts = _texts(collection.payload)
    return usual_title(texts) or next(iter(texts), None)


def usual_title(names: Iterable[str]) -> str | None:
    """Of the names of columns, the one that is usual for a title; None where none is."""
    listed = list(names)
    return next((name for wanted in TITLES for name in listed if name.lower() == wanted), None)


def named_title(columns: Mapping[str, Any]) -> str | None:
    """Of Arrow columns by their names, the one of text that is called as titles usually are; None where none is."""
    return usual_title(name for name, column in columns.items() if str(column.type) in TEXT)


def _texts(payload: pa.Table) -> list[str]:
    """The columns of text."""
    return [field.name for field in payload.schema if str(field.type) in TEXT]


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


def _titles(rows: np.ndarray, collection: Collection | None) -> list[str] | None:
    column = title_column(collection)
    if column is None or collection is None or collection.payload is None:
        return None
    values = collection.payload.column(column).take(rows).to_pylist()
    return ["" if value is None else clipped(str(value)) for value in values]
