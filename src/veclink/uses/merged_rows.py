"""The rows of a merged collection, and new ones: what each is called, where it comes from, what belongs to it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.agreement import agreement_of, may_be_compared
from veclink.data.collection import Collection
from veclink.data.titles import named_title
from veclink.errors import InputError, needed
from veclink.files.atomic import written_whole
from veclink.stores.arrow import id_column
from veclink.stores.files import table_path

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_ROWS = 65_536  # of the table beside a file, at a time
MARK = b"veclink"  # in the metadata of a table that was written here

AS_THEY_ARE = "as they are"
RESERVED = ("id", "vector")
"""Columns of every store; a payload column of that name is there as a_… and b_… only."""
NEEDED = ("origin", "id_a", "id_b", "link_probability")
"""Columns of every merged collection."""


@dataclass(frozen=True, eq=False)
class MergedRows:
    """All of B's rows in their order, then those of A that no link ties to one of them, in theirs.

    partner: (n_b,) the row of A that is the same object, −1 where there is none; probability: of that link, else NaN.
    alone: (m,) rows of A that are not in B. ids: (n_b + m,), B's as they are, A's made unique among them.
    ids_of_a: what was done to A's ids for that, in words. payload_warning: a sentence where titles of linked rows speak
    against the order of the payload.
    """

    a: Collection
    b: Collection
    partner: np.ndarray
    probability: np.ndarray
    alone: np.ndarray
    ids: np.ndarray
    ids_of_a: str
    payload_warning: str | None = None

    @classmethod
    def of(
        cls, a: Collection, b: Collection, pairs: np.ndarray, probability: np.ndarray, left_out: np.ndarray
    ) -> MergedRows:
        """Rows from one-to-one pairs; `left_out` are rows of A that go nowhere (vectors without a direction)."""
        partner, sure = np.full(len(b), -1, np.int64), np.full(len(b), np.nan)
        partner[pairs[:, 1]], sure[pairs[:, 1]] = pairs[:, 0], probability
        new = np.ones(len(a), bool)
        new[pairs[:, 0]] = new[left_out] = False
        alone = np.flatnonzero(new)
        misfit = payload_misfit(a, b, pairs, probability)
        return cls(a, b, partner, sure, alone, *joined_ids(names(b), names(a)[alone]), misfit)

    def __repr__(self) -> str:
        joined = int((self.partner >= 0).sum())
        parts = f"{len(self.b):,} of B, {joined:,} of them in A too, {len(self.alone):,} of A alone"
        return f"MergedRows({len(self):,} rows: {parts})"

    def __len__(self) -> int:
        return len(self.b) + len(self.alone)

    @property
    def hidden(self) -> float | None:
        """Σ(1 − p) over the links in use; None where all of them count as certain."""
        in_use = self.probability[~np.isnan(self.probability)]
        if not len(in_use) or (in_use == 1.0).all():
            return None
        return round(float((1.0 - in_use).sum()), 2)

    def payload(self, start: int, stop: int) -> pa.Table:
        """Columns of rows start…stop−1: origin, id_a, id_b, link_probability, then the payload.

        Of either side as a_… and b_…, and under its own name B's value, or A's where B has none; see `plain_names`.
        """
        arrow: Any = needed("pyarrow", "The payload of a merged collection")
        n_b = len(self.b)
        old = np.arange(start, min(stop, n_b))
        old = old[old >= 0] if start < n_b else np.empty(0, np.int64)
        new = self.alone[max(start - n_b, 0) : max(stop - n_b, 0)]
        rows_b = np.concatenate([old, np.full(len(new), -1)])
        rows_a = np.concatenate([self.partner[old], new])
        chance = np.concatenate([self.probability[old], np.full(len(new), np.nan)])
        origin = np.where(rows_b < 0, "a", np.where(rows_a < 0, "b", "both"))
        columns = {
            "origin": arrow.array(origin.tolist(), arrow.string()),
            "id_a": _taken_ids(arrow, self.a, rows_a),
            "id_b": _taken_ids(arrow, self.b, rows_b),
            "link_probability": arrow.array(chance, mask=np.isnan(chance)),
        }
        of_a, of_b = _taken_payload(arrow, self.a, rows_a), _taken_payload(arrow, self.b, rows_b)
        for side, taken in (("a", of_a), ("b", of_b)):
            columns |= {f"{side}_{name}": values for name, values in taken.items()}
        plain = plain_columns(of_a, of_b, columns)
        return arrow.table(columns | {name: coalesced(values) for name, values in plain.items()})


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


def payload_misfit(a: Collection, b: Collection, pairs: np.ndarray, probability: np.ndarray) -> str | None:
    """What titles of rows that become one (m, 2) say against the payload, in a sentence; None for nothing."""
    if not len(pairs):
        return None
    agreement = agreement_of(pairs, a, b, precision=float(probability.mean()))
    if agreement is None or not agreement.note:
        return None
    return agreement.sentence


def check_table_beside(path: Path) -> None:
    """Refuse a place for vectors beside which `X.rows.parquet` is a table of something else."""
    parquet: Any = needed("pyarrow.parquet", "The table of a merged collection")
    table = table_path(path)
    try:
        is_free = not table.exists() or MARK in (parquet.read_schema(table).metadata or {})
    except (OSError, ValueError):  # what pyarrow raises for files that are no Parquet, or no files
        is_free = False
    if not is_free:
        raise InputError(f"{table} is there already and is about something else; choose another name.")


@contextmanager
def table_beside(path: Path, rows: MergedRows, *, replace: bool) -> Iterator[None]:
    """Write what each row is to `X.rows.parquet` beside `X.npy`, which the block writes; both stay if that ends well.

    Beside new vectors it is in place first: a run that is killed before they are can be repeated.
    """
    parquet: Any = needed("pyarrow.parquet", "The table of a merged collection")
    check_table_beside(path)
    table = table_path(path)
    with written_whole(table) as temporary:
        writer = None
        for start in range(0, max(len(rows), 1), TABLE_ROWS):
            stop = min(start + TABLE_ROWS, len(rows))
            part = rows.payload(start, stop).add_column(0, "id", id_column(rows.ids[start:stop]))
            if writer is None:
                writer = parquet.ParquetWriter(temporary, part.schema.with_metadata({MARK: b"merged rows"}))
            writer.write_table(part.cast(writer.schema))
        assert writer is not None
        writer.close()
        if replace:
            yield
            return
    try:
        yield
    except BaseException:
        table.unlink(missing_ok=True)
        raise


def names(collection: Collection) -> np.ndarray:
    """The ids of a collection, or its row numbers where it has none."""
    return np.arange(len(collection)) if collection.ids is None else collection.ids


def joined_ids(of_b: np.ndarray, of_a: np.ndarray) -> tuple[np.ndarray, str]:
    """B's ids, then A's, and what was done to A's.

    They stay where they are of the same kind and new; else integers are counted on, or text gets `a:` before it.
    """
    told = AS_THEY_ARE
    whole_b, whole_a = of_b.dtype.kind == "i", of_a.dtype.kind == "i"
    if whole_b and whole_a:
        if len(np.intersect1d(of_b, of_a)):
            first = int(of_b.max(initial=-1)) + 1
            of_a, told = np.arange(len(of_a)) + first, f"counted on from {first}"
        return np.concatenate([of_b, of_a]), told
    left, right = ([str(each) for each in ids.tolist()] for ids in (of_b, of_a))
    taken, mark = set(left), ""
    while any(mark + each in taken for each in right):
        mark += "a:"
    ids = np.empty(len(left) + len(right), object)
    ids[:] = left + [mark + each for each in right]
    return ids, f"with {mark!r} before them" if mark else told


def ids_with_b(ids: np.ndarray, is_of_a: np.ndarray, of_b: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, str]:
    """Ids (n + m − j,) of a merged collection with new rows of B, and what was done to those of A that are the same.

    B's ids are as they are, as in a merge of all rows at once; A's stay unless a new row of B has the same one.

    Parameters
    ----------
    ids, is_of_a : arrays of shape (n,)
        The ids so far, and which rows are A's alone.
    of_b : array of shape (m,)
        The ids of the new rows: those that take over a row of A first, then those that follow.
    at : array of shape (j,)
        The rows that the first j of them take over.
    """
    if ids.dtype.kind != of_b.dtype.kind:
        ids, of_b = (np.array([str(each) for each in some.tolist()], object) for some in (ids, of_b))
    taken = set(of_b.tolist())
    same = np.zeros(len(ids) + len(of_b) - len(at), bool)
    same[: len(ids)] = is_of_a & np.array([each in taken for each in ids.tolist()], bool)
    same[at] = False
    every = np.concatenate([ids, of_b[len(at) :]])
    every[at] = of_b[: len(at)]
    unique, told = joined_ids(every[~same], every[same])
    written = np.empty(len(every), unique.dtype)
    written[~same], written[same] = np.split(unique, [np.count_nonzero(~same)])
    return written, told


def _taken_ids(arrow: Any, collection: Collection, rows: np.ndarray) -> Any:
    """The ids at these rows, missing where a row is −1."""
    ids, missing = names(collection), rows < 0
    if ids.dtype.kind == "i":
        return arrow.array(np.where(missing, 0, ids[rows] if len(ids) else 0), mask=missing)
    return arrow.array([None if gone else ids[row] for row, gone in zip(rows, missing, strict=True)], arrow.string())


def _taken_payload(arrow: Any, collection: Collection, rows: np.ndarray) -> dict[str, Any]:
    """The payload at these rows as columns, missing where a row is −1."""
    if collection.payload is None:
        return {}
    taken = collection.payload.take(arrow.array(rows, mask=rows < 0))
    return {name: taken.column(name) for name in taken.column_names}


def plain_names(
    own: Mapping[str, Any],
    others: Mapping[str, Any],
    side: str,
    there: Container[str],
) -> dict[str, tuple[str, ...]]:
    """The columns without a_ and b_ that each column of one side fills, together with the other side's of that name.

    Titles are one column, called as B calls them, where A says `name` and B `title`; where a collection that was merged
    earlier has both columns, they fill both, the one of their own name first. A name that every merged collection has,
    or a side as `a_…` and `b_…`, is filled by none.

    Parameters
    ----------
    own, others : mapping of str to Arrow columns
        The payload of the side, and that of the other one.
    side : {"a", "b"}
    there : container of str
        The columns that the merged collection has.
    """
    taken = (*RESERVED, *NEEDED)
    names: dict[str, tuple[str, ...]] = {
        name: (name,)
        for name in own
        if name not in taken and not (name[:2] in ("a_", "b_") and name in there)
    }
    title, other = named_title(own), named_title(others)
    if title not in names or other is None or title in others or other in own or not may_be_compared(title, other):
        return names
    if title in there and other in there:
        return names | {title: (title, other)}
    b_first = (title, other) if side == "b" else (other, title)
    return names | {title: (next((each for each in b_first if each in there), b_first[0]),)}


def plain_columns(of_a: Mapping[str, Any], of_b: Mapping[str, Any], there: Container[str]) -> dict[str, list[Any]]:
    """The columns of both sides that fill each column without a_ and b_: those of its own name, and B's, first."""
    found: dict[str, list[tuple[bool, Any]]] = {}
    for side, own, others in (("b", of_b, of_a), ("a", of_a, of_b)):
        for name, filled in plain_names(own, others, side, there).items():
            for each in filled:
                found.setdefault(each, []).append((name != each, own[name]))
    return {each: [column for _, column in sorted(some, key=lambda one: one[0])] for each, some in found.items()}


def coalesced(columns: list[Any]) -> Any:
    """The first value of each row that is not missing; columns of several types become text."""
    compute: Any = needed("pyarrow.compute", "The payload of a merged collection")
    columns = [column for column in columns if str(column.type) != "null"] or columns[:1]
    if len({column.type for column in columns}) > 1:
        columns = [as_text(column) for column in columns]
    return compute.coalesce(*columns)


def as_text(column: Any) -> Any:
    """Values as text, as JSON where they are lists or records."""
    import pyarrow as arrow

    try:
        return column.cast(arrow.string())
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        values = (None if value is None else json.dumps(value, default=str) for value in column.to_pylist())
        return arrow.chunked_array([arrow.array(list(values), arrow.string())])
