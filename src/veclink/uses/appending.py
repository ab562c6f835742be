"""append(): new rows for a merged collection, by a linker that knows both sides.

New rows of A that are an object of B are joined to its row; the others are translated and follow. New rows of B that
are an object of A take over its row, with the id that they have in B and the vector of B's own model; the others follow
as they are. The collection is written anew, whole or not at all: after a kill, the same call does the same again; rows
that are there are left out, but for columns that they lack there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection, numbers
from veclink.data.links import Links
from veclink.data.words import Told
from veclink.errors import InputError, ShuffledPayloadWarning, WrongLinksWarning, named
from veclink.geometry.clouds import fitted
from veclink.progress import ProgressListener, heard, shows_progress
from veclink.stores import open_store
from veclink.stores.opening import address_of, open_collection
from veclink.stores.protocol import BATCH, Batch
from veclink.uses.known_rows import SIDES, side_of
from veclink.uses.linker import Linker
from veclink.uses.merged_rows import (
    NEEDED,
    Placed,
    grown,
    ids_with_b,
    joined_ids,
    misfit_of,
    of_side,
)
from veclink.uses.merging import DEFAULT_SURE, MergeOptions, figures_of_joins
from veclink.uses.translating import Source


@dataclass(frozen=True)
class AppendSummary(Told):
    """What is appended, in figures.

    Attributes
    ----------
    rows, new, joined, there : int
        Rows of the collection now; new rows at its end, new rows that were joined to a row of it, and rows that were in
        it already.
    filled : int
        Of the rows that were in it already, those that have got values they lacked.
    lacking : tuple of str
        Columns that its rows of this side have and the new rows have not.
    unsure : int
        Links of new rows that join nothing, as they are less probable than `sure`.
    copies : (int, int)
        New rows of A and of B that are copies of rows that the linker knew; each is a row of its own.
    hidden : float
        How many of the joined rows are expected to be wrong: Σ(1 − probability).
    ids_of_a : str
        How the ids of A's rows are written that other rows have too, in words; "as they are" where there are none.
    payload_warning : str or None
        A sentence where titles of joined rows speak against the order of the new rows' payload.
    """

    rows: int
    new: int
    joined: int
    there: int
    filled: int
    lacking: tuple[str, ...]
    unsure: int
    sure: float
    copies: tuple[int, int]
    hidden: float
    ids_of_a: str
    payload_warning: str | None = None

    @property
    def headline(self) -> str:  # type: ignore[override]
        """Rows in words."""
        were_there = f"{self.joined:,} joined to rows that were there, {self.there:,} in it already"
        return f"{self.rows:,} rows: {self.new:,} new, {were_there}."

    def figures(self) -> list[tuple[str, str]]:
        """What else there is to know of them, by name."""
        told = figures_of_joins(self)
        if self.filled:
            told.append(("Rows in it already that get values they lacked", f"{self.filled:,}"))
        if self.lacking:
            told.append(("Columns that the new rows lack, and can be given now or later", named(self.lacking)))
        return told

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.new or self.joined or self.filled)


@dataclass(frozen=True, eq=False)
class Appended:
    """A merged collection with new rows, ready to be written.

    Attributes
    ----------
    collection : Collection
        All of its rows, in memory.
    summary : AppendSummary
        What is appended, in figures.
    place : str or Path
        The merged collection that it is made from, and that `write` replaces.
    """

    collection: Collection
    metadata: dict[str, Any]
    summary: AppendSummary
    place: str | Path
    _state: str  # of the place, when it was read

    def __repr__(self) -> str:
        return f"Appended({self.summary.headline})"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def batches(self) -> Iterator[Batch]:
        """All rows, some thousand at a time."""
        rows = self.collection
        assert rows.payload is not None  # a merged collection says where its rows come from
        for start in range(0, len(rows), BATCH):
            here = slice(start, start + BATCH)
            yield Batch(rows.vectors[here], rows.ids_at(here), rows.payload.slice(start, BATCH))

    def write(self, to: str | Path | None = None) -> int:
        """Put it in the place of the older one, whole or not at all; where nothing changes, nothing is written.

        What was changed there meanwhile is not replaced: it would be lost.

        to: another place, where what is there is replaced.
        """
        if not self.summary.changes:
            return len(self.collection)
        to = to or self.place
        here, there = address_of(self.place), address_of(to)
        is_same = here == there or (here.path and there.path and here.path.resolve() == there.path.resolve())
        state = self._state if is_same and here.table == there.table else None
        with open_store(to, write=True) as store:
            return store.write(self.batches(), metadata=self.metadata, replace=True, state=state)


@shows_progress
def append(
    new: Source,
    to: str | Path,
    linker: Linker,
    *,
    side: str = "a",
    sure: float = DEFAULT_SURE,
    against: Source | None = None,
    progress: ProgressListener | bool | None = None,
) -> Appended:
    """Add new rows of one side to the merged collection `to`. Nothing is written until `Appended.write`.

    Parameters
    ----------
    new : Collection, path or URL
        Rows with ids. Those that the merged collection has already only fill in payload that it lacks.
    to : path or URL
        A collection that `merge` wrote, in a store that keeps its payload.
    linker : Linker
        Of the two collections that were merged. It stays as it is; where it took in these rows (`update`), its
        links are used.
    side : {"a", "b"}
        The side that the new rows are of.
    sure : float
        Links less probable than this join nothing.
    against : array, frame, Collection, path or URL, optional
        The other collection, where the linker cannot find it.
    progress : callable or True, optional
        Called with the progress. True shows it.
    """
    progress = heard(progress)
    MergeOptions(sure=sure)  # refuses what is no probability
    other = "ba"[side_of(side)]
    merged, metadata, state = _opened(to, progress)
    rows = open_collection(new, progress=progress)
    ids, table = merged.ids, merged.payload
    if rows.ids is None:
        raise InputError(
            f"The new rows ({rows.name}) have no ids; they need some, or a second run would add them again: "
            f"--payload-{side} FILE with a column `id` (in Python open_collection(…, payload=FILE))."
        )
    assert ids is not None and table is not None
    origin = table.column("origin").to_pylist()
    row_of = {name: row for row, name in enumerate(_called(table, side))}
    known = np.array([row_of.get(str(name), -1) for name in rows.ids.tolist()], np.int64)
    fresh = np.flatnonzero(known < 0)
    partner, chance, copies = _partners(linker, rows, fresh, table, side, against, progress)
    # new rows go to their partner's row where they surely have one that is free, else to the end
    free = {name: row for row, name in enumerate(_called(table, other)) if origin[row] == other}
    usable = fresh[chance[fresh] >= sure]
    at = np.array([free.pop(name, -1) for name in partner[usable].tolist()], np.int64)  # each row takes one
    joined = usable[at >= 0]
    placed = Placed(joined, at[at >= 0], chance[joined], np.setdiff1d(fresh, joined))
    payload, filled = grown(table, rows, known, placed, side)
    misfit = misfit_of(rows, merged, placed, side)
    if misfit is not None:
        warnings.warn(misfit, ShuffledPayloadWarning, stacklevel=2)
    if linker.links.summary.found not in (None, metadata.get("links")) and metadata.get("links") is not None:
        warnings.warn(
            "The linker was saved by another run than the one whose links the collection was merged by; link again "
            "with --save-linker, or make sure that both are about the same rows.",
            WrongLinksWarning,
            stacklevel=2,
        )
    if side == "a":
        ids, ids_of_a = joined_ids(ids, rows.ids[placed.alone])
    else:
        is_of_a = np.array([each == "a" for each in origin], bool)
        of_b = rows.ids[np.concatenate([placed.joined, placed.alone])]
        ids, ids_of_a = ids_with_b(ids, is_of_a, of_b, placed.at)
    hidden = round(float((1 - placed.chance).sum()), 2)
    given = () if rows.payload is None else rows.payload.column_names
    had = of_side(dict.fromkeys(table.column_names), side) if len(fresh) else ()
    summary = AppendSummary(
        rows=len(ids),
        new=len(placed.alone),
        joined=len(placed.joined),
        there=len(rows) - len(fresh),
        filled=filled,
        lacking=tuple(name for name in had if name not in given),
        unsure=int(((chance[fresh] > 0) & (chance[fresh] < sure)).sum()),
        sure=sure,
        copies=copies,
        hidden=hidden,
        ids_of_a=ids_of_a,
        payload_warning=misfit,
    )
    before, origin = metadata.get("merged") or {}, payload.column("origin").to_pylist()
    counts = {
        "rows": len(origin),
        "from_b": len(origin) - origin.count("a"),
        "linked": origin.count("both"),
        "translated": origin.count("a"),
        "hidden": round((before.get("hidden") or 0.0) + hidden, 2),
        "appends": before.get("appends", 0) + 1,  # by which `Store.state` tells this from what it replaces
    }
    vectors = _vectors(rows, merged, placed, side, linker)
    whole = Collection(vectors, ids, payload, name=merged.name)
    return Appended(whole, {**metadata, "merged": {**before, **counts}}, summary, to, state)


def _opened(to: str | Path, progress: ProgressListener | None) -> tuple[Collection, dict[str, Any], str]:
    """A merged collection, what its store says of it, and the store's state; refused where it cannot be replaced."""
    if not isinstance(to, (str, Path)):
        kind = type(to).__name__
        raise InputError(f"The merged collection is given as a {kind}; give its path or URL, where it is replaced.")
    with open_store(to) as store:
        if not store.replaceable:
            raise InputError(f"{store.name} cannot be replaced as a whole; merge to another kind of store.")
        metadata, state = store.metadata(), store.state()
    merged = open_collection(to, progress=progress)
    there = () if merged.payload is None or merged.ids is None else merged.payload.column_names
    if any(name not in there for name in NEEDED):
        raise InputError(
            f"{merged.name} is no merged collection with the columns origin, id_a and id_b; merge to Parquet or to a "
            "store."
        )
    if (metadata.get("merged") or {}).get("space") == "both":
        raise InputError(f"{merged.name} was merged with --union-only, in two spaces; merge it again without that.")
    return merged, metadata, state


