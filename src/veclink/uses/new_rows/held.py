"""The collections of a linker, in memory or where they were; and what is checked before new rows are let in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.links import Links
from veclink.errors import InputError, VeclinkError, named, plural, without_secrets
from veclink.geometry.clouds import Cloud, inspected
from veclink.geometry.copies import SAME
from veclink.geometry.signatures import unit_rows
from veclink.progress import ProgressListener
from veclink.stores.opening import open_collection
from veclink.stores.payloads import with_payload
from veclink.threads import multiply
from veclink.uses.new_rows.knowledge import SIDES, Knowledge, marks_of


@dataclass(eq=False)
class Held:
    """Where the collections of a linker are."""

    sources: list[str | None] = field(default_factory=lambda: [None, None])  # the path or URL of each side
    # each side as it is in memory, batch after batch; empty where it is not
    parts: tuple[list[Collection], list[Collection]] = field(default_factory=lambda: ([], []))
    options: dict[str, Any] = field(default_factory=dict)  # how the two were linked, for the next fit
    folders: dict[str, str] = field(default_factory=dict)  # what tells the content of each folder read or written
    # the file of payload whose ids name the rows of each side, where the vectors came without ids
    ids_from: list[str | None] = field(default_factory=lambda: [None, None])

    def hold(self, side: int, collection: Collection, source: str | None) -> None:
        """Keep the whole of one side in memory."""
        self.parts[side][:] = [collection]
        if source is not None:
            self.sources[side], self.ids_from[side] = source, ids_file(collection)


def remembered(source: Any) -> str | None:
    """The path or URL of a collection, as it can be kept: without passwords, and a path in full.

    None for what is in memory, unless a file of payload names its rows: then that of its vectors is known, too.
    """
    if isinstance(source, Collection) and ids_file(source) is not None and Path(source.name).is_file():
        source = source.name
    if not isinstance(source, (str, Path)):
        return None
    text = str(source)
    path = Path(text)
    return str(path.resolve()) if path.exists() else without_secrets(text)


def ids_file(collection: Collection) -> str | None:
    """The file that gave a collection its ids, in full; None where its ids are its own, or came from memory."""
    file = collection.ids_from
    return None if file is None or not Path(file).is_file() else remembered(file)


def opened_side(held: Held, side: int, source: Any, progress: ProgressListener | None = None) -> Collection:
    """The collection of one side, with the ids that its rows were known by, and without payload."""
    collection = open_collection(source, payload=False, progress=progress)
    file = held.ids_from[side]
    if file is None or collection.ids is not None:
        return collection
    try:
        return replace(with_payload(collection, file), payload=None)
    except VeclinkError as error:
        name = SIDES[side]
        reason = str(error).partition(";")[0]
        again = "" if Path(file).exists() else "put it back, or "
        raise InputError(
            f"The ids of side {name.upper()} came from {file}, which does not name these rows ({reason}); {again}give "
            f"a file that names all of them, --payload-{name} FILE beside --against (in Python: "
            "against=open_collection(…, payload=FILE)), or a collection that has ids itself."
        ) from error


def whole_of(held: Held, side: int, progress: ProgressListener | None = None) -> Collection:
    """All rows of one side: from memory, or opened where it was; else an error says what is needed."""
    parts, source = held.parts[side], held.sources[side]
    name = SIDES[side].upper()
    if len(parts) == 1:
        return parts[0]
    if parts:  # int8 becomes what it means
        rows = [part.vectors if part.scale is None else numbers(part, slice(None)) for part in parts]
        ids = [part.ids for part in parts if part.ids is not None]
        every = np.concatenate(ids) if len(ids) == len(parts) else None
        return Collection.from_array(np.concatenate(rows), ids=every, name=parts[0].name)
    how = f"give side {name} (against=, or a= and b= of update; --against on the command line)"
    if source is None:
        raise InputError(f"The vectors of side {name} are not part of the linker, and were given as an array; {how}.")
    try:
        return opened_side(held, side, source, progress)
    except VeclinkError as error:
        raise InputError(
            f"The vectors of side {name} were in {source}, which cannot be opened ({error}); {how}."
        ) from error


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


def check_taken_in(batch: Collection, links: Links, knowledge: Knowledge, side: int) -> None:
    """Refuse new rows that a linker cannot take in: without ids where their side has some, or known already."""
    name = SIDES[side]
    if (links.ids_a, links.ids_b)[side] is not None and batch.ids is None:
        raise InputError(
            f"Side {name.upper()} has ids, and {batch.name} has none; give the new rows ids (--payload-{name} FILE "
            "with a column `id`; in Python open_collection(…, payload=FILE))."
        )
    check_new(batch, links, side)
    if batch.ids is not None and _judged_ids(links, side) is not None:
        return
    copies = int(np.isin(marks_of(batch), knowledge.sides[side].marks).sum())
    if 2 * copies >= len(batch):  # fewer are other objects with the same numbers
        raise InputError(
            f"{copies:,} of the {plural(len(batch), 'row')} of {batch.name} are copies of rows that side "
            f"{name.upper()} has already; give the new rows alone, or a batch just as it came before."
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


def without_copies(new: Cloud, knowledge: Knowledge, side: int) -> Cloud:
    """The new rows of one side but those that are equal to a row that the side has already.

    Up to rounding they are compared with the rows that the linker keeps, and by their marks with all rows.
    """
    kept = np.concatenate([knowledge.sides[side].backdrop, knowledge.nearby.vectors(side)])
    near = multiply(new.block(0, len(new)), unit_rows(kept).T)  # rounding changed their lengths
    is_copy = near.max(axis=1, initial=-1.0) >= 1 - SAME
    is_copy |= np.isin(marks_of(new.collection)[new.rows], knowledge.sides[side].marks)
    return Cloud(new.collection, new.rows[~is_copy], new.mean)
