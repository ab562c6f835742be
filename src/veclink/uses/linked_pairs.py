"""Links, however they are given, as rows of two opened collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, fingerprint
from veclink.data.links import Links
from veclink.data.pairs import lookup, read_pairs, read_probabilities, resolve_pairs
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud

EXCHANGED = "A and B are exchanged: give the collections in the order in which they were linked."
WITHOUT_IDS = (
    "{side} has no ids at all: give the file that named its objects when they were linked, with --payload-{option} "
    "FILE (in Python: payload_{option}=FILE, or open_collection(…, payload=FILE))."
)
GivenLinks = Links | np.ndarray | str | Path


def pairs_of(
    links: GivenLinks, a: Collection, b: Collection, *, by_id: bool = True, force: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows (n, 2) and their probabilities (n,); links must be of these two collections.

    A file may be one that `Links.save` wrote, or any CSV or Parquet file with the columns a,b: those count as sure,
    unless a column `probability` says more. by_id, force: as in `check_links`.
    """
    links = loaded(links)
    if isinstance(links, (str, Path)):
        return (rows := _rows_of_pairs(links, a, b)), read_probabilities(links, len(rows))
    if not isinstance(links, Links):
        return (rows := _rows_of_pairs(links, a, b)), np.ones(len(rows))
    check_links(links, a, b, by_id=by_id, force=force)
    return links.pairs, links.probability


def places_of(pairs: np.ndarray, a: Cloud, b: Cloud) -> np.ndarray:
    """Where the rows of pairs (m, 2) stand in two clouds; −1 where a cloud leaves a row out."""
    return np.column_stack([lookup(cloud.rows, rows) for cloud, rows in zip((a, b), pairs.T, strict=True)])


def loaded(links: GivenLinks) -> GivenLinks:
    """Links as `save` wrote them, of a file that holds such; a plain table of pairs stays a path.

    A file that is neither is refused: a long work asks for this before it reads collections.
    """
    if not isinstance(links, (str, Path)):
        return links
    try:
        return Links.load(links)
    except InputError:
        read_pairs(links)  # says what is wrong where it is not even that
        return links


def are_calibrated(links: GivenLinks) -> bool:
    """Whether wrong links can be counted by the probabilities; not where they are shares of votes."""
    return not isinstance(links, Links) or links.summary.is_calibrated


def check_links(links: Links, a: Collection, b: Collection, *, by_id: bool = True, force: bool = False) -> None:
    """Refuse links of other vectors, of these in the other order, or of these without the ids they had.

    Without ids, what is written of the collections would name their objects by row numbers, in silence.

    Parameters
    ----------
    links : Links
    a, b : Collection
    by_id : bool
        False where vectors alone are wanted, and nothing is written that names an object: collections without ids
        will do, although the links name ids.
    force : bool
        Go on where the vectors are not those that were linked, but as many, by the same ids.
    """
    sizes = links.summary.n_a, links.summary.n_b
    if sizes != (len(a), len(b)):
        exchanged = sizes == (len(b), len(a))
        raise InputError(
            f"The links are between {sizes[0]:,} and {sizes[1]:,} vectors, and A and B have {len(a):,} and {len(b):,}; "
            + (EXCHANGED if exchanged else "give the collections that were linked. Where rows came "
            "since, all links so far are in the linker's folder: links.parquet.")
        )
    for side, ids, collection, other in (("A", links.ids_a, a, b), ("B", links.ids_b, b, a)):
        if ids is None or (collection.ids is None and not by_id):
            continue
        rows = links.pairs[:, 0 if side == "A" else 1]
        now = rows if collection.ids is None else collection.ids[rows]
        if not np.array_equal(ids, now):
            if collection.ids is None:
                way = WITHOUT_IDS.format(side=side, option=side.lower())
            elif other.ids is not None and set(ids.tolist()) <= set(other.ids.tolist()):
                way = EXCHANGED
            else:
                way = "give the collection as it was."
            raise InputError(f"The links name other ids than {side} has in those rows; {way}")
    if links.summary.vectors is None or force:
        return
    now = fingerprint(a), fingerprint(b)
    if now == links.summary.vectors[::-1] != links.summary.vectors:
        raise InputError(f"The links are between the same vectors, but {EXCHANGED}")
    changed = [side for side, old, new in zip("AB", links.summary.vectors, now, strict=True) if old != new]
    if changed:
        raise InputError(
            f"The vectors of {' and '.join(changed)} are not those that were linked, or not in that order; give the "
            "collections as they were, link again, or go on (--force of merge and report, in Python force=True)."
        )


def _rows_of_pairs(pairs: Any, a: Collection, b: Collection) -> np.ndarray:
    """Plain pairs as rows; those that fit only the other way round are refused with that reason."""
    try:
        return resolve_pairs(pairs, a, b, what="links")
    except InputError as error:
        try:
            resolve_pairs(pairs, b, a, what="links")
        except InputError:
            raise error from None
        raise InputError(f"{error} The other way round they fit; {EXCHANGED}") from error
