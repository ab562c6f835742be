"""Frames as collections: pandas and polars frames, Arrow tables, and columns of vectors alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.stores.arrow import id_values, is_list, matrix
from veclink.stores.columns import id_field, vector_field

NAMELESS = "__index_level_"
"""How pandas begins the names of index columns that have none."""


def is_frame(source: Any) -> bool:
    """Whether `source` speaks Arrow: a frame of pandas or polars, a table, a column, a batch of records."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def is_table(source: Any) -> bool:
    """Whether `source` is such a frame, and no column alone."""
    return is_frame(source) and hasattr(source, "columns")


def collection_of(frame: Any) -> Collection:
    """The collection in a frame.

    The vectors are in `vector`, `embedding` or the only column of lists, and the other columns are the payload. The ids
    are in `id`, or else they are the index of a pandas frame, unless it has no name and just counts rows. An index with
    a name that cannot be ids, as it repeats or holds neither integers nor text, is payload like any column. A column
    alone is vectors without ids, and a frame of nothing but floats has a column for each dimension.
    """
    name = type(frame).__name__
    table = arrow_table(frame)
    index = index_columns(table)
    vectors, rest = _wide(table, index) or _listed(table, name)
    ids, named = None, id_field(rest.column_names)
    if named is None and len(index) == 1 and (index[0].startswith(NAMELESS) or can_be_ids(rest.column(index[0]))):
        named = index[0]
    if named is not None:
        ids = id_values(rest.column(named))
    gone = {named, *(each for each in index if each.startswith(NAMELESS))}
    rest = rest.drop_columns([each for each in rest.column_names if each in gone])
    payload = rest.replace_schema_metadata(None) if rest.num_columns else None
    return Collection.from_array(vectors, ids, payload, name=name)


def index_columns(table: pa.Table) -> list[str]:
    """The columns of a table that were the index of a pandas frame; one that counts the rows is no column."""
    told = table.schema.pandas_metadata or {}
    return [each for each in told.get("index_columns", []) if each in table.column_names]


def can_be_ids(column: pa.ChunkedArray) -> bool:
    """Whether every row has an integer or a text of its own."""
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string)
    if column.null_count or not any(is_kind(column.type) for is_kind in kinds):
        return False
    return len(column.unique()) == len(column)


def arrow_table(frame: Any) -> pa.Table:
    """Anything that speaks Arrow as a table; a column alone becomes its only column."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, (pa.Array, pa.ChunkedArray)):
        return pa.table({"vector": frame})
    try:
        if hasattr(frame, "columns") and getattr(getattr(frame, "index", None), "name", None) is not None:
            return pa.Table.from_pandas(frame, preserve_index=True)  # also an index that counts
        if hasattr(frame, "columns") or isinstance(frame, pa.RecordBatch):
            return pa.table(frame)
        return pa.table({"vector": pa.chunked_array(frame)})
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The {type(frame).__name__} cannot be read as a table ({reason}); give columns of one kind each."
        ) from error


def _wide(table: pa.Table, index: list[str]) -> tuple[np.ndarray, pa.Table] | None:
    """The vectors of a table that has a column for each dimension, and its index; None for any other table."""
    others = [field for field in table.schema if field.name not in index]
    if len(others) < 2 or not all(pa.types.is_floating(field.type) for field in others):
        return None
    return np.column_stack([table.column(field.name).to_numpy() for field in others]), table.select(index)


def _listed(table: pa.Table, name: str) -> tuple[np.ndarray, pa.Table]:
    """The vectors of a table that has them as lists in one column, and its other columns."""
    lists = [field.name for field in table.schema if is_list(field.type)]
    column = vector_field(table.column_names, lists, name)
    if column not in lists:
        raise InputError(f"{name} has {table.schema.field(column).type} in `{column}`; vectors are lists of numbers.")
    return _vectors(table.column(column), name), table.drop_columns([column])


def _vectors(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """The column as (n, d) numbers, without a copy where it is one piece."""
    if not len(column):
        raise InputError(f"{name} has no rows; give at least one vector.")
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return matrix(whole, 0, None, name)
