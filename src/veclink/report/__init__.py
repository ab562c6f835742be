"""The report: one HTML file that says whether to trust the links, and shows why. It needs no network and no server."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.files.atomic import written_whole
from veclink.report.content import gather
from veclink.report.page import render
from veclink.stores.opening import open_collection


def save_report(path: str | os.PathLike[str], links: Links, a: Any = None, b: Any = None, *, truth: Any = None) -> None:
    """Write the report of `links` to `path`, whole or not at all.

    a, b: the linked collections (arrays, collections or files), for titles and the map; without them the report shows
    ids and has no map. truth: the true pairs, where they are known (as seeds are given): links are then marked as right
    or wrong, and true precision and recall stand next to the estimates.
    """
    left, right = (None if each is None else open_collection(each) for each in (a, b))
    rows = None
    if truth is not None:
        if left is None or right is None:
            rows = np.asarray(truth, np.int64).reshape(-1, 2)
        else:
            rows = resolve_pairs(truth, left, right, what="truth")
    page = render(gather(links, left, right, truth=rows))
    with written_whole(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
