"""The first screen: the verdict, the figures with their ranges, why, and what to do. Texts from outside are escaped."""

from __future__ import annotations

from html import escape

from veclink.confidence.intervals import Interval
from veclink.data.summary import range_in_words
from veclink.data.titles import cleaned
from veclink.report.content import Content
from veclink.report.examples import Example
from veclink.report.markup import percent, verdict_section
from veclink.report.words import advice, headline, is_open, shown_reasons

RANGES = (
    "Estimated from the vectors alone, without labels. “Likely” ranges hold the truth about nine times in ten on data "
    "like those that veclink was measured on."
)


def verdict(content: Content) -> str:
    """The first screen: the verdict, the figures with their ranges, why, and what to do."""
    links, estimates = content.links, content.estimates
    head, sentence = headline(links, estimates)
    agreement = links.summary.agreement
    checked = () if agreement is None or cleaned(agreement.sentence) in sentence else (agreement.sentence,)
    told = [*checked, *shown_reasons(links)] or ["No reasons were given."]
    look = links.summary.verdict
    if look != links.summary.verdict_in_words:
        look = "doubtful"
    if is_open(links):
        look = "doubtful"  # red would say that nothing is shared, which nobody knows
    reasons = [escape(cleaned(reason)) for reason in told]
    todo = [f"{escape(each.text)}{_show(each.shows)}" for each in advice(links, estimates, content.n_close)]
    lists = ("Why", reasons), ("What to do", todo)
    top = verdict_section(look, head, sentence, _figures(content), *lists)
    return f"{top}{_examples(content)}</section>"


def _examples(content: Content) -> str:
    """A few pairs to check by eye, where they have names a person can read."""
    if not content.titled or not content.examples:
        return ""
    words = {"sure": "A sure link", "doubtful": "A doubtful link", "left out": "Closest to a link, left out"}
    rows = "".join(
        f"""<tr><th scope="row">{words[each.kind]}
<span class="soft">probability {each.probability:.2f}{_known(each)}</span></th>
<td data-label="A">{escape(each.title_a)}</td><td data-label="B">{escape(each.title_b)}</td>
<td class="doubt">{escape(cleaned(each.doubt)) or "Nothing speaks against it."}</td>
<td><button type="button" data-open="{each.rank}" hidden aria-label="Explain: {words[each.kind]}">Why?</button></td>
</tr>"""
        for each in content.examples
    )
    unseen = '<span class="unseen">{}</span>'.format
    words_above = (unseen("Which"), "In A", "In B", "What speaks against it", unseen("Explanation"))
    heads = "".join(f'<th scope="col">{head}</th>' for head in words_above)
    return f"""<div class="eye"><h2>See for yourself</h2>
<div class="scroll flat" tabindex="0" role="region" aria-label="Examples of links"><table class="stack"><thead>
<tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></div>"""


def _known(example: Example) -> str:
    if example.right is None:
        return ""
    return f"; {'would have been ' if example.kind == 'left out' else ''}{'right' if example.right else 'wrong'}"


def _show(name: str | None) -> str:
    return "" if name is None else f' <a href="#links" data-filter="{name}">Show them</a>'


def _figures(content: Content) -> str:
    links, estimates = content.links, content.estimates
    boxes = [("Links", f"{len(links):,}", f"of {min(links.summary.n_a, links.summary.n_b):,} possible", "")]
    if estimates is not None:
        shared = estimates.overlap
        boxes += [
            ("Precision, estimated", percent(estimates.precision.value), _range(estimates.precision),
             "of the links are right"),
            ("Recall, estimated", percent(estimates.recall.value), _range(estimates.recall),
             "of what is shared is linked"),
            ("Shared objects, estimated", f"{shared.value:,.0f}", f"likely {shared.low:,.0f} to {shared.high:,.0f}",
             "are in both collections"),
        ]  # fmt: skip
    true: list[float | None] = [None] * len(boxes)
    if content.truth is not None and estimates is not None:
        true[1:3] = content.truth.precision, content.truth.recall
    cells = "".join(
        f'<div><dt>{name}</dt><dd><div class="number">{value}</div>'
        + (f'<div class="hint">{hint}</div>' if hint else "")
        + f'<div class="range">{more}</div>'
        + ("" if known is None else f'<div class="true">in truth {percent(known)}</div>')
        + "</dd></div>"
        for (name, value, more, hint), known in zip(boxes, true, strict=True)
    )
    note = "" if estimates is None else f'<p class="note">{RANGES}</p>'
    return f'<dl class="figures">{cells}</dl>{note}'


def _range(interval: Interval) -> str:
    told = range_in_words((interval.low, interval.high), to=" to ")
    return f"likely {told}".replace(" %", "\u00a0%")
