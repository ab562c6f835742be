"""The parts with charts: the threshold, the growth, the map. Each chart has its numbers as text below it."""

from __future__ import annotations

from html import escape

import numpy as np

from veclink.confidence.explanations import SURE
from veclink.confidence.intervals import estimates
from veclink.report.content import Content
from veclink.report.markup import numbers, percent

LINES = 200  # of sure links, as many as can be told apart on the map; map.js draws as many doubtful ones at most


def threshold(content: Content) -> str:
    """The threshold, with the two charts that it can be dragged in."""
    links, n = content.links, len(content.source)
    if not n:
        return ""
    estimated = content.estimates is not None
    figures = [("at-links", "Links kept", f"{len(links):,}", '<small id="at-least"></small>')]
    if estimated:
        figures += [
            ("at-precision", "Precision", "", '<small id="at-precision-range"></small>'),
            ("at-recall", "Recall", "", '<small id="at-recall-range"></small>'),
            ("at-wrong", "Wrong links, about", "", ""),
            ("at-f1", "F1", "", ""),
        ]
    read = "".join(f'<div><dt>{name}</dt><dd><span id="{key}">{value}</span>{more}</dd></div>'
                   for key, name, value, more in figures)  # fmt: skip
    presets = (
        '<button type="button" data-threshold="0.95">95 % precision</button>'
        '<button type="button" data-threshold="0.99">99 % precision</button>'
        if estimated
        else ""
    )
    below = n - len(links)
    reach = (
        f"{below:,} further pairs were considered and left out; they are below the threshold."
        if below
        else "Only the links that were kept are here, so the threshold can be raised but not lowered."
    )
    return f"""<section id="threshold" aria-labelledby="threshold-head"><h2 id="threshold-head">The threshold</h2>
<p>Pairs above the threshold are links. Move it with the slider, or drag the line in a chart, and see what changes.
{reach}
{_inflation(content) if estimated else ""}</p>
<div class="card threshold"><div class="slide"><label for="threshold-slider">Links kept</label>
<input type="range" id="threshold-slider" min="1" max="{n}" value="{max(1, len(links))}"></div>
<dl class="read" aria-live="off">{read}</dl>
<div class="buttons"><button type="button" data-threshold="0">The chosen threshold</button>{presets}
<button type="button" id="save" class="strong">Save these links as CSV</button></div></div>
<div class="two">{_histogram(content)}{_curve(content) if estimated else ""}</div></section>"""


def _inflation(content: Content) -> str:
    """Why a wanted precision is usually exceeded."""
    return f"""To link with another threshold, use <code>--precision</code>. It is cautious, and so are the two
buttons with a precision: they count {content.links.summary.caution:.1f} wrong links for each that the probabilities
expect, so the precision shown for what they keep is higher than the one asked for."""


def growth(content: Content) -> str:
    """How the pool of links grew."""
    rounds = content.links.trace.get("growth", [])
    if not rounds:
        return ""
    starts = content.links.trace.get("starts", [])
    best: dict[str, list[float]] = {}
    for name, share in starts:
        best.setdefault(name, []).append(share)
    tried = "; ".join(
        f"{escape(name)}{f', {len(shares)} times' if len(shares) > 1 else ''}, agreement on "
        f"{'at most ' if len(shares) > 1 else ''}{max(shares):.0%} of the smaller collection"
        for name, shares in best.items()
    )
    rows = [(str(i), f"{pool:,}", f"{agreed:,}") for i, (pool, agreed) in enumerate(rounds, 1)]
    last = rounds[-1]
    if len(rounds) == 1:  # one bar says less than one sentence
        return f"""<section id="growth" aria-labelledby="growth-head"><h2 id="growth-head">How the links grew</h2>
<p>Linking grows a pool of links, round by round. Here it ended after one round, with {last[0]:,} links in the pool and
{last[1]:,} pairs that the views agreed on.{f" It started from: {tried}." if tried else ""}</p></section>"""
    return f"""<section id="growth" aria-labelledby="growth-head"><h2 id="growth-head">How the links grew</h2>
<p>Linking starts from little and grows a pool of links, round by round. A good run climbs and then stays where it is;
a run that never climbs has found nothing.{f" It started from: {tried}." if tried else ""}</p>
<figure class="card"><canvas id="growth-chart" role="img" aria-label="The pool after each of {len(rounds)} rounds; it
ended with {last[0]:,} links. The numbers are below."></canvas>
<ul class="key"><li class="kept">links in the pool</li><li class="line">pairs that the views agreed on</li></ul>
{numbers(("Round", "Pool", "Agreed"), rows)}</figure></section>"""


