"""Entering: what is checked before new rows, or a fit, are let in."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.errors import InputError, named, plural
from veclink.geometry.clouds import Cloud, inspected
from veclink.progress import Progress, ProgressListener
from veclink.uses.new_rows.knowledge import SIDES, Knowledge, marks_of


def new_rows(collection: Collection, knowledge: Knowledge, side: int, *, skip_zero: bool = False) -> Cloud:
    """New rows in the geometry of their side: at least one, of its dimension, and none of them zero.

    skip_zero: leave zero vectors out instead of refusing them.
    """
    mean = knowledge.sides[side].mean
    label = f"The new rows ({collection.name})"
    if not len(collection):
        raise InputError(f"{label} are none; give at least one.")
    if collection.dimension != len(mean):
        raise InputError(
            f"{label} have {collection.dimension:,} numbers each, and side {SIDES[side].upper()} of the linker has "
            f"{len(mean):,}; check the side (--side) and the model."
        )
    zero, _ = inspected(collection, label)
    if len(zero) and not skip_zero:
        raise InputError(
            f"{label} have zero vectors, which have no direction, in row {named(zero)}; remove them, or skip them with "
            "skip_zero (--skip-zero)."
        )
    return Cloud(collection, np.delete(np.arange(len(collection)), zero), mean)


def side_of(side: str) -> int:
    """0 for "a", 1 for "b"."""
    if side not in SIDES:
        raise InputError(f"The side is {side!r}; it is 'a' or 'b'.")
    return SIDES.index(side)


def check_ids(batch: Collection, links: Links, side: int) -> None:
    """Refuse new rows without ids where their side has some: all ids of the side would be lost."""
    ids = (links.ids_a, links.ids_b)[side]
    if ids is not None and batch.ids is None:
        raise InputError(
            f"Side {SIDES[side].upper()} has ids, and {batch.name} has none; give the new rows ids "
            f"(--payload-{SIDES[side]} FILE with a column `id`; in Python open_collection(…, payload=FILE))."
        )


def check_copies(batch: Collection, links: Links, knowledge: Knowledge, side: int) -> None:
    """Refuse rows without ids of which at least half are copies of known ones: they were taken in before."""
    if batch.ids is not None and _judged_ids(links, side) is not None:
        return
    copies = int(np.isin(marks_of(batch), knowledge.sides[side].marks).sum())
    if 2 * copies >= len(batch):
        raise InputError(
            f"{copies:,} of the {plural(len(batch), 'row')} of {batch.name} are copies of rows that side "
            f"{SIDES[side].upper()} has already; give the new rows alone, or a batch just as it came before."
        )


def check_new(batch: Collection, links: Links, side: int) -> None:
    """Refuse rows whose ids are known, in a batch that is not: each would be an object twice."""
    ids = _judged_ids(links, side)
    if ids is None or batch.ids is None:
        return
    known = np.isin(batch.ids.astype(str), ids.astype(str))
    if known.any():
        raise InputError(
            f"{batch.name} has rows with ids that side {SIDES[side].upper()} has already: {named(batch.ids[known])}; "
            "give the new rows alone, or a batch just as it came before."
        )


def _judged_ids(links: Links, side: int) -> np.ndarray | None:
    """The ids of one side of all judged pairs."""
    every = links.considered or links
    return (every.ids_a, every.ids_b)[side]


def names_fit(batch: Collection, links: Links, side: int, rows: slice) -> bool:
    """Whether the rows of judged pairs in this range have the ids that the batch gives them."""
    ids = _judged_ids(links, side)
    if ids is None or batch.ids is None:
        return True
    column = (links.considered or links).pairs[:, side]
    inside = (column >= rows.start) & (column < rows.stop)
    return np.array_equal(ids[inside].astype(str), batch.ids[column[inside] - rows.start].astype(str))


def check_names(collection: Collection, links: Links, side: int) -> None:
    """Refuse the collection of a side whose rows had other ids when they were linked: links would name others."""
    if names_fit(collection, links, side, slice(0, len(collection))):
        return
    source = collection.name if collection.ids_from is None else collection.ids_from
    raise InputError(
        f"{source} gives the rows of side {SIDES[side].upper()} other ids than they had when they were linked; give "
        "them with those ids, or link again."
    )


def check_options(options: dict[str, Any]) -> None:
    """Refuse options of a fit that links of new rows cannot follow."""
    if options.get("method", "span") != "span":
        raise InputError("A linker for new rows is fitted by method 'span'; leave the method out.")
    chosen = options.get("options")
    one_to_one = options.get("one_to_one", chosen is None or getattr(chosen, "one_to_one", True))
    centred = options.get("centred", chosen is None or getattr(chosen, "centred", True))
    if not one_to_one or not centred:
        raise InputError("A linker for new rows is one-to-one and centred; leave those options as they are.")


def tell(progress: ProgressListener | None, rows: int, stage: str) -> None:
    """Say what is being done, if anybody listens."""
    if progress is not None:
        progress(Progress(0, None, rows, None, stage))
