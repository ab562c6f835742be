"""link(): from two collections and anchors to links. Checks what was asked, opens what was given, runs the method."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.backends import CloudPair, Projections, QuerySample, chosen_device, look_on, machines_at, placed_clouds
from veclink.data.agreement import ColumnMatches, match_column, most_matches
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_seeds
from veclink.data.summary import NOT_LINKABLE
from veclink.data.words import Reason
from veclink.errors import InputError, named, plural
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.signatures import distances, kernel_hash, kernel_width
from veclink.linkers.anchors import (
    Anchors,
    anchors_from_pairs,
    anchors_from_vectors,
    anchors_in_doubt,
    no_pairs,
)
from veclink.linkers.checkpoint import Checkpoint, Watch, fingerprint
from veclink.linkers.copies import Grouped, grouped
from veclink.linkers.options import OPTIONS, GehOptions, Options, SpanOptions, differing, options_of, plain
from veclink.linkers.result import Decision, links_of
from veclink.linkers.span.constants import MIN_POOL
from veclink.linkers.span.linker import span
from veclink.matching import match
from veclink.matching.cpu import is_compiled
from veclink.progress import COMPILING, Progress, ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.threads import computing

if TYPE_CHECKING:
    from veclink.backends.ray_clouds import Cluster

METHODS = tuple(OPTIONS)
Source = np.ndarray | Collection | str | Path


@shows_progress
def link(
    a: Source,
    b: Source,
    *,
    seeds: Any = None,
    seeds_by: str | tuple[str, str] | None = None,
    anchors: tuple[Source, Source] | None = None,
    continued: Links | str | Path | None = None,
    payload_a: Any = None,
    payload_b: Any = None,
    method: str = "span",
    device: str = "auto",
    random_state: int = 0,
    memory: int | str | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    progress: ProgressListener | bool | None = None,
    checkpoint: str | Path | None = None,
    skip_zero: bool = False,
    strict: bool = False,
    options: Options | None = None,
    **keywords: Any,
) -> Links:
    """Link the rows of two collections that are the same object.

    The same input, options and `random_state` give the same links on the same device.

    Parameters
    ----------
    a, b : array of shape (n, d), frame, Collection, path or URL
        The two collections. Their n and d may differ.
    seeds : pairs of shape (m, 2) or path, optional
        Known pairs, or a CSV or Parquet file of them: ids where the collections have ids, else row numbers. The index
        of a pandas frame counts as ids, unless it just counts the rows.
    seeds_by : str or (str, str), optional
        Instead of seeds: start from rows with equal values in this column of the payload, such as "title" (two names
        where they differ). The values must be unique on both sides. They may be wrong: the vectors decide. "auto" looks
        for such a column, and starts without seeds if there is none.
    anchors : pair of collections, optional
        Instead of seeds: vectors of the same texts by both models, row by row, which need not be in A or B.
    continued : Links or path, optional
        Instead of seeds: earlier links of these collections, which may have grown since. Rows are found by their ids;
        without ids, new rows must come last. Earlier links may be wrong: the vectors decide.
    payload_a, payload_b : path, frame, mapping or (n,) titles, optional
        Titles and other columns of bare vectors, for tables, cards and `seeds_by`, as `open_collection` takes them.
    method : {"span", "geh"}
        The linker: span, or geh, the paper's (as shipped: `GehOptions` says where the text is read otherwise).
    device : {"auto", "cpu", "cuda"}, or one GPU as in "cuda:1"
        Where it runs.
    random_state : int
        Seed of the random generator.
    memory : int or str, optional
        Memory to use on top of the vectors, such as "4GB".
    threads : int, optional
        CPU threads (default: $VECLINK_THREADS, else all cores). The links are the same.
    cluster : str, optional
        Address of a Ray cluster to run on, or "auto" for the one that this machine is part of. The links are the same.
    progress : callable or True, optional
        Called with every step. True shows them.
    checkpoint : path, optional
        A folder where a long run keeps its state. After a crash, the same call goes on from there and gives the same
        links. A finished run removes it.
    skip_zero : bool
        Leave out zero vectors instead of refusing them.
    strict : bool
        Refuse repeated seeds, and rows with two partners. By default a repeated seed counts once, and contradicting
        ones are not used (`summary.contradicting_seeds` names them).
    options : SpanOptions or GehOptions, optional
        Options of the method; both are in `veclink.linkers.options`.
    **keywords
        The same, by name: `one_to_one` and `trust_seeds` of span, `path` and `max_iterations` of geh, and so on.

    Returns
    -------
    Links
        The most certain first, each with a probability. `print(links.summary)` shows the verdict and the estimates.
    """
    progress = heard(progress)
    began = time.perf_counter()
    _check_call(method, random_state, cluster, (seeds, anchors), (seeds_by, continued))
    chosen = options_of(method, options, keywords)
    told = {"random_state": random_state, **(plain(keywords) or differing(chosen))}
    place = chosen_device(device)
    with computing(threads), machines_at(cluster, device) as machines:
        if machines is not None:
            place = "cpu"  # what a cluster computes on is its own matter
        opened = partial(open_collection, memory=memory, progress=progress)
        reads = seeds_by is not None
        left = opened(a, payload=reads if payload_a is None else payload_a)
        right = opened(b, payload=reads if payload_b is None else payload_b)
        known, torn = (None, no_pairs()) if seeds is None else resolve_seeds(seeds, left, right, strict=strict)
        matches = None if seeds_by is None else match_column(seeds_by, left, right)
        earlier = None if continued is None else earlier_pairs(continued, left, right)
        asked: dict[str, Any] = {"centre": chosen.centred, "skip_zero": skip_zero, "look": look_on(place)}
        clouds = prepare(left, side="A", **asked), prepare(right, side="B", **asked)
        zero_a, zero_b = (len(cloud.collection) - len(cloud) for cloud in clouds)
        left_out = [Reason("zero_rows", a=zero_a, b=zero_b)] if zero_a or zero_b else []
        groups = grouped(*clouds) if isinstance(chosen, SpanOptions) and chosen.group_copies else None
        many = isinstance(chosen, SpanOptions) and not chosen.one_to_one
        copies = (0, 0) if groups is None else groups.copies
        if groups is not None and any(copies):
            clouds = groups.clouds
            left_out.insert(0, Reason("copies", a=copies[0], b=copies[1], linked=many))
        else:
            groups = None
        given = _start(clouds, groups, random_state, known, matches, earlier, anchors)
        name = "" if checkpoint is None else fingerprint(*clouds, given, {"method": method, "device": place, **told})
        watch = Watch(progress, None if checkpoint is None else Checkpoint(checkpoint, name))
        if progress is not None and place == "cpu" and not is_compiled():
            progress(Progress(0, None, 0, None, COMPILING))
        found = _decided(chosen, clouds, given, watch, place, memory, random_state, machines)
        if watch.checkpoint is not None:
            watch.checkpoint.clear()
    why = [*found.verdict.why, *left_out]
    if given is None and found.verdict.name == NOT_LINKABLE:
        why = _with_hint(why, left, right)
    if seeds_by is not None:
        if matches is None or given is None:
            why.append(Reason("no_column"))
        else:
            found.trace["seeds_by"] = {"columns": matches.columns, "matches": len(matches), "used": len(given)}
            why.append(Reason("started_from_column", used=len(given), rows=len(matches), values=matches.name))
    about = {"why": why, "copies": copies, "contradicting_seeds": torn.tolist()}
    return links_of(found, *clouds, groups if many else None, told, began, **about)


def _check_call(
    method: str, random_state: int, cluster: str | None, believed: tuple[Any, Any], doubted: tuple[Any, Any]
) -> None:
    """Refuse what the method cannot do: several starts, and for GEH none or one that it must not believe.

    believed: seeds and anchors; doubted: a column and earlier links.
    """
    if method not in METHODS:
        raise InputError(f"The method {method!r} is unknown; it is one of {named(METHODS)}.")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"The random state is {random_state!r}; it is a whole number from 0.")
    if method == "geh" and cluster is not None:
        raise InputError("Method 'geh' runs on one machine; leave out the cluster, or use method 'span'.")
    if sum(start is not None for start in (*believed, *doubted)) > 1:
        told = "Of seeds, a column, anchors and earlier links several were given; a run starts from one of them."
        raise InputError(told)
    if method == "geh" and all(start is None for start in believed):
        raise InputError(
            "Method 'geh' needs seeds or anchors, and believes them; method 'span' also starts from a column, from "
            "earlier links, or from nothing."
        )


def earlier_pairs(links: Links | str | Path, a: Collection, b: Collection) -> np.ndarray:
    """Rows (m, 2) of the two collections that earlier links name and that are still there.

    By ids where the links and a collection have them; else by row, which a collection with fewer rows cannot have.
    """
    found = links if isinstance(links, Links) else Links.load(links)
    before_a, before_b = found.pairs.T
    rows_a = _rows_now(before_a, found.ids_a, found.summary.n_a, a, "A")
    rows_b = _rows_now(before_b, found.ids_b, found.summary.n_b, b, "B")
    pairs = np.column_stack([rows_a, rows_b])
    is_sure = found.probability >= 0.5  # less probable links are no start
    there = is_sure & (pairs >= 0).all(axis=1)
    count = np.count_nonzero(there)
    if count < MIN_POOL:
        raise InputError(
            f"Of {plural(len(found), 'earlier link')}, {count:,} are probable and name rows that are still "
            f"there, and a run goes on from {MIN_POOL}; check the collections, or start from seeds."
        )
    return pairs[there]


def _rows_now(rows: np.ndarray, ids: np.ndarray | None, size: int, collection: Collection, side: str) -> np.ndarray:
    """The row of each linked object (n,) in a collection that had so many rows; −1 where it is gone."""
    if ids is None or collection.ids is None:
        if len(collection) < size:
            raise InputError(
                f"{side} has {len(collection):,} rows and had {size:,} when the links were made, and no ids to find "
                "them by; give a collection that has grown, or one with ids."
            )
        return rows
    place = {key: row for row, key in enumerate(collection.ids.tolist())}
    return np.array([place.get(key, -1) for key in ids.tolist()], np.int64)


def _start(
    clouds: tuple[Cloud, Cloud],
    groups: Grouped | None,
    random_state: int,
    seeds: np.ndarray | None,
    matches: ColumnMatches | None,
    earlier: np.ndarray | None,
    anchors: tuple[Source, Source] | None,
) -> Anchors | None:
    """What was given, in the geometry of the clouds, copies by the rows that stand for them; None for nothing."""
    if earlier is not None:
        return anchors_in_doubt(*clouds, earlier, random_state, name="earlier links", marked=False)
    if matches is not None:
        pairs = matches.pairs if groups is None else groups.seeds(matches.pairs)
        return anchors_in_doubt(*clouds, pairs, random_state, name=f"equal {matches.name}", by_column=True)
    if seeds is not None:
        return anchors_from_pairs(*clouds, seeds if groups is None else groups.seeds(seeds))
    if anchors is None:
        return None
    if not isinstance(anchors, (tuple, list)) or len(anchors) != 2:
        raise InputError("Anchors are two sets of vectors, one for each side; give (anchors of A, anchors of B).")
    return anchors_from_vectors(*clouds, open_collection(anchors[0]), open_collection(anchors[1]))


def _decided(
    options: Options,
    clouds: tuple[Cloud, Cloud],
    anchors: Anchors | None,
    watch: Watch,
    device: str,
    memory: int | str | None,
    random_state: int,
    cluster: Cluster | None,
) -> Decision:
    """What the method finds."""
    if not isinstance(options, SpanOptions):
        from veclink.linkers.geh.linker import geh

        assert anchors is not None, "_check_call asks for them"
        asked: dict[str, Any] = {"memory": memory, "device": device, "random_state": random_state, "watch": watch}
        return geh(*clouds, anchors, options, **asked).decided(len(anchors))
    if options.signature == "kernel":
        a, b = clouds
        placed: CloudPair = KernelCloudPair(a.dense(), b.dense(), ridge=options.ridge, k=options.k, device=device)
        if placed.large:  # every view looks at all rows
            raise InputError("The kernel signature is for small collections; use signature='span' for this many rows.")
    else:
        placed = placed_clouds(*clouds, device, memory, k=options.k, ridge=options.ridge, cluster=cluster)
    if anchors is not None and anchors.pairs is not None:
        left, right = placed.vectors(anchors.pairs)  # to the last bit as the device has them
        anchors = replace(anchors, left=left, right=right)
    return span(placed, anchors, options, random_state=random_state, watch=watch)


class KernelCloudPair(CloudPair):
    """Two clouds in memory whose views compare rows by the paper's kernel hash.

    It is what the span signature is measured against.
    """

    def span_projections(self, left: np.ndarray, right: np.ndarray) -> Projections:
        """The anchors themselves: a kernel hash projects on nothing."""
        return left, right

    def propose(self, axes: Projections, sample: QuerySample | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mutual csls neighbours by the kernel hashes from paired anchor vectors, and their csls."""
        hashes = []
        for side, anchors in zip("ab", axes, strict=True):
            r = distances(self.all_rows(side), anchors)
            spaced = r[:: max(1, len(r) // GehOptions.width_rows)][: GehOptions.width_rows]
            hashes.append(kernel_hash(r, kernel_width(spaced)))
        return match(hashes[0], hashes[1], k=self.k, memory=self.memory, device=self.device).mutual()


def _with_hint(why: list[Reason], a: Collection, b: Collection) -> list[Reason]:
    """The reasons of a run from nothing that found none, with a word on the columns that it could have started from."""
    best = most_matches(a, b)
    if a.payload is not None and b.payload is not None and (best is None or not best.is_enough):
        nothing = Reason("next", way="nothing")
        why = [Reason("next", way="no column") if each == nothing else each for each in why]
    return why if best is None else [*why, best.hint]
