"""link(): from two collections and a start to links. Picks the method and the device, and judges the whole result."""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.threshold import false_discovery_inflation
from veclink.data.collection import Collection
from veclink.data.links import Links, Summary
from veclink.data.pairs import resolve_pairs
from veclink.errors import InputError, named
from veclink.files.memory import LEAST, available, parse_memory
from veclink.geometry.clouds import Cloud, Look, prepare
from veclink.linkers.anchors import Anchors, anchors_from_pairs, anchors_from_vectors
from veclink.linkers.geh.linker import Growth, geh
from veclink.linkers.span.growing import Start
from veclink.linkers.span.linker import NEIGHBOURS, span
from veclink.progress import ProgressListener
from veclink.stores.opening import open_collection

if TYPE_CHECKING:
    from veclink.backends.ray_cluster import Cluster

METHODS = ("span", "geh")
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
    method: str = "span",
    device: str = "auto",
    random_state: int = 0,
    memory: int | str | None = None,
    cluster: str | None = None,
    progress: ProgressListener | None = None,
    checkpoint: str | Path | None = None,
    skip_zero: bool = False,
    **options: Any,
) -> Links:
    """Links between the rows of two collections that are the same object, the surest first.

    a, b: arrays, collections, files, or URLs of stores. The start is `seeds`, (n, 2) known pairs (ids where the
    collections have ids, else rows) or a CSV or Parquet file of them; or `anchors`, two sets of vectors of the same
    objects in the same order, which are in neither collection; or, with method "span", nothing. `options` are the
    method's own: see `span.span` (`one_to_one`, `approximate`) and `geh.geh`. The same input, options and
    `random_state` give the same links on the same device. `memory` bounds what is allocated beside the vectors.
    `checkpoint` is a folder where a long run keeps what it has found so far: the same call takes it up after a crash
    and gives the same links; a finished run removes it. `cluster` is the address of a Ray cluster to run on, or
    "auto" for the one that this machine is part of: the links are the same.
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise InputError(f"The method {method!r} is unknown; it is one of {named(METHODS)}.")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"The random state is {random_state!r}; it is a whole number from 0.")
    if seeds is not None and anchors is not None:
        raise InputError("Seeds and anchors were both given; a run starts from one of them.")
    if method == "geh" and seeds is None and anchors is None:
        raise InputError(
            "Neither seeds nor anchors were given, and method 'geh' needs one; 'span' starts from nothing too."
        )
    if method == "geh" and cluster is not None:
        raise InputError("Method 'geh' runs on one machine; leave out the cluster, or use method 'span'.")
    _check_options(method, options)
    place = chosen_device(device)
    told = {"random_state": random_state, **options}
    options |= {"random_state": random_state, "progress": progress}
    with _machines(cluster, device) as machines:
        place = place if machines is None else "cpu"  # what a cluster computes on is its own matter
        left, right = (open_collection(source, payload=False, progress=progress) for source in (a, b))
        pairs = None if seeds is None else resolve_pairs(seeds, left, right)
        look = _look_on(place)
        clouds = (
            prepare(left, centre=method == "span", skip_zero=skip_zero, side="A", look=look),
            prepare(right, centre=method == "span", skip_zero=skip_zero, side="B", look=look),
        )
        start = None if pairs is None and anchors is None else _start(*clouds, pairs, anchors)
        kept = None
        if checkpoint is not None:
            from veclink.linkers.checkpoint import Checkpoint, fingerprint

            kept = Checkpoint(checkpoint, fingerprint(*clouds, start, {"method": method, "device": place, **told}))
        options["checkpoint"] = kept
        if method == "span":
            links = _link_by_span(_field(*clouds, place, memory, machines), *clouds, start, told, **options)
        else:
            links = _link_by_geh(*clouds, start, told, memory=memory, device=place, **options)
        if kept is not None:
            kept.clear()
    return replace(links, summary=replace(links.summary, seconds=time.perf_counter() - began))


def _link_by_span(
    clouds: CloudPair, a: Cloud, b: Cloud, start: Anchors | None, told: dict[str, Any], **options: Any
) -> Links:
    begin = None
    if start is not None:
        begin = Start(start.pairs) if start.pairs is not None else Start(None, start.left, start.right, name="anchors")
    found = span(clouds, begin, **options)
    trace = found.trace | {"hubs": _source_hubs(found.trace.get("hubs", {}), a, b)}
    wrong = () if start is None or start.pairs is None else tuple(map(tuple, start.pairs[found.suspects].tolist()))

    def links(count: int, considered: Links | None) -> Links:
        expected = float(found.probability[:count].sum())
        summary = Summary(
            method="span",
            n_a=len(a.collection),
            n_b=len(b.collection),
            n_links=count,
            precision=expected / count if count else None,
            recall=min(1.0, expected / found.overlap) if count and found.overlap else None,
            overlap=found.overlap if count else None,
            verdict=found.verdict,
            reasons=found.reasons,
            caution=false_discovery_inflation(found.probability),
            wrong_seeds=tuple((int(a.rows[i]), int(b.rows[j])) for i, j in wrong),
            iterations=found.rounds,
        )
        columns = {name: _source_rows(name, values[:count], a, b) for name, values in found.evidence.items()}
        return _links(found.pairs[:count], found.probability[:count], columns, a, b, summary, told, considered, trace)

    return links(found.kept, links(len(found.pairs), None))


def _look_on(device: str) -> Look | None:
    """How a pass over a collection is made on a device; None for numpy's."""
    if device == "cpu":
        return None
    from veclink.backends.torch_clouds import inspect as look

    return partial(look, device=device)


