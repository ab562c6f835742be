"""The table of a merged collection with new rows of one side: what each of them is called, and what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import needed
from veclink.stores.arrow import id_column
from veclink.uses.merged_rows import coalesced, payload_misfit, plain_columns, plain_names


@dataclass(frozen=True, eq=False)
class Placed:
    """Where new rows go in a merged collection."""

    joined: np.ndarray  # (j,) new rows that are an object of the other side
    at: np.ndarray  # (j,) the rows of the collection that they are joined to
    chance: np.ndarray  # (j,) how probable that is
    alone: np.ndarray  # (m,) new rows that follow at the end

    @classmethod
    def nowhere(cls) -> Placed:
        """Of no rows."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0), none)

    @property
    def hidden(self) -> float:
        """How many of the joined rows are expected to be wrong."""
        return round(float((1 - self.chance).sum()), 2)


def grown(table: Any, rows: Collection, known: np.ndarray, placed: Placed, side: str) -> tuple[Any, int]:
    """The table with the values of new rows where they were joined, and new rows at the end; and how many were filled.

    known: (m,) where each of the given rows stands in the table, −1 for new ones: those get values that they lack
    there. Under its own name, a value of B goes before one of A, as in a merge.
    """
    arrow: Any = needed("pyarrow", "The payload of a merged collection")
    compute: Any = needed("pyarrow.compute", "The payload of a merged collection")
    n, n_all = table.num_rows, table.num_rows + len(placed.alone)
    source = np.full(n_all, -1, np.int64)  # the new row that each row of the table has values of
    source[known[known >= 0]] = np.flatnonzero(known >= 0)
    source[placed.at] = placed.joined
    source[n:] = placed.alone
    chance, origin = np.full(n_all, np.nan), np.full(n_all, None, object)
    chance[placed.at], origin[placed.at], origin[n:] = placed.chance, "both", side
    whole = table.take(arrow.array(np.arange(n_all), mask=np.arange(n_all) >= n))
    columns = {name: whole.column(name) for name in table.column_names}
    index = arrow.array(source, mask=source < 0)
    assert rows.ids is not None
    columns[f"id_{side}"] = coalesced([columns[f"id_{side}"], id_column(rows.ids).take(index)])
    columns["link_probability"] = coalesced([columns["link_probability"], arrow.array(chance, mask=np.isnan(chance))])
    columns["origin"] = coalesced([arrow.array(origin.tolist(), arrow.string()), columns["origin"]])
    changed = np.array([each is not None for each in origin])
    given = {} if rows.payload is None else {name: rows.payload.column(name) for name in rows.payload.column_names}
    for name, of_new in given.items():
        own, values = f"{side}_{name}", of_new.take(index)
        older = [columns[own]] if own in columns else []
        changed |= values.is_valid().to_numpy() & (older[0].is_null().to_numpy() if older else True)
        columns[own] = coalesced([*older, values])
    own_columns = {name: columns[f"{side}_{name}"] for name in given}
    others = _of_side(columns, "b" if side == "a" else "a")
    mine = plain_names(own_columns, others, side, table.column_names)
    of_a, of_b = (own_columns, others) if side == "a" else (others, own_columns)
    every = plain_columns(of_a, of_b, table.column_names)
    for name in dict.fromkeys(each for filled in mine.values() for each in filled):
        older = [columns[name]] if name in columns else []
        fresh = coalesced([*every[name], *older])
        columns[name] = coalesced([compute.if_else(arrow.array(changed), fresh, None), *older])
    return arrow.table(columns), int(changed[known[known >= 0]].sum())


def misfit_of(rows: Collection, merged: Collection, placed: Placed, side: str) -> str | None:
    """What titles of joined rows say against the order of the new rows' payload, in a sentence; None for nothing."""
    assert merged.payload is not None
    others = _of_side({name: merged.payload.column(name) for name in merged.payload.column_names}, "ba"[side == "b"])
    if rows.payload is None or not others:
        return None
    arrow: Any = needed("pyarrow", "The payload of a merged collection")
    pairs, sides = np.column_stack([placed.joined, placed.at]), (rows, replace(merged, payload=arrow.table(others)))
    if side == "b":
        pairs, sides = pairs[:, ::-1], (sides[1], sides[0])
    return payload_misfit(*sides, pairs, placed.chance)


def lacking_columns(table: Any, rows: Collection, side: str) -> tuple[str, ...]:
    """Columns that rows of one side have in the table, and new ones have not."""
    given = () if rows.payload is None else rows.payload.column_names
    return tuple(name for name in _of_side(dict.fromkeys(table.column_names), side) if name not in given)


def _of_side(columns: dict[str, Any], side: str) -> dict[str, Any]:
    """The payload of one side in a merged table, under the names that the side has for it."""
    return {name.removeprefix(f"{side}_"): each for name, each in columns.items() if name.startswith(f"{side}_")}
