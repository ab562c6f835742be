"""Parquet: a column of ids, a column of vectors (lists of numbers), and the rest as payload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, needed
from veclink.files.memory import check_fits
from veclink.files.tables import unpacked_size
from veclink.stores.arrow import id_values, is_list, matrix
from veclink.stores.fields import choose_vector, id_field, vector_field


def read(path: Path, vector: str | None = None, most: int | None = None) -> Collection:
    """The vectors in `vector`, `embedding` or the only list column; ids in `id`; scales of int8 vectors in `scale`."""
    parquet: Any = needed("pyarrow.parquet", "Reading Parquet")
    with parquet.ParquetFile(path, memory_map=True) as file:
        schema = file.schema_arrow
        lists = [field.name for field in schema if is_list(field.type)]
        if vector is None:
            name = vector_field(schema.names, lists, str(path))
        else:
            name = choose_vector(vector, schema.names, lists, str(path))
        if name not in lists:
            raise InputError(f"{path} has {schema.field(name).type} in `{name}`; vectors are lists of numbers.")
        check_fits(path, unpacked_size(file.metadata), most)
        vectors = _vectors(file, name, str(path))
        rest = file.read(columns=[column for column in schema.names if column != name])
        rest.validate(full=True)  # Arrow reads text that is none, and complains where it is looked at
    ids = scale = None
    if (id_name := id_field(rest.column_names)) is not None:
        ids, rest = id_values(rest.column(id_name)), rest.drop_columns([id_name])
    if vectors.dtype == np.int8 and "scale" in rest.column_names:
        # one row would read as one number for all, which is the same thing
        scale, rest = rest.column("scale").to_numpy().reshape(-1, 1), rest.drop_columns(["scale"])
    return Collection.from_array(
        vectors, ids=ids, payload=rest if rest.num_columns else None, scale=scale, name=str(path)
    )


def _vectors(file: Any, name: str, source: str) -> np.ndarray:
    """The column as one array: a view of what Arrow decoded where that is one piece, else filled batch by batch."""
    total, vectors, start = file.metadata.num_rows, None, 0
    for batch in file.iter_batches(batch_size=max(1, min(total, 65_536)), columns=[name]):
        block = matrix(batch.column(0), start, None if vectors is None else vectors.shape[1], source)
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
