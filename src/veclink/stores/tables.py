"""A batch as an Arrow table with the columns id, vector and the payload: what stores with tables write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veclink.errors import InputError, needed
from veclink.stores.arrow import column_of, id_column

if TYPE_CHECKING:
    import pyarrow as pa

    from veclink.stores.protocol import Batch


def records_of(batch: Batch, schema: Any = None, *, id_name: str = "id", vector_name: str = "vector") -> pa.Table:
    """The columns id (where there are ids), vector, and the payload; cast to `schema` where one is given."""
    arrow: Any = needed("pyarrow", "A table of vectors")
    columns: dict[str, Any] = {} if batch.ids is None else {id_name: id_column(batch.ids)}
    columns[vector_name] = column_of(batch.vectors)
    if batch.payload is not None:
        for name in batch.payload.column_names:
            if name in columns:
                raise InputError(f"The payload has a field {name!r}, as the ids or vectors are called; rename it.")
            columns[name] = batch.payload.column(name)
    table = arrow.table(columns)
    if schema is None:
        return table
    if set(table.column_names) != set(schema.names):
        raise InputError(
            f"The first rows have the fields {schema.names} and later ones {table.column_names}; give all the same."
        )
    try:
        return table.select(schema.names).cast(schema)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Later rows have other kinds of values than the first ones ({reason}).") from error
