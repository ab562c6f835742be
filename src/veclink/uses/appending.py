"""append(): new rows for a merged collection, by a linker that knows both sides.

New rows of A that are an object of B are joined to its row; the others are translated and follow. New rows of B that
are an object of A take over its row, with the id that they have in B and the vector of B's own model; the others follow
as they are. The collection is written anew, whole or not at all: after a kill, the same call does the same again; rows
that are there are left out, but for columns that they lack there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.links import Links
from veclink.data.notebook import card
from veclink.errors import InputError, named, without_secrets
from veclink.geometry.magnitudes import fitted
from veclink.progress import ProgressListener, heard, shows_progress
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import BATCH, Batch
from veclink.uses.appended_rows import NEEDED, filled_in, lacking_columns, with_new_rows
from veclink.uses.linker import Linker
from veclink.uses.merged_rows import ids_with_b, joined_ids
from veclink.uses.merging import DEFAULT_SURE
from veclink.uses.translating import Source


@dataclass(frozen=True, eq=False)
class Appended:
    """A merged collection with new rows, ready to be written.

    Attributes
    ----------
    rows, new, joined, there : int
        Rows of the collection now; new rows at its end, new rows that were joined to a row of it, and rows that were in
        it already.
    filled : int
        Of the rows that were in it already, those that have got values they lacked.
    lacking : tuple of str
        Columns that its rows of this side have and the new rows have not.
    hidden : float
        How many of the joined rows are expected to be wrong: Σ(1 − probability).
    ids_of_a : str
        How the ids of A's rows are written that other rows have too, in words; "as they are" where there are none.
    place : str or Path
        The merged collection that it is made from, and that `write` replaces.
    """

    vectors: np.ndarray
    ids: np.ndarray
    payload: Any
    metadata: dict[str, Any]
    new: int
    joined: int
    there: int
    filled: int
    lacking: tuple[str, ...]
    hidden: float
    ids_of_a: str
    place: str | Path

    def __repr__(self) -> str:
        return f"Appended({self._headline()}; {self._is_written()})"

    def _repr_html_(self) -> str:
        figures = [("In the merged collection", without_secrets(str(self.place))), ("Now", self._is_written())]
        if self.filled:
            figures.append(("Rows there that get values they lacked", f"{self.filled:,}"))
        if self.lacking:
            figures.append(("Columns that the new rows lack", named(self.lacking)))
        if self.joined:
            figures.append(("Joined rows that are expected to be wrong", f"{self.hidden:.1f}"))
        return card(self._headline(), figures, (), ())

    def _headline(self) -> str:
        were_there = f"{self.joined:,} joined to rows that were there, {self.there:,} in it already"
        return f"{self.rows:,} rows: {self.new:,} new, {were_there}"

    def _is_written(self) -> str:
        return "nothing is written before write()" if self.changes else "there is nothing to write"

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.new or self.joined or self.filled)

    @property
    def rows(self) -> int:
        """How many rows the collection has now."""
        return len(self.vectors)

    def batches(self) -> Iterator[Batch]:
        """All rows, some thousand at a time."""
        for start in range(0, self.rows, BATCH):
            stop = min(start + BATCH, self.rows)
            yield Batch(self.vectors[start:stop], self.ids[start:stop], self.payload.slice(start, stop - start))

    def write(self, to: str | Path | None = None) -> int:
        """Put it in the place of the older one, whole or not at all; where nothing changes, nothing is written.

        to: another place, where what is there is replaced.
        """
        if not self.changes:
            return self.rows
        with open_store(self.place if to is None else to, write=True) as store:
            return store.write(self.batches(), metadata=self.metadata, replace=True)


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
    """The merged collection in `to` with new rows of one side; nothing is written until `Appended.write`.

    Parameters
    ----------
    new : Collection, path or URL
        Rows with ids; those that the merged collection has already are left out. Where it lacks values of their
        payload, it gets them.
    to : path or URL
        A collection that `merge` wrote, in a store that keeps its payload.
    linker : Linker
        Of the two collections that were merged. It stays as it is; where it took in these rows (`update`), its
        links are used.
    side : {"a", "b"}
        The side that the new rows are of.
    sure : float
        Links less probable than this join nothing.
    against : array, Collection, path or URL, optional
        The other collection, where the linker cannot find it.
    progress : callable or True, optional
        Hears how far it is; True shows it.
    """
    progress = heard(progress)
    if side not in ("a", "b"):
        raise InputError(f"The side is {side!r}; it is 'a' or 'b'.")
    with open_store(to) as store:
        if not store.replaceable:
            raise InputError(f"{store.name} cannot be replaced as a whole; merge to another kind of store.")
        metadata = store.metadata()
    rows, merged = open_collection(new, progress=progress), open_collection(to, progress=progress)
    table, ids, own_ids = _checked(rows, merged, metadata, str(to))
    known = _known(table, own_ids, side)
    fresh = np.flatnonzero(known < 0)
    table, filled = filled_in(table, rows, known, side)
    lacking = lacking_columns(table, rows, side) if len(fresh) else ()
    partner, chance = _no_partners(len(rows))
    if len(fresh):
        links = _links_of_new(linker, rows, side, against, progress)
        _check_named_alike(links, table, "b" if side == "a" else "a")
        partner, chance = _partners(linker, links, rows, side)
    usable = fresh[chance[fresh] >= sure] if len(fresh) else fresh
    place = _places(table, partner[usable], "b" if side == "a" else "a")
    joined, at = usable[place >= 0], place[place >= 0]
    alone = np.setdiff1d(fresh, joined)
    vectors = _vectors(merged, rows, alone, linker, side)
    if side == "b":
        vectors[at] = fitted(numbers(rows, joined), vectors.dtype) if len(joined) else vectors[at]
    payload = with_new_rows(table, rows, (joined, at, chance[joined]), alone, side)
    if side == "a":
        ids, ids_of_a = joined_ids(ids, own_ids[alone])
    else:
        of_a = np.array([each == "a" for each in table.column("origin").to_pylist()], bool)
        ids, ids_of_a = ids_with_b(ids, of_a, own_ids[np.concatenate([joined, alone])], at)
    hidden = round(float((1 - chance[joined]).sum()), 2)
    there = len(rows) - len(fresh)
    metadata = _counted(metadata, payload, hidden)
    counts = len(alone), len(joined), there, filled
    return Appended(vectors, ids, payload, metadata, *counts, lacking, hidden, ids_of_a, to)


def _checked(
    rows: Collection, merged: Collection, metadata: dict[str, Any], place: str
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The table of the merged collection, its ids, and those of the new rows."""
    if rows.ids is None:
        raise InputError(f"{rows.name} has no ids; new rows need some, or a second run would add them again.")
    table, ids = merged.payload, merged.ids
    if table is None or ids is None or any(name not in table.column_names for name in NEEDED):
        raise InputError(
            f"{place} is no merged collection with the columns origin, id_a and id_b; merge to Parquet or to a store."
        )
    if (metadata.get("merged") or {}).get("space") == "both":
        raise InputError(f"{place} was merged with --union-only, in two spaces; merge it again without that first.")
    return table, ids, rows.ids


