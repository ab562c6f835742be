"""The page of what changed between two sets of links."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import numpy as np

from veclink.data.changes import Changes, sentence
from veclink.data.titles import clipped
from veclink.files.atomic import written_whole
from veclink.report.markup import scrolled, verdict_section
from veclink.report.page import page

SHOWN = 500
HEADS = ("What", "Row of A", "Before", "After", "Probability before", "after")
LOOKS = {True: "linkable", False: "doubtful"}


def save_changes(path: str | os.PathLike[str], found: Changes, before: str, after: str) -> None:
    """Write the page to `path`, whole or not at all; before, after: what the two files are called."""
    counts = found.counts()
    same = counts["kept"] == len(found)
    figures = "".join(
        f'<div><dt>{kind.capitalize()}</dt><dd><div class="number">{count:,}</div></dd></div>'
        for kind, count in counts.items()
    )
    head = "Nothing changed." if same else "What changed since."
    first = verdict_section(LOOKS[same], head, sentence(counts), f'<dl class="figures">{figures}</dl>')
    changed = np.flatnonzero(found.kind != "kept")
    more = f"<p>The first {SHOWN:,} of {len(changed):,} are shown.</p>" if len(changed) > SHOWN else ""
    rows = [_row(found, row) for row in changed[:SHOWN]]
    table = scrolled("Links that changed", HEADS, rows, right=HEADS[4:]) if rows else ""
    body = f'{first}</section><section id="changes"><h2>Links that changed</h2>{more}{table}</section>'
    html = page(
        f"{before} and {after}",
        '<a href="#changes">Changes</a>',
        body,
        scripts=("theme.js",),
        holds="ids of linked objects",
    )
    with written_whole(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def _row(found: Changes, row: int) -> list[str]:
    names = (found.a[row], found.before[row], found.after[row])
    chances = (found.probability_before[row], found.probability_after[row])
    return [found.kind[row], *map(_name, names), *("–" if np.isnan(each) else f"{each:.3f}" for each in chances)]


def _name(value: Any) -> str:
    return "–" if value is None else escape(clipped(str(value)))
