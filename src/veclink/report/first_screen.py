"""The first screen: the verdict, the figures with their ranges, why, and what to do. Texts from outside are escaped."""

from __future__ import annotations

from html import escape

from veclink.report.content import Content
from veclink.report.estimates import Interval
from veclink.report.markup import percent
from veclink.report.naming import cleaned
from veclink.report.words import advice, headline

ICONS = {
    "linkable": '<path d="M7 12.5l3.2 3.2L17 9"/>',
    "doubtful": '<path d="M12 7v6.5M12 16.8v.2"/>',
    "not linkable": '<path d="M8 8l8 8M16 8l-8 8"/>',
}


def verdict(content: Content) -> str:
    """The first screen: the verdict, the figures with their ranges, why, and what to do."""
    links, estimates = content.links, content.estimates
    said = links.summary.verdict
    head, sentence = headline(links, estimates)
    reasons = "".join(f"<li>{escape(cleaned(reason))}</li>" for reason in links.summary.reasons)
    todo = "".join(
        f"<li>{escape(each.text)}{_show(each.shows)}</li>" for each in advice(links, estimates, content.n_close)
    )
    return f"""<section class="verdict {said.replace(" ", "-")}" aria-labelledby="said">
<div class="say"><svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"
 stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="12" r="10"/>{ICONS[said]}</svg>
<h1 id="said">{escape(head)}</h1><p>{escape(sentence)}</p></div>
{_figures(content)}
<div class="why"><div><h2>Why</h2><ul>{reasons or "<li>No reasons were given.</li>"}</ul></div>
<div><h2>What to do</h2><ul>{todo}</ul></div></div></section>"""


def _show(name: str | None) -> str:
    return "" if name is None else f' <a href="#links" data-filter="{name}">Show them</a>'


def _figures(content: Content) -> str:
    links, estimates = content.links, content.estimates
    boxes = [("Links", f"{len(links):,}", f"of {min(links.summary.n_a, links.summary.n_b):,} possible")]
    if estimates is not None:
        boxes += [
            ("Precision, estimated", percent(estimates.precision.value), _range(estimates.precision)),
            ("Recall, estimated", percent(estimates.recall.value), _range(estimates.recall)),
            (
                "Shared objects, estimated",
                f"{estimates.overlap.value:,.0f}",
                f"{estimates.overlap.low:,.0f} to {estimates.overlap.high:,.0f}",
            ),
        ]
    true: list[float | None] = [None] * len(boxes)
    if content.truth is not None and estimates is not None:
        true[1:3] = content.truth.precision, content.truth.recall
    cells = "".join(
        f'<div><dt>{name}</dt><dd><div class="number">{value}</div><div class="range">{more}</div>'
        + ("" if known is None else f'<div class="true">in truth {percent(known)}</div>')
        + "</dd></div>"
        for (name, value, more), known in zip(boxes, true, strict=True)
    )
    return f'<dl class="figures">{cells}</dl>'


def _range(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
