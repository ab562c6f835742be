"""link(): from two collections and a start to links. Picks the method and the device, and judges the whole result."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.anchors import Anchors, anchors_from_pairs, anchors_from_vectors, resolve_pairs
from veclink.cloud import Cloud, prepare
from veclink.collection import Collection, open_collection
from veclink.errors import InputError, named
from veclink.geh import Growth, geh
from veclink.links import Links, Summary
from veclink.progress import ProgressListener

METHODS = ("geh",)
DEVICES = ("auto", "cpu", "cuda")
Source = np.ndarray | Collection | str | Path

# Mean vote shares seen on real pairs: 0.62 to 0.89 where GEH linked, 0.24 to 0.45 where 4 of 5 links were wrong.
AGREED, DISPUTED = 0.6, 0.5


def link(
    a: Source,
    b: Source,
    *,
    seeds: Any = None,
    anchors: tuple[Source, Source] | None = None,
    method: str = "geh",
    device: str = "auto",
    random_state: int = 0,
    memory: int | str | None = None,
    progress: ProgressListener | None = None,
    skip_zero: bool = False,
    **options: Any,
) -> Links:
    """Links between the rows of two collections that are the same object, one-to-one, the surest first.

    a, b: arrays, collections, or files. The start is one of `seeds`, (n, 2) known pairs (ids where the collections have
    ids, else rows) or a CSV or Parquet file of them, and `anchors`, two sets of vectors of the same objects in the same
    order, which are in neither collection. `options` are the method's own (see `geh.geh`). The same input, options and
    `random_state` give the same links on the same device. `memory` bounds what is allocated beside the vectors.
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"The method {method!r} is unknown; it is one of {named(METHODS)}.")
    if (seeds is None) == (anchors is None):
        count = "neither" if seeds is None else "both"
        raise InputError(f"Seeds and anchors were {count} given; method {method!r} starts from exactly one of them.")
    left, right = open_collection(a), open_collection(b)
    pairs = None if seeds is None else resolve_pairs(seeds, left, right)
    cloud_a = prepare(left, centre=False, skip_zero=skip_zero, side="A")
    cloud_b = prepare(right, centre=False, skip_zero=skip_zero, side="B")
    start = _start(cloud_a, cloud_b, pairs, anchors)
    growth = geh(
        cloud_a,
        cloud_b,
        start,
        memory=memory,
        device=chosen_device(device),
        random_state=random_state,
        progress=progress,
        **options,
    )
    summary = replace(judge(growth, len(left), len(right), n_start=len(start)), seconds=time.perf_counter() - began)
    return _links(growth, cloud_a, cloud_b, summary, {"random_state": random_state, **options})


def judge(growth: Growth, n_a: int, n_b: int, *, n_start: int) -> Summary:
    """The summary of what GEH found, with a verdict from two plain signs: did it grow, and did the views agree?

    Precision, recall and overlap are not estimated: θ is a share of votes, which runs above the precision when the
    overlap is small.
    """
    new = growth.confidence[growth.n_seeds :]
    reasons = []
    if not len(new):
        verdict = "not linkable"
        reasons.append(f"No pair was found beyond the {n_start:,} given.")
    elif all(each.anchors <= n_start for each in growth.history):
        verdict = "doubtful"
        reasons.append(
            f"No view held more than the {n_start:,} given pairs, so nothing confirms the {len(new):,} new links."
        )
    else:
        agreement = float(new.mean())
        verdict = "linkable" if agreement >= AGREED else "doubtful" if agreement >= DISPUTED else "not linkable"
        reasons.append(
            f"A new link was proposed by {agreement:.0%} of the {growth.views:,} views on average; "
            f"{AGREED:.0%} or more were seen where linking worked, under {DISPUTED:.0%} where most links were wrong."
        )
    return Summary(
        method="geh",
        n_a=n_a,
        n_b=n_b,
        n_links=len(growth.pairs),
        verdict=verdict,
        reasons=tuple(reasons),
        iterations=len(growth.history),
    )


def chosen_device(device: str) -> str:
    """The device meant by `device`: "auto" is "cuda" where torch and a GPU are there, else "cpu"."""
    if device not in DEVICES:
        raise InputError(f"The device {device!r} is unknown; it is one of {named(DEVICES)}.")
    if device != "auto":
        return device
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _start(a: Cloud, b: Cloud, pairs: np.ndarray | None, anchors: tuple[Source, Source] | None) -> Anchors:
    if pairs is not None:
        return anchors_from_pairs(a, b, pairs)
    if not isinstance(anchors, (tuple, list)) or len(anchors) != 2:
        raise InputError("Anchors are two sets of vectors, one for each side; give (anchors of A, anchors of B).")
    return anchors_from_vectors(a, b, open_collection(anchors[0]).vectors, open_collection(anchors[1]).vectors)


def _links(growth: Growth, a: Cloud, b: Cloud, summary: Summary, options: dict[str, Any]) -> Links:
    rows_a, rows_b = a.rows[growth.pairs[:, 0]], b.rows[growth.pairs[:, 1]]
    given = np.arange(len(rows_a)) < growth.n_seeds
    ids_a, ids_b = a.collection.ids, b.collection.ids
    return Links(
        pairs=np.column_stack([rows_a, rows_b]),
        probability=np.where(given, 1.0, growth.confidence),
        summary=summary,
        evidence={
            "score": growth.score.astype(np.float32),
            "votes": growth.votes,
            "views": np.full(len(rows_a), growth.views),
            "seed": given,
        },
        ids_a=None if ids_a is None else ids_a[rows_a],
        ids_b=None if ids_b is None else ids_b[rows_b],
        options=options,
    )
