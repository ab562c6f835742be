"""The report: one HTML file that says whether to trust the links, and shows why. It needs no network and no server."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from veclink import __version__
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.summary import range_in_words
from veclink.data.words import cleaned, clipped, templates
from veclink.errors import without_secrets
from veclink.files.atomic import written_whole
from veclink.report.content import gather
from veclink.report.words import duration, percent
from veclink.stores.opening import open_collection
from veclink.uses.linked_pairs import check_links

if TYPE_CHECKING:
    from jinja2 import Environment

    from veclink.probing import Probe

SCRIPTS = ("data.js", "draw.js", "charts.js", "map.js", "table.js", "explain.js", "theme.js", "main.js")


def save_report(
    path: str | os.PathLike[str],
    links: Links,
    a: Any = None,
    b: Any = None,
    *,
    truth: Any = None,
    payload_a: Any = True,
    payload_b: Any = True,
    force: bool = False,
) -> None:
    """Write the report of `links` to `path`, whole or not at all.

    a, b: the linked collections (arrays, collections or files), for titles and the map; without them the report shows
    ids and has no map. truth: the true pairs, as seeds are given (as rows without a and b): links are then marked as
    right or wrong, and true precision and recall stand next to the estimates. payload_a, payload_b: titles and other
    columns of collections that do not carry them. force: go on where these are not the vectors that were linked.
    """
    left = None if a is None else open_collection(a, payload=payload_a)
    right = None if b is None else open_collection(b, payload=payload_b)
    if left is not None and right is not None:
        check_links(links, left, right, force=force)
        truth = None if truth is None else resolve_pairs(truth, left, right, what="truth")
        agreement = links.agreement_with(left, right) if links.summary.agreement is None else None
        if agreement is not None and not agreement.fits:  # a payload that came after linking, and looks shuffled
            links = links.told(replace(links.summary, agreement=agreement))
    _write(path, "report.html", SCRIPTS, **gather(links, left, right, truth=truth))


def save_probe(path: str | os.PathLike[str], probe: Probe) -> None:
    """Write the page of a probe to `path`, whole or not at all."""
    _write(path, "probe.html", ("theme.js",), probe=probe)


def pages(package: str) -> Environment:
    """The templates of a package, in which every text from outside is escaped."""
    made = templates(package, escaped=True)
    made.filters.update(
        base=lambda name: clipped(PurePath(name).name),
        cleaned=lambda text: text if hasattr(text, "__html__") else cleaned(text),
        duration=duration,
        hashed=lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        likely=lambda bounds: f"likely {range_in_words(bounds, to=' to ')}".replace(" %", "\u00a0%"),
        percent=percent,
        told=lambda value: clipped(without_secrets(str(value))),
    )
    return made


def _write(path: str | os.PathLike[str], template: str, scripts: tuple[str, ...], **content: Any) -> None:
    """A page that needs nothing but itself: style, script and data inside."""
    asset = files("veclink.report").joinpath("assets")
    style, *code = (asset.joinpath(name).read_text("utf-8") for name in ("style.css", *scripts))
    html = pages("veclink.report").get_template(template)
    page = html.render(version=__version__, style=style, script="\n".join(code), **content)
    with written_whole(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
