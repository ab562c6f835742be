"""Parquet: a column of ids, a column of vectors (lists of numbers), and the rest as payload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.collection import Collection
from veclink.errors import InputError, named, needed
from veclink.stores.fields import id_field, vector_field

if TYPE_CHECKING:
    import pyarrow as pa


def read(path: Path) -> Collection:
    """The vectors in `vector`, `embedding` or the only list column; ids in `id`; scales of int8 vectors in `scale`."""
    arrow: Any = needed("pyarrow", "Reading Parquet")
    parquet: Any = needed("pyarrow.parquet", "Reading Parquet")
    with parquet.ParquetFile(path, memory_map=True) as file:
        schema = file.schema_arrow
        lists = [field.name for field in schema if _is_list(arrow, field.type)]
        name = vector_field(schema.names, lists, str(path))
        if name not in lists:
            raise InputError(f"{path} has {schema.field(name).type} in `{name}`; vectors are lists of numbers.")
        vectors = _vectors(file, name, str(path))
        rest = file.read(columns=[column for column in schema.names if column != name])
    ids = scale = None
    if (id_name := id_field(rest.column_names)) is not None:
        ids, rest = _id_values(arrow, rest.column(id_name)), rest.drop_columns([id_name])
    if vectors.dtype == np.int8 and "scale" in rest.column_names:
        # one row would read as one number for all, which is the same thing
        scale, rest = rest.column("scale").to_numpy().reshape(-1, 1), rest.drop_columns(["scale"])
    return Collection.from_array(
        vectors, ids=ids, payload=rest if rest.num_columns else None, scale=scale, name=str(path)
    )


def _is_list(arrow: Any, kind: pa.DataType) -> bool:
    return arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind)


def _vectors(file: Any, name: str, source: str) -> np.ndarray:
    """The column as one array: a view of what Arrow decoded where that is one piece, else filled batch by batch."""
    total, vectors, start = file.metadata.num_rows, None, 0
    for batch in file.iter_batches(batch_size=max(1, min(total, 65_536)), columns=[name]):
        block = _matrix(batch.column(0), start, None if vectors is None else vectors.shape[1], source)
        if len(block) == total:
            return block
        if vectors is None:
            vectors = np.empty((total, block.shape[1]), block.dtype)
        vectors[start : start + len(block)] = block
        start += len(block)
    if vectors is None:
        kind = file.schema_arrow.field(name).type
        width = getattr(kind, "list_size", 1)
        return np.empty((0, width), kind.value_type.to_pandas_dtype())
    return vectors


def _matrix(column: pa.Array, start: int, dimension: int | None, source: str) -> np.ndarray:
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


def _id_values(arrow: Any, column: pa.ChunkedArray) -> Any:
    if arrow.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy()
    return column.to_pylist()
