"""Between Arrow and numpy: columns of vectors, columns of ids, and tables of payload."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veclink.data.collection import Collection, as_ids
from veclink.errors import InputError, named

if TYPE_CHECKING:
    from veclink.stores.protocol import Batch
    from veclink.stores.urls import Condition


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
        rows = f"of {lengths[other[0]]:,} in row {named(other + start)}"
        raise InputError(f"{source} has vectors of {dimension:,} numbers, but {rows}; give all the same length.")
    # bool and string lists cannot be viewed, and are refused by Collection with their type in the sentence
    return values.to_numpy(zero_copy_only=False).reshape(len(column), dimension)


def ids_of(column: pa.ChunkedArray | pa.Array, source: str) -> np.ndarray:
    """A column of ids as int64, or as str."""
    whole = pa.types.is_integer(column.type) and not column.null_count
    return as_ids(column.to_numpy() if whole else column.to_pylist(), source)


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


def id_column(ids: np.ndarray) -> pa.Array:
    """Ids (int64, or str as objects) as a column; none at all are text."""
    return pa.array(ids, type=pa.string() if ids.dtype == object else pa.int64())


def table_of(records: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """Records of payload as a table; a field with several kinds of values becomes JSON text; None without fields."""
    fields = fields_of(records)
    return pa.table({name: values_of(values) for name, values in fields.items()}) if fields else None


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
        assert whole is not None  # tables whose fields have several kinds have fields
        return whole


def records_of(batch: Batch) -> pa.Table:
    """The columns `id` (where there are ids), `vector`, and the payload."""
    columns: dict[str, Any] = {} if batch.ids is None else {ID: id_column(batch.ids)}
    columns[VECTOR] = column_of(batch.vectors)
    payload = pa.table({}) if batch.payload is None else batch.payload
    for name in payload.column_names:
        if name in columns:
            raise InputError(f"The payload has a field {name!r}, as the ids or vectors are called; rename it.")
        columns[name] = payload.column(name)
    return pa.table(columns)


def vectors_of(table: pa.Table) -> np.ndarray:
    """The (n, d) vectors in the records of a batch."""
    column = table.column(VECTOR).combine_chunks()
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)


_COMPARED = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_VECTORS = ("vector", "embedding", "vectors", "embeddings")
IDS = ("id", "ids")
ID, VECTOR = IDS[0], _VECTORS[0]
"""What the columns of ids and of vectors are called where they are written."""


def id_field(names: Sequence[str]) -> str | None:
    """The field of the ids, if there is one."""
    return next((known for known in IDS if known in names), None)


def choose_vector(wanted: str | None, names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors in a store: the one that the URL names, the only one, or else a usual name."""
    if not candidates:
        held = f"its fields are {named(list(names))}" if names else "it has no fields"
        raise InputError(f"{name} holds no vectors: {held}, and none is a list of numbers; is it the right table?")
    if wanted is not None:
        if wanted not in candidates:
            raise InputError(f"{name} has no vectors in {wanted!r}; it has some in {named(list(candidates))}.")
        return wanted
    usual = [known for known in _VECTORS if known in candidates]
    for each in (candidates, usual):
        if len(each) == 1:
            return each[0]
    found = f"{len(candidates)} fields that could be the vectors, {named(list(candidates))}"
    raise InputError(f"{name} has {found}; name one, ?vector=…, or call it `vector`.")


def choose_id(wanted: str | None, names: Sequence[str], name: str) -> str | None:
    """The field of the ids in a store: the one that the URL names, or one with a usual name, or None."""
    if wanted is not None and wanted not in names:
        raise InputError(f"{name} has no field {wanted!r} for its ids; it has {named(list(names)) or 'none'}.")
    return wanted or id_field(names)


def check_known(conditions: Sequence[Condition], fields: Sequence[str], name: str) -> None:
    """Refuse a filter by a field that is not there."""
    missing = [each.field for each in conditions if each.field not in fields]
    if missing:
        raise InputError(
            f"{name} has no field {named(missing)} to filter by; it has {named(list(fields)) or 'no payload'}."
        )


def filter_of(conditions: Sequence[Condition], fields: Sequence[str], name: str) -> Any:
    """The filters of a URL as Arrow takes them; None without any."""
    check_known(conditions, fields, name)
    kept = [_COMPARED[each.sign](pc.field(each.field), each.value) for each in conditions]
    return reduce(operator.and_, kept) if kept else None


NAMELESS = "__index_level_"
"""How pandas begins the names of index columns that have none."""


def is_frame(source: Any) -> bool:
    """Whether `source` speaks Arrow: a frame of pandas or polars, a table, a column, a batch of records."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


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
    others = [field for field in table.schema if field.name not in index]
    if len(others) > 1 and all(pa.types.is_floating(field.type) for field in others):
        vectors = np.column_stack([table.column(field.name).to_numpy() for field in others])
        rest = table.select(index)
    else:
        lists = [field.name for field in table.schema if is_list(field.type)]
        chosen = choose_vector(None, table.column_names, lists, name)
        column = table.column(chosen)
        if not len(column):
            raise InputError(f"{name} has no rows; give at least one vector.")
        # without a copy where it is one piece
        vectors = matrix(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks(), 0, None, name)
        rest = table.drop_columns([chosen])
    key = id_field(rest.column_names)
    if key is None and len(index) == 1 and (index[0].startswith(NAMELESS) or can_be_ids(rest.column(index[0]))):
        key = index[0]
    ids = None if key is None else ids_of(rest.column(key), name)
    gone = {key, *(each for each in index if each.startswith(NAMELESS))}
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
    """Anything that speaks Arrow as a table; a column alone becomes its only column, and a view of text is text."""
    try:
        if isinstance(frame, (pa.Array, pa.ChunkedArray)):
            table = pa.table({"vector": frame})
        elif hasattr(frame, "columns") and getattr(getattr(frame, "index", None), "name", None) is not None:
            table = pa.Table.from_pandas(frame, preserve_index=True)  # also an index that counts
        elif hasattr(frame, "columns") or isinstance(frame, pa.RecordBatch):
            table = pa.table(frame)
        else:
            table = pa.table({"vector": pa.chunked_array(frame)})
        views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}  # no rows are taken of them
        kinds = [field.with_type(views.get(field.type, field.type)) for field in table.schema]
        return table.cast(pa.schema(kinds, table.schema.metadata))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The {type(frame).__name__} cannot be read as a table ({reason}); give columns of one kind each."
        ) from error
