"""How a person is told of results: reasons in sentences, what rows are called, cards in a notebook, and tables.

A reason is a code with values. `templates/words.txt` has its sentence, and all that pages say. Rows are called by their
ids and by titles from the payload.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.data.pairs import lookup
from veclink.errors import needed, plural

if TYPE_CHECKING:
    from jinja2 import Environment

FROM_NOTHING = "no seeds"
"""The name of a start where nothing was given, in the trace of links."""
ROWS_TO_JUDGE: Final = 30
"""Rows from which links are judged, for messages of packages that know no linker: MIN_POOL of span."""
# Right pairs that are usually enough, and that are enough for hard data: more of them seldom help.
USUALLY_ENOUGH, ENOUGH_FOR_HARD_DATA = 15, 60
UNKNOWN = ("no_links_without_seeds", "no_links_from_given", "too_few_rows")
"""Codes of a run that could not tell what is shared: the first reason, which pages and terminals put on top."""
# How sentences begin in files that were written before there were codes; of all others the state of a run is not read.
OLD = {
    "No links found without seeds.": "no_links_without_seeds",
    "No links found, neither from what was given": "no_links_from_given",
    "Too few rows": "too_few_rows",
    "Next: ": "next",
    "How many of these links are right is uncertain": "uncertain_precision",
    "Starting from ": "said_elsewhere",
    "About ": "said_elsewhere",
}


@dataclass(frozen=True, init=False)
class Reason:
    """Why a result is as it is: `Reason("too_few_rows", rows=10, needed=30)`; as a text, it is the sentence."""

    code: str
    values: dict[str, Any] = field(hash=False)
    text: str | None = field(compare=False)  # the sentence, where a file has it; else the words say it

    def __init__(self, code: str, text: str | None = None, **values: Any) -> None:
        self.__dict__.update(code=code, values=values, text=text)  # it is frozen for everybody else

    def __str__(self) -> str:
        return say(self.code, **self.values) if self.text is None else self.text

    @classmethod
    def of(cls, sentence: str) -> Reason:
        """The reason that a sentence of a file without codes stands for; where that is not known, just the sentence."""
        code = next((code for begun, code in OLD.items() if sentence.startswith(begun)), "text")
        return cls(code, sentence, says=sentence)


def plain_reasons(why: Iterable[Reason]) -> dict[str, Any]:
    """Reasons as a file has them: `reasons` for people, `why` for programs."""
    listed = list(why)
    return {"reasons": list(map(str, listed)), "why": [{"code": each.code, **each.values} for each in listed]}


def read_reasons(told: Mapping[str, Any]) -> tuple[Reason, ...]:
    """What `plain_reasons` gave; of files without codes, what the sentences stand for."""
    sentences, why = told.get("reasons", ()), told.get("why")
    if why is None:
        return tuple(map(Reason.of, sentences))
    return tuple(Reason(text=text, **plain) for text, plain in zip(sentences, why, strict=True))


def say(code: str, **values: Any) -> str:
    """What the words have for a code and its values, in one line."""
    return cleaned(getattr(templates("veclink.data").get_template("words.txt").module, code)(**values))


@cache
def templates(package: str, *, escaped: bool = False) -> Environment:
    """The templates of a package; escaped: for HTML, so that no text from outside is taken for any."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(package),
        autoescape=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(plural=plural)
    made.filters.update(thousands="{:,.0f}".format, percent="{:.0%}".format)
    return made


TITLES = ("title", "name", "label", "headline", "subject", "question", "text", "content", "document",
          "description")  # fmt: skip
TEXT = ("string", "large_string")  # as Arrow calls the kinds
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
                ids = self.ids[column]
                named = [str(row if ids is None else ids[row]) if row >= 0 else "" for row in rivals.tolist()]
                found[f"rival_id_{side}"] = np.array([*named, None], object)[:-1]
        return found


def texts_of(a: Collection, b: Collection) -> PayloadTexts:
    """The texts of the links between two collections, as far as their payload was read."""
    return PayloadTexts((a.ids, b.ids), (_title_values(a), _title_values(b)))


class Tabled:
    """A result with `columns()`, and the frames that people want of them."""

    def columns(self) -> Mapping[str, Any]:
        """What the table is made of."""
        raise NotImplementedError

    def table(self) -> pa.Table:
        """The columns as an Arrow table."""
        return pa.table(dict(self.columns()))

    def to_arrow(self) -> pa.Table:
        """The result as an Arrow table."""
        return self.table()

    def to_pandas(self) -> Any:
        """The result as a pandas frame."""
        needed("pandas", "A pandas frame")
        return self.table().replace_schema_metadata(None).to_pandas()

    def to_polars(self) -> Any:
        """The result as a polars frame."""
        return needed("polars", "A polars frame").from_arrow(self.table())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For whatever reads Arrow: `polars.DataFrame(links)`, `duckdb.sql("from links")`, `pyarrow.table(links)`."""
        return self.table().__arrow_c_stream__(requested_schema)


class Told:
    """A result that a person is told the same of in a terminal and in a notebook: a headline, then figures by name."""

    headline: str

    def figures(self) -> list[tuple[str, str]]:
        """What is told below the headline."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {name}: {value}" for name, value in self.figures())])

    def _repr_html_(self) -> str:
        return card(self.headline, self.figures(), (), ())


FIRST = 5
"""Rows of a table that are shown."""


def card(headline: str, figures: Iterable[tuple[str, str]], head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """HTML of a result: `headline`, then (name, value) of each figure, then the rows below their headings."""
    told = "".join(f"<br>{escape(name)}: {escape(value)}" for name, value in figures)
    body = ""
    for row in rows:
        cells = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        body += f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in cells)}</tr>"
    if not body:
        return f"<div><strong>{escape(headline)}</strong>{told}</div>"
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{escape(headline)}</strong>{told}{table}</div>"
