"""The rows of a merged collection, and new ones: what each is called, where it comes from, what belongs to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veclink.data.agreement import agreement_of, may_be_compared
from veclink.data.collection import Collection
from veclink.data.words import named_title
from veclink.errors import InputError
from veclink.files.atomic import written_whole
from veclink.stores.arrow import id_column
from veclink.stores.files import table_path

MARK = b"veclink"  # in the metadata of a table that was written here
AS_THEY_ARE = "as they are"
NEEDED = ("origin", "id_a", "id_b", "link_probability")
"""Columns of every merged collection. A payload column of such a name, or called `id` or `vector`, which every store
has, is there as a_… and b_… only."""

Columns = Mapping[str, Any]


class Placed(NamedTuple):
    """Where new rows go in a merged collection."""

    joined: np.ndarray  # (j,) new rows that are an object of the other side
    at: np.ndarray  # (j,) the rows of the collection that they are joined to
    chance: np.ndarray  # (j,) how probable that is
    alone: np.ndarray  # (m,) new rows that follow at the end


def joined_table(a: Collection, b: Collection, rows_a: np.ndarray, rows_b: np.ndarray, chance: np.ndarray) -> pa.Table:
    """What rows (n,) of a merged collection are: origin, id_a, id_b, link_probability, then the payload.

    Of either side as a_… and b_…, and under its own name B's value, or A's where B has none; see `plain_names`.
    rows_a, rows_b: −1 where a row is not of that side.
    """
    origin = np.where(rows_b < 0, "a", np.where(rows_a < 0, "b", "both"))
    columns: dict[str, Any] = {"origin": pa.array(origin.tolist(), pa.string())}
    of_a, of_b = _of_rows(a, rows_a, "a"), _of_rows(b, rows_b, "b")
    columns |= {"id_a": of_a.pop("id_a"), "id_b": of_b.pop("id_b")}
    columns |= {"link_probability": pa.array(chance, mask=np.isnan(chance)), **of_a, **of_b}
    for name, values in _plain_columns(columns).items():
        columns[name] = coalesced(values)
    return pa.table(columns)


def grown(table: pa.Table, rows: Collection, known: np.ndarray, placed: Placed, side: str) -> tuple[pa.Table, int]:
    """The table with the values of new rows where they were joined, and new rows at the end; and how many were filled.

    known: (m,) where each of the given rows stands in the table, −1 for new ones: those get values that they lack
    there. Under its own name, a value of B goes before one of A, as in a merge.
    """
    n, n_all = table.num_rows, table.num_rows + len(placed.alone)
    source = np.full(n_all, -1, np.int64)  # the new row that each row of the table has values of
    source[known[known >= 0]] = np.flatnonzero(known >= 0)
    source[placed.at] = placed.joined
    source[n:] = placed.alone
    chance, origin = np.full(n_all, np.nan), np.full(n_all, None, object)
    chance[placed.at], origin[placed.at], origin[n:] = placed.chance, "both", side
    columns = _columns_of(table.take(pa.array(np.arange(n_all), mask=np.arange(n_all) >= n)))
    columns["link_probability"] = coalesced([columns["link_probability"], pa.array(chance, mask=np.isnan(chance))])
    columns["origin"] = coalesced([pa.array(origin.tolist(), pa.string()), columns["origin"]])
    changed = np.array([each is not None for each in origin])
    for name, values in _of_rows(rows, source, side).items():
        older = [columns[name]] if name in columns else []
        changed |= np.asarray(values.is_valid()) & (np.asarray(older[0].is_null()) if older else True)
        columns[name] = coalesced([*older, values])
    given = () if rows.payload is None else rows.payload.column_names
    for name, values in _plain_columns(columns).items():
        if name in table.column_names:
            fresh = coalesced([*values, columns[name]])
            columns[name] = coalesced([pc.if_else(pa.array(changed), fresh, None), columns[name]])
        elif name in given:
            columns[name] = coalesced(values)
    return pa.table(columns), int(changed[known[known >= 0]].sum())


def _of_rows(collection: Collection, rows: np.ndarray, side: str) -> dict[str, Any]:
    """The ids and the payload of rows (n,) of one side, by the names that a merged collection has; null for −1."""
    ids, missing = names(collection), rows < 0
    own = ids[rows] if len(ids) else np.full(len(rows), None)
    columns = {f"id_{side}": pa.array(own, id_column(ids[:0]).type, mask=missing)}
    taken = {} if collection.payload is None else _columns_of(collection.payload.take(pa.array(rows, mask=missing)))
    return columns | {f"{side}_{name}": values for name, values in taken.items()}


def misfit_of(rows: Collection, merged: Collection, placed: Placed, side: str) -> str | None:
    """What titles of joined rows say against the order of the new rows' payload, in a sentence; None for nothing."""
    assert merged.payload is not None
    others = of_side(_columns_of(merged.payload), "ba"[side == "b"])
    if rows.payload is None or not others:
        return None
    pairs, sides = np.column_stack([placed.joined, placed.at]), (rows, replace(merged, payload=pa.table(others)))
    if side == "b":
        pairs, sides = pairs[:, ::-1], (sides[1], sides[0])
    return payload_misfit(*sides, pairs, placed.chance)


