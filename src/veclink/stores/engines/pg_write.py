"""Writing to PostgreSQL: tables by COPY, links and notes through a temporary table, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from veclink.errors import needed
from veclink.stores.engines.sql import quoted
from veclink.stores.protocol import LINKED, PROBABILITY, Batch, Id


def create_table(connection: Any, table: str, first: Batch, records: Iterable[Any], metadata: dict[str, Any]) -> None:
    """Replace or make `table` of these Arrow tables (id, vector, payload)."""
    columns: list[str] = []
    with connection.cursor() as cursor:
        types = _vector_types(cursor)
        half = first.vectors.dtype == np.float16 and types > 1  # pgvector has halfvec since 0.7
        kind = f"{'halfvec' if half else 'vector'}({first.vectors.shape[1]})"
        cursor.execute(f"drop table if exists {table}")
        for part in records:
            if not columns:
                columns = part.column_names
                declared = [f"{quoted(name)} {_declared(part.schema.field(name), kind)}" for name in columns]
                cursor.execute(f"create table {table} ({', '.join(declared)})")
            _copy(cursor, table, columns, part)
        if metadata:
            literal: Any = needed("psycopg.sql", "PostgreSQL").Literal
            cursor.execute(f"comment on table {table} is {literal(json.dumps(metadata)).as_string(cursor)}")


def _vector_types(cursor: Any) -> int:
    """How many of pgvector's types there are, with the extension made where it is not there yet."""
    query = "select count(*) from pg_type where typname in ('vector', 'halfvec')"
    types = cursor.execute(query).fetchone()[0]
    if not types:
        cursor.execute("create extension if not exists vector")
        types = cursor.execute(query).fetchone()[0]
    return int(types)


def _declared(field: Any, vector: str) -> str:
    """The type of a column; that of the vectors is `vector`."""
    if field.name == "vector":
        return vector
    kind = _type(field.type)
    if field.name != "id":
        return kind
    # in the order of their bytes, whatever the language of the server: the order in which rows are read
    return kind + (' collate "C"' if kind == "text" else "") + " primary key"


def put_links(
    connection: Any,
    table: str,
    changed: Mapping[tuple[Id, Id], float],
    removed: Sequence[tuple[Id, Id]],
    *,
    there: bool,
) -> None:
    """New and changed links by (a, b), and links to take out."""
    with connection.cursor() as cursor:
        if not there:
            a, b = (_kind([pair[side] for pair in changed]) for side in (0, 1))
            columns = f"a {a}, b {b}, probability double precision not null, primary key (a, b)"
            cursor.execute(f"create table {table} ({columns})")
        cursor.execute(f"create temporary table veclink_new (like {table}) on commit drop")
        with cursor.copy("copy veclink_new (a, b, probability) from stdin") as copy:
            for pair, probability in changed.items():
                copy.write_row((*pair, probability))
            for pair in removed:
                copy.write_row((*pair, -1.0))
        cursor.execute(f"delete from {table} t using veclink_new n where t.a = n.a and t.b = n.b")
        chosen = "select a, b, probability from veclink_new where probability >= 0"
        cursor.execute(f"insert into {table} (a, b, probability) {chosen}")
        cursor.execute("drop table veclink_new")


def annotate(
    connection: Any, table: str, key: str, changes: Mapping[Id, tuple[Id, float] | None], *, there: bool
) -> None:
    """The two columns of notes, made where they are not there, for the given ids; `key` is the quoted column of ids."""
    linked, probability = quoted(LINKED), quoted(PROBABILITY)
    columns = f"{key}, {linked}, {probability}"
    with connection.cursor() as cursor:
        if not there:
            kind = _kind([value[0] for value in changes.values() if value is not None])
            cursor.execute(f"alter table {table} add column {linked} {kind}, add column {probability} double precision")
        # the ids take the type of the table's own column: text from here becomes a UUID there
        cursor.execute(
            f"create temporary table veclink_new on commit drop as select {columns} from {table} where false"
        )
        with cursor.copy(f"copy veclink_new ({columns}) from stdin") as copy:
            for each, value in changes.items():
                copy.write_row((each, *(value or (None, None))))
        cursor.execute(
            f"update {table} t set {linked} = n.{linked}, {probability} = n.{probability} "
            f"from veclink_new n where t.{key} = n.{key}"
        )
        cursor.execute("drop table veclink_new")


def _copy(cursor: Any, table: str, columns: list[str], part: Any) -> None:
    values = []
    for name in columns:
        column = part.column(name).to_pylist()
        if name == "vector":
            # text of float64, which has more digits than float32 needs to come back to the same bits
            numbers = part.column(name).combine_chunks()
            width = numbers.type.list_size
            text = numbers.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, width)
            column = [json.dumps(row) for row in text.tolist()]
        else:
            column = [json.dumps(value, default=str) if isinstance(value, (list, dict)) else value for value in column]
        values.append(column)
    with cursor.copy(f"copy {table} ({', '.join(map(quoted, columns))}) from stdin") as copy:
        for row in zip(*values, strict=True):
            copy.write_row(row)


def _type(kind: Any) -> str:
    types: Any = needed("pyarrow", "PostgreSQL").types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "bigint"
    if types.is_floating(kind):
        return "double precision"
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if types.is_date(kind):
        return "date"
    if types.is_nested(kind):
        return "jsonb"
    return "text"


def _kind(values: Sequence[Any]) -> str:
    return "bigint" if values and all(isinstance(value, int) for value in values) else "text"
