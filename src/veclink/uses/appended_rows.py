"""The table of a merged collection with new rows of one side: what each of them is called, and what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import needed
from veclink.stores.arrow import id_column, one_table
from veclink.uses.merged_rows import as_text, coalesced, payload_misfit, plain_names


@dataclass(frozen=True, eq=False)
class Placed:
    """Where new rows go in a merged collection.

    joined, at, chance: (j,) new rows that are an object of the other side, the rows of the collection that they are
    joined to, and how probable that is. alone: (m,) new rows that follow at the end.
    """

    joined: np.ndarray
    at: np.ndarray
    chance: np.ndarray
    alone: np.ndarray

    @classmethod
    def nowhere(cls) -> Placed:
        """Of no rows."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0), none)

    @property
    def hidden(self) -> float:
        """How many of the joined rows are expected to be wrong."""
        return round(float((1 - self.chance).sum()), 2)


def with_missing_values(table: Any, rows: Collection, known: np.ndarray, side: str) -> tuple[Any, int]:
    """The table with values that its rows of one side lack, and how many rows have got some.

    known: (m,) where each of the given rows stands in the table, −1 for new ones. Under its own name, a value of B goes
    before one of A, as in a merge.
    """
    if rows.payload is None:
        return table, 0
    arrow: Any = needed("pyarrow", "The payload of a merged collection")
    source = np.full(table.num_rows, -1, np.int64)
    source[known[known >= 0]] = np.flatnonzero(known >= 0)
    filled = np.zeros(table.num_rows, bool)
    plain = _plain_names(table, rows.payload, side)
    for name in rows.payload.column_names:
        own = f"{side}_{name}"
        kept = table.column(own).is_valid().to_numpy() if own in table.column_names else False
        values = rows.payload.column(name).take(arrow.array(source, mask=(source < 0) | kept))
        gained = values.is_valid().to_numpy()
        if gained.any():
            filled |= gained
            table = _with_values(table, own, values)
            for column in plain.get(name, ()):
                table = _with_values(table, column, values, first=side == "b" and column == plain[name][0])
    return table, int(filled.sum())


def with_new_rows(table: Any, rows: Collection, placed: Placed, side: str) -> Any:
    """The table of the merged collection with the new rows' values where they were joined, and new rows at the end."""
    arrow: Any = needed("pyarrow", "The payload of a merged collection")
    source = np.full(table.num_rows, -1, np.int64)
    source[placed.at] = placed.joined
    plain = {} if rows.payload is None else _plain_names(table, rows.payload, side)
    taken = _own_columns(arrow, rows, source, side, plain)
    probability = np.full(table.num_rows, np.nan)
    probability[placed.at] = placed.chance
    taken["link_probability"] = arrow.array(probability, mask=np.isnan(probability))
    taken["origin"] = arrow.array(["both" if row >= 0 else None for row in source], arrow.string())
    only_where_missing = {second for filled in plain.values() for second in filled[1:]}
    for name, values in taken.items():
        of_b = side == "b" and not name.startswith("a_") and name not in only_where_missing
        wins = name == "origin" or of_b
        table = _with_values(table, name, values, first=wins)
    tail = _own_columns(arrow, rows, placed.alone, side, plain)
    tail["origin"] = arrow.array([side] * len(placed.alone), arrow.string())
    for name, values in tail.items():  # what joined rows made text is text in those that follow
        tail[name] = values if values.type == table.column(name).type else as_text(values)
    return one_table([table, arrow.table(tail)]) if len(placed.alone) else table


def misfit_of(rows: Collection, merged: Collection, placed: Placed, side: str) -> str | None:
    """What titles of joined rows say against the order of the new rows' payload, in a sentence; None for nothing."""
    others = _of_side(merged.payload, "b" if side == "a" else "a")
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
    return tuple(name for name in _of_side(table, side) if name not in given)


def _plain_names(table: Any, payload: Any, side: str) -> dict[str, tuple[str, ...]]:
    """The columns without a_ and b_ that the payload columns of one side fill, as in a merge."""
    own = {name: payload.column(name) for name in payload.column_names}
    return plain_names(own, _of_side(table, "b" if side == "a" else "a"), side, table.column_names)


def _of_side(table: Any, side: str) -> dict[str, Any]:
    """The payload of one side in a merged table, under the names that the side has for it."""
    own = [name for name in table.column_names if name.startswith(f"{side}_")]
    return {name.removeprefix(f"{side}_"): table.column(name) for name in own}


def _own_columns(
    arrow: Any, rows: Collection, source: np.ndarray, side: str, plain: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Columns of new rows at `source` (−1: missing): the id, the payload of the side, and its plain names."""
    index = arrow.array(source, mask=source < 0)
    assert rows.ids is not None
    columns = {f"id_{side}": id_column(rows.ids).take(index)}
    if rows.payload is not None:
        for name in rows.payload.column_names:
            values = rows.payload.column(name).take(index)
            columns[f"{side}_{name}"] = values
            columns |= dict.fromkeys(plain.get(name, ()), values)
    return columns


def _with_values(table: Any, name: str, values: Any, *, first: bool = False) -> Any:
    """The table with these values of a column where it has none, or wherever there are such (`first`)."""
    older = [table.column(name)] if name in table.column_names else []
    return _with_column(table, name, coalesced([values, *older] if first else [*older, values]))


def _with_column(table: Any, name: str, values: Any) -> Any:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, values)
    return table.append_column(name, values)