def _columns_of(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def of_side(columns: Columns, side: str) -> dict[str, Any]:
    """The payload of one side in a merged table, under the names that the side has for it."""
    return {name.removeprefix(f"{side}_"): each for name, each in columns.items() if name.startswith(f"{side}_")}


def payload_misfit(a: Collection, b: Collection, pairs: np.ndarray, probability: np.ndarray) -> str | None:
    """What titles of rows that become one (m, 2) say against the payload, in a sentence; None for nothing."""
    if not len(pairs):
        return None
    agreement = agreement_of(pairs, a, b, precision=float(probability.mean()))
    if agreement is None or agreement.fits:
        return None
    return agreement.sentence


def check_table_beside(path: Path) -> None:
    """Refuse a place for vectors beside which `X.rows.parquet` is a table of something else."""
    table = table_path(path)
    try:
        is_free = not table.exists() or MARK in (pq.read_schema(table).metadata or {})
    except (OSError, ValueError):  # what pyarrow raises for files that are no Parquet, or no files
        is_free = False
    if not is_free:
        raise InputError(f"{table} is there already and is about something else; choose another name.")


@contextmanager
def table_beside(path: Path, n: int, part: Callable[[int, int], pa.Table], *, replace: bool) -> Iterator[None]:
    """Write what each of n rows is to `X.rows.parquet` beside `X.npy`, which the block writes.

    Both stay if that ends well. Beside new vectors it is in place first: a run that is killed before they are can be
    repeated. part: gives the table of rows start…stop−1.
    """
    check_table_beside(path)
    step = 65_536
    table, schema = table_path(path), part(0, min(n, step)).schema.with_metadata({MARK: b"merged rows"})
    with written_whole(table) as temporary:
        with pq.ParquetWriter(temporary, schema) as writer:
            for start in range(0, max(n, 1), step):
                writer.write_table(part(start, min(start + step, n)).cast(schema))
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


def _plain_columns(there: Columns) -> dict[str, list[Any]]:
    """The columns of both sides, a_… and b_…, that fill each column without a_ or b_: those of its own name, B's first.

    Titles are one column, called as B calls them, where A says `name` and B `title`; where a collection that was merged
    earlier has both columns, they fill both, the one of their own name first. A name that every merged collection has,
    or a side as `a_…` and `b_…`, is filled by none.

    there: all columns of the merged collection.
    """
    of_a, of_b = of_side(there, "a"), of_side(there, "b")
    found: dict[str, list[tuple[bool, Any]]] = {}
    for own, others, b_first in ((of_b, of_a, 1), (of_a, of_b, -1)):
        title, other = named_title(own), named_title(others)
        if title is None or other is None or title in others or other in own or not may_be_compared(title, other):
            title = other = None
        for name, values in own.items():
            if name in ("id", "vector", *NEEDED) or (name[:2] in ("a_", "b_") and name in there):
                continue
            filled = [name]
            if name == title and other is not None:
                titles = [title, other][::b_first]
                filled = [each for each in titles if each in there] or titles[:1]
            for each in filled:
                found.setdefault(each, []).append((name != each, values))
    return {each: [column for _, column in sorted(some, key=lambda one: one[0])] for each, some in found.items()}


def coalesced(columns: list[Any]) -> Any:
    """The first value of each row that is not missing; columns of several types become text."""
    columns = [column for column in columns if str(column.type) != "null"] or columns[:1]
    if len({column.type for column in columns}) > 1:
        columns = [_as_text(column) for column in columns]
    return pc.coalesce(*columns)


def _as_text(column: Any) -> Any:
    """Values as text, as JSON where they are lists or records."""
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = (None if value is None else json.dumps(value, default=str) for value in column.to_pylist())
        return pa.chunked_array([pa.array(list(values), pa.string())])
