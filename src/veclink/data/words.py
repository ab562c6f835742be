"""How results are told: reasons, of which `templates/words.txt` has the sentences, cards in a notebook, and tables.

A reason is a code with values; the same file has all that pages say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from veclink.data.titles import cleaned
from veclink.errors import needed, plural

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

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
    return cleaned(getattr(_words(), code)(**values))


@cache
def _words() -> TemplateModule:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    words = Environment(
        loader=PackageLoader("veclink.data"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    words.globals.update(plural=plural)
    words.filters.update(thousands="{:,.0f}".format, percent="{:.0%}".format)
    return words.get_template("words.txt").module


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
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return f"<div><strong>{escape(headline)}</strong>{told}</div>"
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{escape(headline)}</strong>{told}{table}</div>"


def _cell(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"<td>{escape(text)}</td>"
