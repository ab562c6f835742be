"""The page of a probe: the verdict, both collections side by side, what the seeds say, the forecast."""

from __future__ import annotations

import os
from html import escape
from pathlib import PurePath

from veclink.data.titles import cleaned, clipped
from veclink.files.atomic import written_whole
from veclink.probing import Probe
from veclink.report.markup import duration, numbers, percent, scrolled, verdict_section
from veclink.report.page import page
from veclink.report.vector_charts import bars, line

LOOKS = {"same space": "linkable", "unknown": "doubtful"}
HEADLINES = {
    "linkable": "These two can be linked.",
    "doubtful": "Doubtful: linking may not work here.",
    "not linkable": "Not linkable as they are.",
    "same space": "No linking needed: both are in one space.",
    "unknown": "Unknown: nothing tried so far can tell.",
}


def save_probe(path: str | os.PathLike[str], probe: Probe) -> None:
    """Write the page of a probe to `path`, whole or not at all."""
    parts = [("sides", "Collections", _sides(probe)), ("seeds", "Seeds", _seeds(probe))]
    nav = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name, html in parts if html)
    title = f"{_name(probe.a.name)} and {_name(probe.b.name)}: {probe.verdict}"
    html = page(
        title,
        nav,
        _verdict(probe) + "".join(html for _, _, html in parts),
        scripts=("theme.js",),
        holds="names of files",
    )
    with written_whole(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def _verdict(probe: Probe) -> str:
    look = "doubtful" if probe.is_open else LOOKS.get(probe.verdict, probe.verdict)
    head = "No links found without seeds." if probe.is_open else HEADLINES[probe.verdict]
    ahead = probe.forecast
    boxes = [("Vectors in A", f"{probe.a.rows:,}", f"{probe.a.dimension:,} dimensions"),
             ("Vectors in B", f"{probe.b.rows:,}", f"{probe.b.dimension:,} dimensions")]  # fmt: skip
    if ahead is not None and ahead.precision is not None and ahead.precision_range is not None:
        low, high = ahead.precision_range
        boxes.append(("Precision, forecast", percent(ahead.precision), f"likely {100 * low:.1f} to {100 * high:.1f} %"))
    if ahead is not None and ahead.recall is not None and ahead.recall_range is not None:
        low, high = ahead.recall_range
        boxes.append(("Recall, forecast", percent(ahead.recall), f"likely {100 * low:.1f} to {100 * high:.1f} %"))
    figures = "".join(
        f'<div><dt>{name}</dt><dd><div class="number">{value}</div><div class="range">{more}</div></dd></div>'
        for name, value, more in boxes
    )
    if probe.start is not None:
        trial = [probe.start.sentence, f"The trial took {duration(probe.start.seconds)} on this machine."]
    elif ahead is None:
        trial = ["No trial was made."]
    else:
        least, most = (duration(each) for each in ahead.seconds_range)
        trial = [f"A trial linked everything, in {duration(ahead.seconds)} on this machine.", *ahead.reasons]
        trial = [each for each in trial if each not in (probe.sentence, *probe.remarks)]
        if not ahead.whole:
            trial[0] = (
                f"A trial linked {ahead.rows[0]:,} and {ahead.rows[1]:,} vectors near the seeds. Such a part is harder "
                "than the whole; the forecast is of all links, and allows for that. Linking everything should "
                f"take about {duration(ahead.seconds)} on this machine ({least} to {most})."
            )
    seen = [escape(each) for each in probe.remarks] or ["Nothing stands in the way."]
    first = "What to do" if probe.is_open else "What was seen"
    lists = (first, seen), ("The forecast", [escape(cleaned(each)) for each in trial])
    figures = f'<dl class="figures">{figures}</dl>'
    sentence = probe.sentence.removeprefix(head).strip()
    return verdict_section(look, head, sentence, figures, *lists) + "</section>"


def _sides(probe: Probe) -> str:
    of_b = probe.b.told()
    rows = [(name, escape(of_a), escape(of_b[name])) for name, of_a in probe.a.told().items()]
    heads = ("What", f"A: {_name(probe.a.name)}", f"B: {_name(probe.b.name)}")
    return f"""<section id="sides" aria-labelledby="sides-head"><h2 id="sides-head">The two collections</h2>
<p>{escape(probe.same_space.told(probe.a.rows))} Hubness is the skew of how often a vector is among the ten nearest of
others: above 3, some vectors are near to everything.</p>
{scrolled("The two collections", heads, rows, heads[1:])}</section>"""


def _seeds(probe: Probe) -> str:
    seeds = probe.seeds
    if seeds is None:
        return ""
    charts = []
    if seeds.curve:
        points = [(far, value) for far, value, _ in seeds.curve]
        table = numbers(
            ("Distance in A", "Correlation", "Pairs"), [(f"{x:.2f}", f"{y:.2f}", f"{n:,}") for x, y, n in seeds.curve]
        )
        charts.append(f"""<figure class="card"><figcaption><h3>Do distances agree?</h3><p>Correlation of the distances
between seeds in A and in B, from near pairs to far ones. High on the left is what linking lives on.</p></figcaption>
{line(points, "distance in A", "Correlation of distances by distance")}{table}</figure>""")
    if seeds.neighbours:
        table = numbers(
            ("Neighbours", "Shared", "By chance"), [(str(k), f"{x:.2f}", f"{y:.2f}") for k, x, y in seeds.neighbours]
        )
        groups = [(str(k), share, chance) for k, share, chance in seeds.neighbours]
        charts.append(f"""<figure class="card"><figcaption><h3>Do neighbours agree?</h3><p>Overlap (Jaccard) of a seed's
nearest other seeds in A and in B; the line is what chance gives.</p></figcaption>
{bars(groups, "nearest seeds", "Overlap of neighbours")}{table}</figure>""")
    suspects = "<p>None of the seeds looks wrong.</p>"
    if seeds.suspects is None:
        suspects = "<p>Whether single seeds are wrong could not be told: that takes a trial that finds links.</p>"
    elif seeds.suspects:
        rows = [(f"{a:,}", f"{b:,}") for a, b in seeds.suspects]
        suspects = f"""<h3 class="spaced">Seeds that look wrong</h3><p class="soft small">Projected on the links
that the trial found without them, the two are far apart. Linking leaves them out; check them.</p>{
            scrolled("Seeds that look wrong", ("Row in A", "Row in B"), rows, ("Row in A", "Row in B"))
        }"""
    return f"""<section id="seeds" aria-labelledby="seeds-head"><h2 id="seeds-head">The seeds</h2>
<p>{seeds.count:,} known pairs. Projected on the others, {percent(seeds.typical)} of a collection is nearer to a seed
than its partner is (wrong pairs: about 40 %).</p><div class="two">{"".join(charts)}</div>{suspects}</section>"""


def _name(name: str) -> str:
    return clipped(PurePath(name).name)