def _links_of_new(
    linker: Linker, rows: Collection, side: str, against: Source | None, progress: ProgressListener | None
) -> Links:
    """The links of the new rows: those that the linker has, where it took them in before."""
    if linker.knows(rows, side=side) is not None:
        return linker.links
    return linker.match(rows, side=side, against=against, progress=progress)


def _check_named_alike(links: Links, table: Any, other: str) -> None:
    """Refuse links that name rows of the other side by number where the merged collection has ids of it."""
    ids = links.ids_a if other == "a" else links.ids_b
    if ids is None and len(links) and str(table.column(f"id_{other}").type) == "string":
        raise InputError(
            f"The linker knows the rows of {other.upper()} by their numbers, and the merged collection by ids; link "
            f"and save the linker with these ids, or give {other.upper()} with them (against=, --against)."
        )


def _partners(linker: Linker, links: Links, rows: Collection, side: str) -> tuple[np.ndarray, np.ndarray]:
    """For each new row its partner's id on the other side (None for none) and the probability (0 for none)."""
    taken = linker.knows(rows, side=side)
    own, other = (0, 1) if side == "a" else (1, 0)
    first = 0 if taken is None else taken.start
    mine = np.flatnonzero((links.pairs[:, own] >= first) & (links.pairs[:, own] < first + len(rows)))
    partner = np.full(len(rows), None, object)
    chance = np.zeros(len(rows))
    names = _names(links, other)
    partner[links.pairs[mine, own] - first] = names[mine]
    chance[links.pairs[mine, own] - first] = links.probability[mine]
    return partner, chance


def _known(table: Any, own_ids: np.ndarray, side: str) -> np.ndarray:
    """Where rows of one side stand in the table (m,), by their ids; −1 for new ones."""
    names = table.column(f"id_{side}").to_pylist()
    place_of = {str(name): place for place, name in enumerate(names) if name is not None}
    return np.array([place_of.get(str(name), -1) for name in own_ids.tolist()], np.int64)


def _no_partners(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, None, object), np.zeros(count)


def _names(links: Links, side: int) -> np.ndarray:
    """The ids of one side of each link, as text; row numbers where it has none."""
    ids = links.ids_a if side == 0 else links.ids_b
    values = links.pairs[:, side] if ids is None else ids
    return np.array([str(each) for each in values.tolist()] + [None], object)[:-1]


def _places(table: Any, partner: np.ndarray, side: str) -> np.ndarray:
    """The row of the merged collection that is each partner's alone; −1 where it is joined to another already."""
    names = table.column(f"id_{side}").to_pylist()
    origin = table.column("origin").to_pylist()
    row_of = {str(name): row for row, name in enumerate(names) if origin[row] == side}
    found, taken = [], set()
    for name in partner.tolist():
        row = row_of.get(name, -1)
        found.append(-1 if row in taken else row)
        taken.add(row)
    return np.array(found, np.int64)


def _vectors(merged: Collection, rows: Collection, alone: np.ndarray, linker: Linker, side: str) -> np.ndarray:
    """The merged collection's vectors, then those of the rows that follow."""
    more = numbers(rows, alone) if len(alone) else np.empty((0, rows.dimension), np.float32)
    if side == "a":
        more = linker.translate(more, side="a") if len(alone) else np.empty((0, merged.dimension), np.float32)
    old = numbers(merged, slice(None))
    return np.concatenate([old, fitted(more, old.dtype)])


def _counted(metadata: dict[str, Any], payload: Any, hidden: float) -> dict[str, Any]:
    """What the store says of itself, with the counts of all rows that it has now."""
    before = metadata.get("merged") or {}
    origin = payload.column("origin").to_pylist()
    counts = {
        "rows": len(origin),
        "from_b": len(origin) - origin.count("a"),
        "linked": origin.count("both"),
        "translated": origin.count("a"),
        "hidden": round((before.get("hidden") or 0.0) + hidden, 2),
    }
    return {**metadata, "merged": {**before, **counts}}


