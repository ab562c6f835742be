"""Results as a notebook shows them: a headline, a few figures, and the first rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from veclink.data.summary import range_in_words

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


def share(value: float, between: tuple[float, float] | None = None) -> str:
    """A share in per cent, with the range that it probably lies in."""
    range_ = "" if between is None else f" ({range_in_words(between, digits=0)})"
    return f"{100 * value:.1f} %{range_}"


def _cell(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"<td>{escape(text)}</td>"
