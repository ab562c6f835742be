"""link(): from two collections and anchors to links. Checks what was asked, opens what was given, runs the method."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink.backends import chosen_device, machines_at
from veclink.data.agreement import ColumnMatches, match_column, most_matches
from veclink.data.collection import Collection, digest, fingerprint
from veclink.data.links import Links
from veclink.data.pairs import KnownPairs, resolve_seeds
from veclink.data.summary import NOT_LINKABLE, judged_anew, with_ranges
from veclink.data.titles import texts_of
from veclink.data.words import Reason
from veclink.errors import InputError, named
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import (
    Anchors,
    anchors_from_column,
    anchors_from_links,
    anchors_from_pairs,
    anchors_from_vectors,
)
from veclink.linkers.checkpoint import Watch
from veclink.linkers.copies import Grouped
from veclink.linkers.earlier import earlier_pairs
from veclink.linkers.options import OPTIONS, Options, differing, options_of, plain
from veclink.linkers.run import Run
from veclink.matching.cpu import is_compiled
from veclink.progress import COMPILING, Progress, ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.threads import computing

METHODS = tuple(OPTIONS)
SHOWN_SEEDS = 5  # of those that look wrong, whose texts are told
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
        The linker: span, or geh as in the paper.
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
        Options of the method, such as `one_to_one`.
    **keywords
        The same, by name.

    Returns
    -------
    Links
        The most certain first, each with a probability. `print(links.summary)` shows the verdict and the estimates.
    """
    progress = heard(progress)
    began = time.perf_counter()
    _check_call(method, random_state, cluster)
    _check_start(method, (seeds, anchors), (seeds_by, continued))
    chosen = options_of(method, options, keywords)
    told = {"random_state": random_state, **(plain(keywords) or differing(chosen))}
    place = chosen_device(device)
    with computing(threads), machines_at(cluster, device) as machines:
        if machines is not None:
            place = "cpu"  # what a cluster computes on is its own matter
        run = Run(chosen, place, memory, random_state, machines, told)
        opened = partial(open_collection, memory=memory, progress=progress)
        reads = seeds_by is not None
        left = opened(a, payload=reads if payload_a is None else payload_a)
        right = opened(b, payload=reads if payload_b is None else payload_b)
        known = None if seeds is None else resolve_seeds(seeds, left, right, strict=strict)
        matches = None if seeds_by is None else match_column(seeds_by, left, right)
        earlier = None if continued is None else earlier_pairs(continued, left, right)
        clouds = run.prepared(left, right, skip_zero)
        zero_a, zero_b = (len(cloud.collection) - len(cloud) for cloud in clouds)
        groups = run.grouped(*clouds)
        if groups is not None:
            clouds = groups.clouds
        if earlier is not None:
            given: Anchors | None = anchors_from_links(*clouds, earlier, random_state)
        elif matches is not None:
            pairs = matches.pairs if groups is None else groups.seeds(matches.pairs)
            given = anchors_from_column(*clouds, replace(matches, pairs=pairs), random_state)
        else:
            given = _anchors(*clouds, _stand_for(known, groups), anchors)
        watch = Watch(progress, run.checkpoint(checkpoint, *clouds, given))
        _tell_of_compiling(place, progress)
        links = run.links(*clouds, given, watch)
        if groups is not None:
            links = run.with_copies(links, groups)
        if zero_a or zero_b:
            links = _with_reason(links, Reason("zero_rows", a=zero_a, b=zero_b))
        if watch.checkpoint is not None:
            watch.checkpoint.clear()
    if given is None and links.summary.verdict == NOT_LINKABLE:
        links = _with_hint(links, left, right)
    if seeds_by is not None:
        links = _with_column(links, matches, given)
    links = with_agreement(links, left, right)
    links = with_texts(links, left, right)
    judged = links.considered or links
    summary = replace(
        links.summary,
        vectors=(fingerprint(left), fingerprint(right)),
        found=digest(judged.pairs, judged.probability),
        contradicting_seeds=() if known is None else _ascending(known.contradicting).tolist(),
        seconds=time.perf_counter() - began,
    )
    return replace(links, summary=judged_anew(with_ranges(summary, links.probability)))


def with_agreement(links: Links, a: Collection, b: Collection) -> Links:
    """The links, and in how many of them the payload of the two collections says the same, where it can be compared."""
    summary = replace(links.summary, agreement=links.agreement_with(a, b))
    return replace(links, summary=summary)


