"""Frames as collections: pandas and polars frames, Arrow tables, and columns of vectors alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, needed
from veclink.stores.arrow import id_values, is_list, matrix
from veclink.stores.fields import id_field, vector_field

if TYPE_CHECKING:
    import pyarrow as pa

INDEX = "__index_level_0__"
"""What pandas calls an index without a name when it becomes a column."""


def is_frame(source: Any) -> bool:
    """Whether `source` speaks Arrow: a frame of pandas or polars, a table, a column, a batch of records."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def collection_of(frame: Any) -> Collection:
    """The collection in a frame.

    The vectors are in `vector`, `embedding` or the only column of lists; the ids in `id`, or else in the index of a
    pandas frame; the other columns are the payload. A column alone is vectors without ids, and a frame of nothing but
    floats has a column for each dimension.
    """
    name = type(frame).__name__
    table = _table(frame)
    vectors, rest = _wide(table) or _listed(table, name)
    ids = None
    id_name = id_field(rest.column_names) or next((each for each in (INDEX,) if each in rest.column_names), None)
    if id_name is not None:
        ids = id_values(rest.column(id_name))
        rest = rest.drop_columns([id_name])
    payload = rest.replace_schema_metadata(None) if rest.num_columns else None
    return Collection.from_array(vectors, ids, payload, name=name)


def _table(frame: Any) -> pa.Table:
    """Anything that speaks Arrow as a table; a column alone becomes its only column."""
    arrow: Any = needed("pyarrow", "A frame of vectors")
    if isinstance(frame, arrow.Table):
        return frame
    if isinstance(frame, (arrow.Array, arrow.ChunkedArray)):
        return arrow.table({"vector": frame})
    try:
        if hasattr(frame, "columns") or isinstance(frame, arrow.RecordBatch):
            return arrow.table(frame)
        return arrow.table({"vector": arrow.chunked_array(frame)})
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The {type(frame).__name__} cannot be read as a table ({reason}); give columns of one kind each."
        ) from error


def _wide(table: pa.Table) -> tuple[np.ndarray, pa.Table] | None:
    """The vectors of a table that has a column for each dimension, and its index; None for any other table."""
    arrow: Any = needed("pyarrow", "A frame of vectors")
    numbers = [field.name for field in table.schema if arrow.types.is_floating(field.type)]
    others = [name for name in table.column_names if name not in numbers]
    if len(numbers) < 2 or any(name != INDEX for name in others):
        return None
    return np.column_stack([table.column(name).to_numpy() for name in numbers]), table.select(others)


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
