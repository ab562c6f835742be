"""Between Arrow and numpy: columns of vectors, columns of ids, and tables of payload."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veclink.data.ids import as_ids
from veclink.errors import InputError, named

if TYPE_CHECKING:
    from veclink.stores.protocol import Batch


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type could hold vectors: lists of any kind."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def matrix(column: pa.Array, start: int, dimension: int | None, source: str) -> np.ndarray:
    """A column of lists as (n, d) numbers, a view where Arrow allows one; `start` is the row it begins with."""
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) + start
        raise InputError(f"{source} has no vector in row {named(missing)}; fill or remove them.")
    values, lengths = column.flatten(), np.asarray(column.value_lengths())
    if values.null_count:
        gaps = np.repeat(np.arange(start, start + len(column)), lengths)[
            values.is_null().to_numpy(zero_copy_only=False)
        ]
        raise InputError(f"{source} has missing numbers in the vectors of row {named(np.unique(gaps))}; fill them.")
    dimension = int(lengths[0]) if dimension is None else dimension
    other = np.flatnonzero(lengths != dimension)
    if len(other):
        raise InputError(
            f"{source} has vectors of {dimension:,} numbers, but of {lengths[other[0]]:,} in row "
            f"{named(other + start)}; give all the same length."
        )
    # bool and string lists cannot be viewed, and are refused by Collection with their type in the sentence
    return values.to_numpy(zero_copy_only=False).reshape(len(column), dimension)


def table_of_records(records: pa.RecordBatch, names: Sequence[str]) -> pa.Table | None:
    """Some columns of a batch of records as a table; None without a column."""
    if not names:
        return None
    table = pa.Table.from_batches([records.select(list(names))])
    table.validate(full=True)  # text that is none would be noticed only where it is looked at
    return table


def table_of_columns(columns: Sequence[Sequence[Any]], names: Sequence[str]) -> pa.Table | None:
    """Columns of values as a table; None without a column."""
    if not names:
        return None
    return pa.table([values_of(list(column)) for column in columns], names=list(names))


def ids_of(column: pa.ChunkedArray | pa.Array, source: str) -> np.ndarray:
    """A column of ids as int64, or as str."""
    return as_ids(id_values(column), source)


def links_of_table(table: Any, store: str) -> dict[tuple[Any, Any], float]:
    """The links in a table or batch with the columns a, b and probability."""
    a, b = (ids_of(table.column(side), store).tolist() for side in "ab")
    return dict(zip(zip(a, b, strict=True), table.column("probability").to_pylist(), strict=True))


def links_table(links: Mapping[tuple[Any, Any], float]) -> pa.Table:
    """Links as a table, in their order."""
    a, b = (id_column(as_ids([pair[side] for pair in links])) for side in (0, 1))
    return pa.table([a, b, pa.array(list(links.values()), type=pa.float64())], names=["a", "b", "probability"])


def batch_of(columns: Mapping[str, Any]) -> pa.RecordBatch:
    """Columns as a batch of records, in their order."""
    arrays = [column if hasattr(column, "type") else values_of(list(column)) for column in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def fields_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Records as columns, in the order in which their fields come; None where a record has none."""
    names = dict.fromkeys(key for record in records for key in record)
    return {name: [record.get(name) for record in records] for name in names}


def column_of(vectors: np.ndarray) -> pa.Array:
    """(n, d) vectors as a column of lists of fixed size."""
    numbers = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])


def id_values(column: pa.ChunkedArray | pa.Array) -> Any:
    """Ids as they are in a column, for `as_ids`: an array of integers, or a list of anything else."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy()
    return column.to_pylist()


def id_column(ids: np.ndarray) -> pa.Array:
    """Ids (int64, or str as objects) as a column; none at all are text."""
    return pa.array(ids, type=pa.string() if ids.dtype == object else pa.int64())


def table_of(records: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """Records of payload as a table; a field with several kinds of values becomes JSON text; None without fields."""
    fields = fields_of(records)
    return table_of_columns(list(fields.values()), list(fields))


def values_of(values: list[Any]) -> pa.Array:
    """Values as a column of their kind, or as JSON text where kinds are mixed."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else json.dumps(value, default=str) for value in values])


def one_table(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one after the other; fields that some lack are null there, fields of several kinds become JSON text."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        whole = table_of([record for table in tables for record in table.to_pylist()])
        assert whole is not None, "tables whose fields have several kinds have fields"
        return whole


def records_of(batch: Batch, schema: Any = None, *, id_name: str = "id", vector_name: str = "vector") -> pa.Table:
    """The columns id (where there are ids), vector, and the payload; cast to `schema` where one is given."""
    columns: dict[str, Any] = {} if batch.ids is None else {id_name: id_column(batch.ids)}
    columns[vector_name] = column_of(batch.vectors)
    if batch.payload is not None:
        for name in batch.payload.column_names:
            if name in columns:
                raise InputError(f"The payload has a field {name!r}, as the ids or vectors are called; rename it.")
            columns[name] = batch.payload.column(name)
    table = pa.table(columns)
    if schema is None:
        return table
    if set(table.column_names) != set(schema.names):
        raise InputError(
            f"The first rows have the fields {schema.names} and later ones {table.column_names}; give all the same."
        )
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Later rows have other kinds of values than the first ones ({reason}).") from error