def with_texts(links: Links, a: Collection, b: Collection) -> Links:
    """The links, with what the payload calls rows, those of seeds that look wrong too."""
    texts, considered, why = texts_of(a, b), links.considered, list(links.summary.why)
    if considered is not None:
        considered = replace(considered, texts=texts)  # `at` takes its links from there
    wrong = texts.of(np.array(links.summary.wrong_seeds[:SHOWN_SEEDS], np.int64).reshape(-1, 2), {})
    if len(wrong) == 2:  # both sides have texts
        hardly = "more_pairs_hardly_help"
        why = [Reason(hardly, texts=True) if each.code == hardly else each for each in why]
        if links.summary.wrong_seeds:
            why.append(Reason("texts_of_wrong_seeds", pairs=np.column_stack([*wrong.values()]).tolist()))
    return replace(links, texts=texts, considered=considered, summary=replace(links.summary, why=tuple(why)))


def _tell_of_compiling(device: str, progress: ProgressListener | None) -> None:
    if progress is not None and device == "cpu" and not is_compiled():
        progress(Progress(0, None, 0, None, COMPILING))


def _check_call(method: str, random_state: int, cluster: str | None) -> None:
    if method not in METHODS:
        raise InputError(f"The method {method!r} is unknown; it is one of {named(METHODS)}.")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"The random state is {random_state!r}; it is a whole number from 0.")
    if method == "geh" and cluster is not None:
        raise InputError("Method 'geh' runs on one machine; leave out the cluster, or use method 'span'.")


def _check_start(method: str, believed: tuple[Any, Any], doubted: tuple[Any, Any]) -> None:
    """Refuse several starts, and for GEH none or one that it must not believe. believed: seeds and anchors."""
    starts, may_be_wrong = ([each for each in several if each is not None] for several in (believed, doubted))
    if len(starts) + len(may_be_wrong) > 1:
        told = "Of seeds, a column, anchors and earlier links several were given; a run starts from one of them."
        raise InputError(told)
    if method == "geh" and not starts:
        raise InputError(
            "Method 'geh' starts from seeds or anchors and believes them, and those of a column or of earlier links "
            "may be wrong; method 'span' starts from those too, and from nothing."
        )


def _with_hint(links: Links, a: Collection, b: Collection) -> Links:
    """The links of a run from nothing that found none, with a word on the columns that it could have started from."""
    best = most_matches(a, b)
    if best is not None:
        links = _with_reason(links, best.hint)
    if a.payload is None or b.payload is None or (best is not None and best.is_enough):
        return links
    nothing, without = Reason("next", way="nothing"), Reason("next", way="no column")
    why = tuple(without if each == nothing else each for each in links.summary.why)
    return replace(links, summary=replace(links.summary, why=why))


def _with_reason(links: Links, reason: Reason) -> Links:
    return replace(links, summary=replace(links.summary, why=(*links.summary.why, reason)))


def _with_column(links: Links, matches: ColumnMatches | None, used: Anchors | None) -> Links:
    """The links, with a word on the column that they were started from."""
    if matches is None or used is None:
        return _with_reason(links, Reason("no_column"))
    taken = {"columns": matches.columns, "matches": len(matches), "used": len(used)}
    started = Reason("started_from_column", used=len(used), rows=len(matches), values=matches.name)
    return replace(_with_reason(links, started), trace={**links.trace, "seeds_by": taken})


def _stand_for(known: KnownPairs | None, groups: Grouped | None) -> np.ndarray | None:
    """The known pairs (m, 2), those of copies by the rows that stand for them; in whatever order they were given."""
    if known is None:
        return None
    ascending = _ascending(known.rows)
    return ascending if groups is None else groups.seeds(ascending)


def _ascending(pairs: np.ndarray) -> np.ndarray:
    """Pairs of rows (m, 2) by row of A, then of B: what is drawn from them does not depend on a file's order."""
    rows_a, rows_b = pairs.T
    order = np.lexsort((rows_b, rows_a))
    return pairs[order]


def _anchors(a: Cloud, b: Cloud, pairs: np.ndarray | None, anchors: tuple[Source, Source] | None) -> Anchors | None:
    """What was given, in the geometry of the clouds; None where nothing was."""
    if pairs is not None:
        return anchors_from_pairs(a, b, pairs)
    if anchors is None:
        return None
    if not isinstance(anchors, (tuple, list)) or len(anchors) != 2:
        raise InputError("Anchors are two sets of vectors, one for each side; give (anchors of A, anchors of B).")
    return anchors_from_vectors(a, b, open_collection(anchors[0]), open_collection(anchors[1]))
