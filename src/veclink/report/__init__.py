"""The report: one HTML file that says whether to trust the links, and shows why. It needs no network and no server."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from veclink.data.collection import Collection
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
    or wrong, and true precision and recall stand beside the estimates.
    """
    page = render(gather(links, _opened(a), _opened(b), truth=_rows(truth, a, b)))
    with written_whole(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _opened(source: Any) -> Collection | None:
    return None if source is None else open_collection(source)


def _rows(truth: Any, a: Any, b: Any) -> np.ndarray | None:
    if truth is None:
        return None
    if a is None or b is None:
        return np.asarray(truth, np.int64).reshape(-1, 2)
    return resolve_pairs(truth, open_collection(a), open_collection(b), what="truth")
