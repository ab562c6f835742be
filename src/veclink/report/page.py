"""One page from its parts: style, script and data inside, and a policy that lets the browser load nothing else."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

from veclink import __version__
from veclink.report import chart_parts, table_parts
from veclink.report.content import Content
from veclink.report.first_screen import verdict

SCRIPTS = ("data.js", "draw.js", "charts.js", "map.js", "table.js", "explain.js", "theme.js", "main.js")
PARTS = (
    ("threshold", "Threshold", chart_parts.threshold),
    ("growth", "Growth", chart_parts.growth),
    ("map-section", "Map", chart_parts.link_map),
    ("links", "Links", table_parts.links_table),
    ("trouble", "Close calls", table_parts.trouble),
    ("run", "The run", table_parts.facts),
)


def render(content: Content) -> str:
    """The report as HTML."""
    parts = [(anchor, name, part(content)) for anchor, name, part in PARTS]
    nav = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name, html in parts if html)
    body = verdict(content) + '<p id="failed" class="failed" role="alert" hidden></p>'
    body += "".join(html for _, _, html in parts) + _DIALOG
    title = f"{content.name_a} and {content.name_b}: {content.links.summary.verdict}"
    data = f'<script type="text/plain" id="data">{content.packed}</script>'
    return page(title, nav, body, scripts=SCRIPTS, data=data)


def page(
    title: str,
    nav: str,
    body: str,
    *,
    scripts: tuple[str, ...],
    data: str = "",
    holds: str = "titles and ids of the linked objects",
) -> str:
    """A whole page that needs nothing but itself. holds: what a reader has to know before giving it away.

    The policy allows the one script and the one style by their hashes: whatever a title holds, it cannot run.
    """
    style = asset("style.css")
    script = "\n".join(asset(name) for name in scripts)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{escape(title)}</title><style>{style}</style></head>
<body><a class="skip" href="#main">Skip to the verdict</a>
<header class="bar"><div><strong>veclink</strong><nav aria-label="Parts of the page">{nav}</nav>
<button type="button" id="theme" aria-label="Change between light and dark">◐</button></div></header>
<main id="main">{body}
<noscript><p class="failed">The charts and the table need JavaScript, which is off. The verdict and its figures are
complete without it.</p></noscript>
<footer>Made by veclink {escape(__version__)}. This file is complete: it loads nothing and sends nothing. It holds
{holds}, so share it as you would share those.</footer></main>
{data}<script>{script}</script></body></html>
"""


def asset(name: str) -> str:
    """The text of a file that belongs to the pages."""
    return files("veclink.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_DIALOG = """<dialog id="why" aria-labelledby="why-head"><div class="top"><h2 id="why-head">Link</h2>
<button type="button" data-step="-1" aria-label="Previous link">←</button>
<button type="button" data-step="1" aria-label="Next link">→</button>
<button type="button" data-close>Close</button></div><div class="body"></div></dialog>"""
