"""Tabled: results that are a table, for pandas, polars and whatever else reads Arrow, and as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from veclink.errors import needed


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
