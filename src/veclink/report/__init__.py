"""The report: one HTML file that says whether to trust the links, and shows why. It needs no network and no server."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.files.atomic import written_whole
from veclink.report.content import gather
from veclink.report.page import render
from veclink.stores.opening import open_collection
from veclink.uses.linked_pairs import check_links


def save_report(
    path: str | os.PathLike[str],
    links: Links,
    a: Any = None,
    b: Any = None,
    *,
    truth: Any = None,
    payload_a: Any = True,
    payload_b: Any = True,
) -> None:
    """Write the report of `links` to `path`, whole or not at all.

    a, b: the linked collections (arrays, collections or files), for titles and the map; without them the report shows
    ids and has no map. truth: the true pairs, where they are known (as seeds are given): links are then marked as right
    or wrong, and true precision and recall stand next to the estimates. payload_a, payload_b: titles and other columns
    of collections that do not carry them, as in `link`.
    """
    left = None if a is None else open_collection(a, payload=payload_a)
    right = None if b is None else open_collection(b, payload=payload_b)
    if left is not None and right is not None:
        check_links(links, left, right)
    rows = None
    if truth is not None:
        if left is None or right is None:
            rows = np.asarray(truth, np.int64).reshape(-1, 2)
        else:
            rows = resolve_pairs(truth, left, right, what="truth")
    page = render(gather(_with_note(links, left, right), left, right, truth=rows))
    with written_whole(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _with_note(links: Links, a: Collection | None, b: Collection | None) -> Links:
    """With what a payload that came after linking says, where it looks shuffled: its titles would mislead."""
    if links.summary.agreement is not None or a is None or b is None:
        return links
    agreement = links.agreement_with(a, b)
    if agreement is None or not agreement.note:
        return links
    return replace(links, summary=replace(links.summary, agreement=agreement))