def link_map(content: Content) -> str:
    """The map of both collections."""
    mapped = content.mapped
    if mapped is None:
        return ""
    n_links = mapped.n_links
    doubtful = int(np.count_nonzero(content.links.probability[mapped.ranks] < SURE))
    alone = len(mapped.rows_a) - n_links, len(mapped.rows_b) - n_links
    lines = min(n_links - doubtful, LINES)
    boxes = "".join(
        f'<label><input type="checkbox" data-show="{key}"{" checked" if on else ""}> '
        f'<span class="swatch {style}"></span> {word}</label>'
        for key, style, word, on in (
            ("both", "both", f"linked ({n_links - doubtful:,})", True),
            ("doubtful", "unsure", f"doubtful links, with their two ends ({doubtful:,})", True),
            ("alone-a", "hollow", f"only in A ({alone[0]:,})", True),
            ("alone-b", "b hollow", f"only in B ({alone[1]:,})", True),
            ("density", "density", "shading: how much is linked there", True),
            ("links", "link", f"the two ends of {lines:,} other links", False),
        )
    )
    some = [f"{n_links:,} of the {len(content.links):,} links"] if n_links < len(content.links) else []
    some += [
        f"{drawn:,} of the {there:,} unlinked objects of {side}"
        for side, drawn, there in zip("AB", alone, mapped.unlinked, strict=True)
        if drawn < there
    ]
    drawn = f" Drawn are {', '.join(some)}." if some else ""
    return f"""<section id="map-section" aria-labelledby="map-head"><h2 id="map-head">What the two have in common</h2>
<p>Every mark is an object, and marks near each other are roughly alike. Green ones were found in both collections, and
the greener the clouds, the more of what lies there was. Blue or orange marks on bare clouds are topics that only one
collection has. Purple ones are doubtful links: their line runs to where each model alone would put the object, so a
long line is a disagreement. Point at a mark to read it, click to see why it is linked.{drawn}</p>
<div class="card map" id="map"><canvas tabindex="0" role="img" aria-label="Map of {n_links:,} linked objects, of which
{doubtful:,} are doubtful, {alone[0]:,} that are only in A and {alone[1]:,} only in B. Arrow keys move it, plus and
minus zoom, 0 shows all. The table of links holds the same links as text."></canvas>
<div class="tools"><button type="button" data-zoom="in" aria-label="Zoom in">+</button><button type="button"
 data-zoom="out" aria-label="Zoom out">−</button><button type="button" data-zoom="all">All</button></div>
<div class="tip" hidden></div><div class="shown">{boxes}</div></div></section>"""


def _histogram(content: Content) -> str:
    probability = content.source.probability
    counts, _ = np.histogram(probability, 10, (0.0, 1.0))
    decoys = content.links.trace.get("decoys")
    wrong = np.array(decoys["probability"]).reshape(10, -1).sum(axis=1) if decoys else None
    heads = ("Probability", "Pairs") if wrong is None else ("Probability", "Pairs", "Decoys")
    rows = [
        (f"{i / 10:.1f} to {(i + 1) / 10:.1f}", f"{count:,}", *(() if wrong is None else (f"{wrong[i]:,.1f}",)))
        for i, count in enumerate(counts)
    ]
    key = '<li class="decoy">decoys, in the number of wrong pairs expected</li>' if decoys else ""
    about = (
        "Right links gather at 1, wrong pairs at 0. Where the decoys are as high as the bars, pairs are wrong."
        if decoys
        else "The surest links are at 1."
    )
    return f"""<figure class="card"><figcaption><h3>How sure the pairs are</h3><p>{about}</p></figcaption>
<canvas id="histogram" role="img" aria-label="Histogram of the probabilities of {len(probability):,} pairs. The numbers
are below."></canvas><ul class="key"><li class="kept">kept</li><li class="below">below the threshold</li>{key}</ul>
{numbers(heads, rows)}</figure>"""


def _curve(content: Content) -> str:
    links, source = content.links, content.source
    overlap = links.summary.overlap or 1.0
    smaller = min(links.summary.n_a, links.summary.n_b)
    rows = []
    for wanted in (0.99, 0.95, 0.9, 0.8, 0.5, 0.2):
        kept = int(np.count_nonzero(source.probability >= wanted))
        if kept:
            sure = source.probability[:kept]
            right = float(sure.sum())
            told = estimates(sure, overlap, smaller, links.summary.caution)
            assert told is not None, "there are links, and an overlap"
            low, high = percent(told.precision.low), percent(told.precision.high)
            recall = percent(min(1.0, right / overlap))
            rows.append((f"≥ {wanted}", f"{kept:,}", percent(right / kept), f"{low} to {high}", recall))
    return f"""<figure class="card"><figcaption><h3>What a threshold costs</h3><p>Towards the right, more of the shared
objects are linked; towards the top, fewer links are wrong.</p></figcaption><canvas id="curve" role="img"
 aria-label="Estimated precision against estimated recall, for every threshold. The numbers are below."></canvas>
<ul class="key"><li class="kept">estimate, with its range</li></ul>
{numbers(("Probability", "Links", "Precision", "Range", "Recall"), rows)}</figure>"""
