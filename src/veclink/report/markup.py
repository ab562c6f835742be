"""Small pieces of HTML that several parts of the pages use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

ICONS = {
    "linkable": '<path d="M7 12.5l3.2 3.2L17 9"/>',
    "doubtful": '<path d="M12 7v6.5M12 16.8v.2"/>',
    "not linkable": '<path d="M8 8l8 8M16 8l-8 8"/>',
}


def verdict_section(verdict: str, head: str, sentence: str, figures: str, *lists: tuple[str, Iterable[str]]) -> str:
    """The first screen of a page: the verdict in words, its figures, and lists with a heading each.

    head, sentence: plain text. figures, and the items of the lists, are HTML already.
    """
    columns = "".join(
        f"<div><h2>{name}</h2><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul></div>" for name, items in lists
    )
    return f"""<section class="verdict {verdict.replace(" ", "-")}" aria-labelledby="said">
<div class="say"><svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"
 stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="12" r="10"/>{ICONS[verdict]}</svg>
<h1 id="said">{escape(head)}</h1><p>{escape(sentence)}</p></div>
{figures}
<div class="why">{columns}</div>"""


def numbers(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The numbers of a chart as a table to open: the first value of a row is its name."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="number-cell">{escape(value)}</td>' for value in values)
        + "</tr>"
        for name, *values in rows
    )
    table = f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f"<details><summary>The numbers</summary>{table}</details>"


def scrolled(label: str, heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A table that scrolls on its own where it is too wide, and whose rows become cards on small screens.

    The cells are HTML already. right: the heads of columns of numbers.
    """

    def kind(head: str) -> str:
        return ' class="number-cell"' if head in right else ""

    top = "".join(f'<th scope="col"{kind(head)}>{escape(head)}</th>' for head in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{kind(head)} data-label="{escape(head)}">{cell}</td>' for head, cell in zip(heads, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    table = f'<table class="stack"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'


def tagged(name: str, side: str) -> str:
    """A name with the collection it is in."""
    return f'{escape(name)} <span class="tag">in {side.upper()}</span>'


def percent(share: float) -> str:
    """A share with one decimal."""
    return f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """Seconds as a person says them: in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