def _machines(address: str | None, device: str) -> AbstractContextManager[Cluster | None]:
    """The cluster at an address, or none."""
    if address is None:
        return nullcontext()
    from veclink.backends.ray_cluster import connected

    return connected(address, device)


def _field(a: Cloud, b: Cloud, device: str, memory: int | str | None, cluster: Cluster | None = None) -> CloudPair:
    """The field of two clouds: on a cluster, on the device where they fit there, in memory, or read when asked."""
    budget = None if memory is None else parse_memory(memory, least=LEAST)
    if cluster is not None:
        from veclink.backends.ray_clouds import RayCloudPair

        return RayCloudPair(a, b, cluster, k=NEIGHBOURS, memory=budget)
    if device != "cpu":
        from veclink.backends import torch_clouds as torch_field

        if torch_field.fits(a.shape, b.shape, device):
            left, right = torch_field.resident(a, device), torch_field.resident(b, device)
            return torch_field.TorchCloudPair(left, right, k=NEIGHBOURS, device=device)
    most = available() // 2 if budget is None else budget // 2
    held = 4 * (a.shape[0] * a.shape[1] + b.shape[0] * b.shape[1])
    if held <= most:
        rest = None if budget is None else budget - held
        return CloudPair(a.dense(), b.dense(), k=NEIGHBOURS, device=device, memory=rest)
    return CloudPair(a, b, k=NEIGHBOURS, device=device, memory=budget)


def _source_rows(name: str, values: np.ndarray, a: Cloud, b: Cloud) -> np.ndarray:
    """Columns that name rows of a cloud, as rows of the collection (the two differ where zero vectors were skipped)."""
    if not name.endswith(("_a", "_b")) or name.startswith("rank"):
        return values
    rows = a.rows if name.endswith("_a") else b.rows
    return np.where(values >= 0, rows[np.maximum(values, 0)], -1)


def _source_hubs(hubs: dict[str, list[list[int]]], a: Cloud, b: Cloud) -> dict[str, list[list[int]]]:
    rows = {"a": a.rows, "b": b.rows}
    return {side: [[int(rows[side][row]), count] for row, count in listed] for side, listed in hubs.items()}


def _link_by_geh(a: Cloud, b: Cloud, start: Anchors | None, told: dict[str, Any], **options: Any) -> Links:
    assert start is not None, "link() asks for one"
    growth = geh(a, b, start, **options)
    given = np.arange(len(growth.pairs)) < growth.n_seeds
    evidence = {
        "score": growth.score.astype(np.float32),
        "votes": growth.votes,
        "views": np.full(len(given), growth.views) if growth.chances is None else growth.chances,
        "given": given,
    }
    summary = geh_summary(growth, len(a.collection), len(b.collection), n_start=len(start))
    trace = {"growth": [[each.links, each.links] for each in growth.history]}
    probability = np.where(given, 1.0, growth.confidence)
    return _links(growth.pairs, probability, evidence, a, b, summary, told, trace=trace)


def _check_options(method: str, options: dict[str, Any]) -> None:
    own = {"device", "memory", "progress", "random_state", "checkpoint"}
    known = [
        name
        for name, parameter in inspect.signature(span if method == "span" else geh).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in own
    ]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(f"Method {method!r} has no option {named(unknown)}; it has {named(known)}.")


def geh_summary(growth: Growth, n_a: int, n_b: int, *, n_start: int) -> Summary:
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
    """The device meant by `device`: "auto" is "cuda" where torch and an NVIDIA GPU are there, else "cpu"."""
    if device not in DEVICES:
        raise InputError(f"The device {device!r} is unknown; it is one of {named(DEVICES)}.")
    if device != "auto":
        return device
    if not _has_driver() or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _has_driver() -> bool:
    """Whether there is an NVIDIA driver. Asking torch costs seconds and hundreds of megabytes where there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _start(a: Cloud, b: Cloud, pairs: np.ndarray | None, anchors: tuple[Source, Source] | None) -> Anchors:
    if pairs is not None:
        return anchors_from_pairs(a, b, pairs)
    if not isinstance(anchors, (tuple, list)) or len(anchors) != 2:
        raise InputError("Anchors are two sets of vectors, one for each side; give (anchors of A, anchors of B).")
    return anchors_from_vectors(a, b, open_collection(anchors[0]), open_collection(anchors[1]))


def _links(
    pairs: np.ndarray,
    probability: np.ndarray,
    evidence: dict[str, np.ndarray],
    a: Cloud,
    b: Cloud,
    summary: Summary,
    options: dict[str, Any],
    considered: Links | None = None,
    trace: dict[str, Any] | None = None,
) -> Links:
    """Links of the collections from pairs of rows of their clouds."""
    rows_a, rows_b = a.rows[pairs[:, 0]], b.rows[pairs[:, 1]]
    ids_a, ids_b = a.collection.ids, b.collection.ids
    return Links(
        pairs=np.column_stack([rows_a, rows_b]),
        probability=probability,
        summary=summary,
        evidence=evidence,
        ids_a=None if ids_a is None else ids_a[rows_a],
        ids_b=None if ids_b is None else ids_b[rows_b],
        options=options,
        considered=considered,
        trace=trace or {},
    )
