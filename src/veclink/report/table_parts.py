"""The parts with tables: the links, close calls and hubs, the run. Texts from outside are escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from veclink.confidence import evidence
from veclink.data.titles import clipped
from veclink.errors import without_secrets
from veclink.report.content import CLOSE, Content
from veclink.report.markup import scrolled, tagged


def links_table(content: Content) -> str:
    """The table of links; its rows are filled in by the script."""
    n, listed = len(content.source), content.n_listed
    if not n:
        return ""
    options = [("kept", "links (above the threshold)"), ("doubtful", "links with probability below 0.9")]
    if "rival_a" in content.links.evidence:
        options.append(("close", "close calls"))
    if content.links.evidence.get("given", np.zeros(1)).any():
        options.append(("given", "given pairs"))
    if content.titled:
        options.append(("differ", "links whose titles differ"))
    if content.truth is not None:
        options.append(("wrong", "links that the truth does not have"))
    options += [("below", "pairs below the threshold"), ("all", "all pairs that the run considered")]
    choices = "".join(f'<option value="{key}">{word}</option>' for key, word in options)
    some = "" if listed == n else f" The {listed:,} pairs nearest to the threshold are listed here, of {n:,}."
    return f"""<section id="links" aria-labelledby="links-head"><h2 id="links-head">The links</h2>
<p>The surest first. <em>Lead</em> is how far a link scores above its closest rival.{some}</p>
<div class="table-tools"><label class="grow">Search titles and ids <input type="search" id="search"></label>
<label>Show <select id="filter">{choices}</select></label>
<span id="found" class="soft small" role="status"></span></div>
{_column_filters(content)}
<div class="scroll" tabindex="0" role="region" aria-label="Table of links"><table class="stack">
<caption class="unseen">Links, with probability, names on both sides and marks</caption><thead><tr>
<th scope="col" class="c-rank number-cell" data-sort="rank" aria-sort="ascending"><button type="button">Rank</button>
</th><th scope="col" class="c-p">Probability</th>
<th scope="col" data-sort="a" aria-sort="none"><button type="button">A</button></th>
<th scope="col" data-sort="b" aria-sort="none"><button type="button">B</button></th>
<th scope="col" class="c-margin number-cell" data-sort="margin" aria-sort="none"><button type="button">Lead</button>
</th><th scope="col" class="c-mark">Marks</th>
<th scope="col" class="c-open"><span class="unseen">Explanation</span></th>
</tr></thead><tbody></tbody></table></div>
<div class="pages"><button type="button" data-page="-1">Previous</button>
<span id="where" class="small soft" role="status"></span>
<button type="button" data-page="1">Next</button></div></section>"""


def _column_filters(content: Content) -> str:
    """Fields that ask something of one column each."""
    share = 'type="number" min="0" max="1" step="any"'
    fields = [
        ("p-least", "Probability at least", share),
        ("p-most", "Probability at most", share),
        ("a", "A contains", 'type="search"'),
        ("b", "B contains", 'type="search"'),
    ]
    if "rival_a" in content.links.evidence:
        fields.append(("lead-most", "Lead at most", 'type="number" step="any"'))
    labels = "".join(f'<label>{name} <input data-column="{key}" {kind}></label>' for key, name, kind in fields)
    return f"""<details class="by-column"><summary>Filter by column</summary>
<div class="table-tools">{labels}</div></details>"""


def trouble(content: Content) -> str:
    """Close calls and hubs."""
    if not content.close_calls and not content.hubs:
        return ""
    shown = f"the {len(content.close_calls):,} closest of {content.n_close:,}" if content.close_calls else "none"
    parts = [
        f"""<h3>Close calls: {shown}</h3><p class="soft small">Links whose runner-up scores at most {CLOSE} less. They
are often near-duplicates: versions of one document, or objects of one series.</p>"""
    ]
    if content.close_calls:
        calls = [
            (
                escape(call.a),
                escape(call.b),
                tagged(call.rival, call.side),
                f"{call.margin:.3f}",
                f"{call.probability:.2f}",
            )
            for call in content.close_calls
        ]
        heads = ("A", "Linked with, in B", "Runner-up", "Lead", "Probability")
        parts.append(scrolled("Close calls", heads, calls, right=heads[3:]))
    if content.hubs:
        hubs = [
            (tagged(hub.name, hub.side), f"{hub.chosen:,}", escape(hub.partner) if hub.partner else "nothing")
            for hub in content.hubs
        ]
        parts.append("""<h3 class="spaced">Hubs</h3><p class="soft small">Objects that several of the other collection
prefer to all others. One or two dozen are usual; an object chosen by very many is vague, empty or broken.</p>""")
        parts.append(scrolled("Hubs", ("Object", "Chosen by", "Linked with"), hubs, right=("Chosen by",)))
    head = '<h2 id="trouble-head">Close calls and hubs</h2>'
    return f'<section id="trouble" aria-labelledby="trouble-head">{head}{"".join(parts)}</section>'


def _told(value: object) -> str:
    return clipped(without_secrets(str(value)))


def facts(content: Content) -> str:
    """How the run was made, and what the words mean."""
    summary, options = content.links.summary, content.links.options
    rows = [
        ("A", f"{content.name_a}, {summary.n_a:,} vectors"),
        ("B", f"{content.name_b}, {summary.n_b:,} vectors"),
        ("Method", summary.method),
        ("Rounds", f"{summary.iterations:,}"),
        *((name.replace("_", " ").capitalize(), _told(value)) for name, value in options.items()),
    ]
    if summary.seconds is not None:
        rows.append(("Time", f"{summary.seconds:.1f} s"))
    if summary.calibration is not None:
        rows.append(("Calibration", summary.calibration))
    if summary.wrong_seeds:
        rows.append(("Given pairs that look wrong, by row", _listed_pairs(summary.wrong_seeds)))
    if summary.contradicting_seeds:
        torn = _listed_pairs(summary.contradicting_seeds)
        rows.append(("Given pairs that contradict one another, by row", torn))
    table = "".join(f"<tr><th scope=row>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"""<section id="run" aria-labelledby="run-head"><h2 id="run-head">The run, and what the words mean</h2>
<div class="two"><div class="card"><table class="plain">{table}</table></div><div class="card small">
<p><strong>Precision</strong>: the share of the links that are right. <strong>Recall</strong>: the share of the shared
objects that are linked. <strong>F1</strong>: their harmonic mean. All are estimated without labels.</p>
<p><strong>Ranges</strong> are meant to hold the truth nine times in ten, where the data are like those that veclink was
measured on.</p>
<p><strong>Views</strong>: the linker looks at both collections from several random halves of the links that it has so
far. Views agree on a pair that they propose without having been told of it; runs that fail agree on little.</p>
<p><strong>Decoys</strong> are pairs made wrong on purpose: a link's partner is taken away, and the next best takes its
place. They show what wrong links look like.</p>
{_score_help()}</div></div></section>"""


def _listed_pairs(pairs: tuple[tuple[int, int], ...]) -> str:
    """The first twenty of the pairs, and whether there are more."""
    shown = ", ".join(f"{a} – {b}" for a, b in pairs[:20])
    return f"{shown} …" if len(pairs) > 20 else shown


def _score_help() -> str:
    entry = evidence.lookup("score")
    return "" if entry is None else f"<p><strong>Score</strong>: {escape(entry.help)}.</p>"
