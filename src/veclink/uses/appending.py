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

from veclink.data.collection import Collection, numbers
from veclink.data.notebook import card
from veclink.errors import InputError, ShuffledPayloadWarning, WrongLinksWarning, named, without_secrets
from veclink.geometry.magnitudes import fitted
from veclink.progress import ProgressListener, heard, shows_progress
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import BATCH, Batch
from veclink.uses.appendable import check_named_alike, check_of_these, check_sure, looked_at, names_of
from veclink.uses.appended_rows import Placed, lacking_columns, misfit_of, with_missing_values, with_new_rows
from veclink.uses.linker import Linker
from veclink.uses.merged_rows import NEEDED, ids_with_b, joined_ids
from veclink.uses.merging import DEFAULT_SURE
from veclink.uses.translating import Source

OTHER_LINKS = (
    "The linker was saved by another run than the one whose links the collection was merged by; link again with "
    "--save-linker, or make sure that both are about the same rows."
)


@dataclass(frozen=True)
class AppendSummary:
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
    hidden: float
    ids_of_a: str
    payload_warning: str | None = None

    @property
    def headline(self) -> str:
        """Rows in words."""
        were_there = f"{self.joined:,} joined to rows that were there, {self.there:,} in it already"
        return f"{self.rows:,} rows: {self.new:,} new, {were_there}"

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.new or self.joined or self.filled)


@dataclass(frozen=True, eq=False)
class Appended:
    """A merged collection with new rows, ready to be written.

    Attributes
    ----------
    summary : AppendSummary
        What is appended, in figures.
    place : str or Path
        The merged collection that it is made from, and that `write` replaces.
    """

    vectors: np.ndarray
    ids: np.ndarray
    payload: Any
    metadata: dict[str, Any]
    summary: AppendSummary
    place: str | Path
    _state: str  # of the place, when it was read

    def __repr__(self) -> str:
        return f"Appended({self.summary.headline}; {self._is_written()})"

    def _repr_html_(self) -> str:
        told = self.summary
        figures = [("In the merged collection", without_secrets(str(self.place))), ("Now", self._is_written())]
        if told.filled:
            figures.append(("Rows there that get values they lacked", f"{told.filled:,}"))
        if told.lacking:
            figures.append(("Columns that the new rows lack", named(told.lacking)))
        if told.joined:
            figures.append(("Joined rows that are expected to be wrong", f"{told.hidden:.1f}"))
        return card(told.headline, figures, (), ())

    def _is_written(self) -> str:
        return "nothing is written before write()" if self.summary.changes else "there is nothing to write"

    def batches(self) -> Iterator[Batch]:
        """All rows, some thousand at a time."""
        for start in range(0, len(self.vectors), BATCH):
            stop = min(start + BATCH, len(self.vectors))
            yield Batch(self.vectors[start:stop], self.ids[start:stop], self.payload.slice(start, stop - start))

    def write(self, to: str | Path | None = None) -> int:
        """Put it in the place of the older one, whole or not at all; where nothing changes, nothing is written.

        What was changed there meanwhile is not replaced: it would be lost.

        to: another place, where what is there is replaced.
        """
        if not self.summary.changes:
            return len(self.vectors)
        to = self.place if to is None else to
        state = self._state if str(to) == str(self.place) else None
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
    check_sure(sure)
    given = _opened(new, to, side, progress)
    rows = given.rows
    known = _known(given.table, given.ids, side)
    fresh = np.flatnonzero(known < 0)
    table, filled = with_missing_values(given.table, rows, known, side)
    placed = Placed.nowhere()
    if len(fresh):
        partners = _partners(linker, given, fresh, against, progress)
        placed = _placed(table, fresh, partners, side, sure)
    payload = with_new_rows(table, rows, placed, side)
    misfit = misfit_of(rows, given.merged, placed, side)
    if misfit is not None:
        warnings.warn(misfit, ShuffledPayloadWarning, stacklevel=2)
    found = given.metadata.get("links")
    if found is not None and linker.links.summary.found not in (None, found):
        warnings.warn(OTHER_LINKS, WrongLinksWarning, stacklevel=2)
    ids, ids_of_a = _ids(given, placed)
    summary = AppendSummary(
        rows=len(ids),
        new=len(placed.alone),
        joined=len(placed.joined),
        there=len(rows) - len(fresh),
        filled=filled,
        lacking=lacking_columns(table, rows, side) if len(fresh) else (),
        hidden=placed.hidden,
        ids_of_a=ids_of_a,
        payload_warning=misfit,
    )
    return Appended(
        vectors=_vectors(given, placed, linker),
        ids=ids,
        payload=payload,
        metadata=_counted(given.metadata, payload, placed.hidden),
        summary=summary,
        place=to,
        _state=given.state,
    )


