"""Writing to PostgreSQL: tables by COPY, links and notes through a temporary table, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from veclink.errors import needed
from veclink.stores.protocol import LINKED, PROBABILITY, Batch, Id


def create_table(connection: Any, table: Any, first: Batch, records: Iterable[Any], metadata: dict[str, Any]) -> int:
    """Replace or make `table` of these Arrow tables (id, vector, payload); says how many rows there are."""
    sql = _sql()
    arrow: Any = needed("pyarrow", "PostgreSQL")
    rows = 0
    columns: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_type where typname in ('vector', 'halfvec')")
        types = cursor.fetchone()[0]
        if not types:
            cursor.execute("create extension if not exists vector")
            cursor.execute("select count(*) from pg_type where typname in ('vector', 'halfvec')")
            types = cursor.fetchone()[0]
        half = first.vectors.dtype == np.float16 and types > 1  # pgvector has halfvec since 0.7
        cursor.execute(sql.SQL("drop table if exists {}").format(table))
        for part in records:
            if not columns:
                columns = part.column_names
                text = "id" in columns and _type(arrow, part.schema.field("id").type) == "text"
                # in the order of their bytes, whatever the language of the server: the order in which rows are read
                key = (' collate "C"' if text else "") + " primary key"
                kinds = [
                    sql.SQL("{}({})").format(sql.SQL("halfvec" if half else "vector"), first.vectors.shape[1])
                    if name == "vector"
                    else sql.SQL(_type(arrow, part.schema.field(name).type) + (key if name == "id" else ""))
                    for name in columns
                ]
                named = sql.SQL(", ").join(
                    sql.Identifier(name) + sql.SQL(" ") + kind for name, kind in zip(columns, kinds, strict=True)
                )
                cursor.execute(sql.SQL("create table {} ({})").format(table, named))
            rows += _copy(cursor, table, columns, part)
        note = sql.Literal(json.dumps(metadata))
        if metadata:
            cursor.execute(sql.SQL("comment on table {} is {}").format(table, note))
    return rows


def put_links(
    connection: Any,
    table: Any,
    changed: Mapping[tuple[Id, Id], float],
    removed: Sequence[tuple[Id, Id]],
    *,
    there: bool,
) -> None:
    """New and changed links by (a, b), and links to take out."""
    sql = _sql()
    with connection.cursor() as cursor:
        if not there:
            kinds = [sql.SQL(_kind([pair[side] for pair in changed])) for side in (0, 1)]
            query = "create table {} (a {}, b {}, probability double precision not null, primary key (a, b))"
            cursor.execute(sql.SQL(query).format(table, *kinds))
        cursor.execute(sql.SQL("create temporary table veclink_new (like {}) on commit drop").format(table))
        with cursor.copy("copy veclink_new (a, b, probability) from stdin") as copy:
            for (a, b), probability in changed.items():
                copy.write_row((a, b, probability))
            for a, b in removed:
                copy.write_row((a, b, -1.0))
        cursor.execute(sql.SQL("delete from {t} t using veclink_new n where t.a = n.a and t.b = n.b").format(t=table))
        query = "insert into {} (a, b, probability) select a, b, probability from veclink_new where probability >= 0"
        cursor.execute(sql.SQL(query).format(table))
        cursor.execute("drop table veclink_new")


def annotate(
    connection: Any, table: Any, id_name: str, changes: Mapping[Id, tuple[Id, float] | None], *, there: bool
) -> None:
    """The two columns of notes, made where they are not there, for the given ids."""
    sql = _sql()
    key, linked, probability = (sql.Identifier(name) for name in (id_name, LINKED, PROBABILITY))
    with connection.cursor() as cursor:
        if not there:
            kind = sql.SQL(_kind([value[0] for value in changes.values() if value is not None]))
            cursor.execute(
                sql.SQL("alter table {} add column {} {}, add column {} double precision").format(
                    table, linked, kind, probability
                )
            )
        # the ids take the type of the table's own column: text from here becomes a UUID there
        cursor.execute(
            sql.SQL(
                "create temporary table veclink_new on commit drop as select {}, {}, {} from {} where false"
            ).format(key, linked, probability, table)
        )
        columns = sql.SQL(", ").join((key, linked, probability))
        with cursor.copy(sql.SQL("copy veclink_new ({}) from stdin").format(columns)) as copy:
            for each, value in changes.items():
                copy.write_row((each, *(value or (None, None))))
        cursor.execute(
            sql.SQL("update {t} t set {l} = n.{l}, {p} = n.{p} from veclink_new n where t.{k} = n.{k}").format(
                t=table, l=linked, p=probability, k=key
            )
        )
        cursor.execute("drop table veclink_new")


def _copy(cursor: Any, table: Any, columns: list[str], part: Any) -> int:
    sql = _sql()
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
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
    with cursor.copy(sql.SQL("copy {} ({}) from stdin").format(table, names)) as copy:
        for row in zip(*values, strict=True):
            copy.write_row(row)
    return part.num_rows


def _type(arrow: Any, kind: Any) -> str:
    types = arrow.types
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


def _sql() -> Any:
    return needed("psycopg.sql", "PostgreSQL", install="veclink[postgres]")