def _partners(
    linker: Linker,
    rows: Collection,
    fresh: np.ndarray,
    table: pa.Table,
    side: str,
    against: Source | None,
    progress: ProgressListener | None,
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """For each row its partner's id on the other side, as text (None for none), and the probability (0 for none).

    Then how many rows of A and of B are copies of known ones.

    fresh: (f,) the new ones among the rows, which are asked for. table: of the merged collection.
    """
    partner, chance = np.full(len(rows), None, object), np.zeros(len(rows))
    if not len(fresh):
        return partner, chance, (0, 0)
    asked, new, other = np.arange(len(rows)), rows, "ba"[side == "b"]
    if len(fresh) < len(rows) and linker.knows(rows, side=side) is None:
        asked, new = fresh, Collection.from_array(numbers(rows, fresh), rows.ids_at(fresh), name=rows.name)
    links = linker.match(new, side=side, against=against, progress=progress)
    ids = links.ids_a if other == "a" else links.ids_b
    if ids is None and len(links) and str(table.column(f"id_{other}").type) == "string":
        raise InputError(
            f"The linker knows the rows of {other.upper()} by their numbers, and the merged collection by ids; link "
            f"and save the linker with these ids, or give {other.upper()} with them (against=, --against)."
        )
    joined = {pair for pair in zip(_called(table, "a"), _called(table, "b"), strict=True) if None not in pair}
    same = joined.intersection(zip(_names_of(linker.links, "a"), _names_of(linker.links, "b"), strict=True))
    # links of other collections, or by other ids, have less than this share in common with what was merged: a choice
    if len(same) < 0.05 * min(len(linker.links), len(joined)):
        raise InputError(
            "The linker's links are not those of the merged collection: it is the linker of other collections, or "
            "knows their rows by other ids; link what was merged, with the ids that it was merged by."
        )
    place = asked[links.pairs[:, SIDES.index(side)]]
    partner[place], chance[place] = _names_of(links, other), links.probability
    return partner, chance, links.summary.copies


def _called(table: pa.Table, side: str) -> list[str | None]:
    """The id of each row on one side, as text; None where it is not of that side."""
    return [None if name is None else str(name) for name in table.column(f"id_{side}").to_pylist()]


def _names_of(links: Links, side: str) -> np.ndarray:
    """The ids of one side of each link, as text; row numbers where it has none."""
    return np.array([str(each) for each in links.columns()[side].tolist()], object)


def _vectors(rows: Collection, merged: Collection, placed: Placed, side: str, linker: Linker) -> np.ndarray:
    """The merged collection's vectors, those of B's new rows where they take over a row, then those that follow."""
    old, more = numbers(merged, slice(None)), []
    if len(placed.alone):
        new = numbers(rows, placed.alone)
        more = [fitted(linker.translate(new) if side == "a" else new, old.dtype)]
    vectors = np.concatenate([old, *more])
    if side == "b" and len(placed.joined):
        vectors[placed.at] = fitted(numbers(rows, placed.joined), vectors.dtype)
    return vectors