@dataclass(frozen=True, eq=False)
class _Given:
    """New rows of one side with their ids (m,), and the merged collection with its own (n,).

    table: what it says of its rows; metadata: what its store says of itself; state: see `state_of`.
    """

    side: str
    rows: Collection
    ids: np.ndarray
    merged: Collection
    merged_ids: np.ndarray
    table: Any
    metadata: dict[str, Any]
    state: str

    def some(self, rows: np.ndarray) -> Collection:
        """The new rows at some places."""
        if len(rows) == len(self.rows):
            return self.rows
        return Collection.from_array(numbers(self.rows, rows), self.ids[rows], name=self.rows.name)


def _opened(new: Source, to: str | Path, side: str, progress: ProgressListener | None) -> _Given:
    """What was given, refused where it cannot be appended or where there is nothing to append to."""
    if side not in ("a", "b"):
        raise InputError(f"The side is {side!r}; it is 'a' or 'b'.")
    metadata, state = looked_at(to)
    rows = open_collection(new, progress=progress)
    merged = open_collection(to, progress=progress)
    if rows.ids is None:
        raise InputError(
            f"The new rows ({rows.name}) have no ids; they need some, or a second run would add them again: "
            f"--payload-{side} FILE with a column `id` (in Python open_collection(…, payload=FILE))."
        )
    table = merged.payload
    if table is None or merged.ids is None or any(name not in table.column_names for name in NEEDED):
        raise InputError(
            f"{to} is no merged collection with the columns origin, id_a and id_b; merge to Parquet or to a store."
        )
    if (metadata.get("merged") or {}).get("space") == "both":
        raise InputError(f"{to} was merged with --union-only, in two spaces; merge it again without that first.")
    return _Given(side, rows, rows.ids, merged, merged.ids, table, metadata, state)


def _known(table: Any, own_ids: np.ndarray, side: str) -> np.ndarray:
    """Where rows of one side stand in the table (m,), by their ids; −1 for new ones."""
    names = table.column(f"id_{side}").to_pylist()
    place_of = {str(name): place for place, name in enumerate(names) if name is not None}
    return np.array([place_of.get(str(name), -1) for name in own_ids.tolist()], np.int64)


def _partners(
    linker: Linker, given: _Given, fresh: np.ndarray, against: Source | None, progress: ProgressListener | None
) -> tuple[np.ndarray, np.ndarray]:
    """For each row its partner's id on the other side (None for none) and the probability (0 for none).

    fresh: (f,) the new ones among the rows, which are asked for.
    """
    rows, side = given.rows, given.side
    taken = linker.knows(rows, side=side)
    if taken is None:
        asked, new = fresh, given.some(fresh)
        links = linker.match(new, side=side, against=against, progress=progress)
    else:
        asked, links = np.arange(len(rows)), linker.links
    check_named_alike(links, given.table, "b" if side == "a" else "a")
    check_of_these(linker.links, given.table)
    own, other = (0, 1) if side == "a" else (1, 0)
    first = 0 if taken is None else taken.start
    mine = np.flatnonzero((links.pairs[:, own] >= first) & (links.pairs[:, own] < first + len(asked)))
    partner = np.full(len(rows), None, object)
    chance = np.zeros(len(rows))
    names = names_of(links, other)
    place = asked[links.pairs[mine, own] - first]
    partner[place], chance[place] = names[mine], links.probability[mine]
    return partner, chance


def _placed(table: Any, fresh: np.ndarray, partners: tuple[np.ndarray, np.ndarray], side: str, sure: float) -> Placed:
    """Where the new rows (m,) go: to their partner's row where they surely have one that is free, else to the end."""
    partner, chance = partners
    usable = fresh[chance[fresh] >= sure]
    place = _places(table, partner[usable], "b" if side == "a" else "a")
    joined = usable[place >= 0]
    return Placed(
        joined,
        at=place[place >= 0],
        chance=chance[joined],
        alone=np.setdiff1d(fresh, joined),
    )


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


def _vectors(given: _Given, placed: Placed, linker: Linker) -> np.ndarray:
    """The merged collection's vectors, those of B's new rows where they take over a row, then those that follow."""
    rows, merged = given.rows, given.merged
    old = numbers(merged, slice(None))
    more = np.empty((0, merged.dimension), np.float32)
    if len(placed.alone):
        own = numbers(rows, placed.alone)
        more = linker.translate(own, side="a") if given.side == "a" else own
    vectors = np.concatenate([old, fitted(more, old.dtype)])
    if given.side == "b" and len(placed.joined):
        vectors[placed.at] = fitted(numbers(rows, placed.joined), vectors.dtype)
    return vectors


def _ids(given: _Given, placed: Placed) -> tuple[np.ndarray, str]:
    """The ids of all rows, and what was done to those of A for them to be unique."""
    if given.side == "a":
        return joined_ids(given.merged_ids, given.ids[placed.alone])
    origin = given.table.column("origin").to_pylist()
    is_of_a = np.array([each == "a" for each in origin], bool)
    new = np.concatenate([placed.joined, placed.alone])
    return ids_with_b(given.merged_ids, is_of_a, given.ids[new], placed.at)


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
        "appends": before.get("appends", 0) + 1,  # by which `Store.state` tells this from what it replaces
    }
    return {**metadata, "merged": {**before, **counts}}
