"""LanceDB: `lancedb:///path#table`, or the folder `path/table.lance`. Embedded; the default store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from veclink.errors import InputError, named, needed
from veclink.files.tables import metadata_of, with_metadata
from veclink.stores.arrow import ids_of, is_list, matrix, records_of, table_of_records
from veclink.stores.engines.panics import quiet_steps, without_panics
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.filters import Condition
from veclink.stores.link_rows import links_of_table, links_table
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, Store

FUNCTIONS = b"embedding_functions"  # LanceDB's own key


class LanceStore(Store):
    """A LanceDB table: its list columns are vectors, `id` the ids, the rest payload."""

    needs = ("lancedb", "LanceDB", "veclink[lancedb]")

    @cached_property
    def _place(self) -> tuple[Any, str]:
        """The folder of the database, and the table."""
        path, table = self._path, self.address.table
        if path.suffix == ".lance" and table is None:
            return path.parent, path.stem
        if table is None:
            table = self._only_one((each.stem for each in path.glob("*.lance")), "table")
        return path, table

    @cached_property
    def _database(self) -> Any:
        return self._package().connect(str(self._place[0]))

    @cached_property
    def _table(self) -> Any:
        with self.errors(), without_panics():
            return self._database.open_table(self._place[1])

    @cached_property
    def _schema(self) -> Any:
        with self.errors(), without_panics():
            return self._table.schema

    def exists(self) -> bool:
        """Whether the table's folder holds a finished version; one that was left half-written does not count."""
        folder, table = self._place
        return any((folder / f"{table}.lance" / "_versions").glob("*.manifest"))

    def count(self) -> int:
        with self.errors(), without_panics():
            return self._table.count_rows(self._where)

    def dimension(self) -> int:
        kind = self._kind
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        first = next(self.batches(1, payload=False), None)
        return 0 if first is None else first.vectors.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._kind.value_type.to_pandas_dtype())

    def metadata(self) -> dict[str, Any]:
        return metadata_of(self._schema)

    def version(self) -> str:
        return str(self._table.version)

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        ids = self._id
        names = [name for name in self._schema.names if payload or name in (self._vector, ids)]
        row = int(after or 0)
        with self.errors():
            query = self._table.search().select(names)
            if self._where:
                query = query.where(self._where)
            for records in quiet_steps((query.offset(row) if row else query).to_batches, batch_size=size):
                vectors = matrix(records.column(self._vector), row, None, self.name)
                row += len(vectors)
                yield Batch(
                    vectors,
                    None if ids is None else ids_of(records.column(ids), self.name),
                    table_of_records(records, [name for name in names if name not in (self._vector, ids)]),
                    place=row,
                )

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        arrow: Any = needed("pyarrow", "LanceDB")
        schema = with_metadata(records_of(first).schema, metadata)
        table = self._place[1]
        old = self.exists()
        failed: list[BaseException] = []

        def records() -> Iterator[Any]:
            try:
                for batch in batches:
                    yield from records_of(batch, schema).to_batches()
            except BaseException as error:  # the engine would hide it in one of its own
                failed.append(error)
                raise

        try:
            reader = arrow.RecordBatchReader.from_batches(schema, records())
            self._database.create_table(table, data=reader, mode="overwrite" if old else "create")
        except BaseException:
            if not old:
                with suppress(Exception):
                    self._database.drop_table(table)
            if failed:
                raise failed[0] from None
            raise
        self._forget()

    def links(self) -> dict[tuple[Id, Id], float] | None:
        if not self.exists():
            return None
        with self.errors():
            return links_of_table(self._table.to_arrow(), self.name)

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        kept = {**(self.links() or {}), **changed}
        for pair in removed:
            kept.pop(pair, None)
        with self.errors("written"):  # one new version of the table, or none
            mode = "overwrite" if self.exists() else "create"
            self._database.create_table(self._place[1], data=links_table(kept), mode=mode)
        self._forget()

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        ids, there = self._annotated_id(), LINKED in self._schema.names
        names = [ids, LINKED, PROBABILITY] if there else [ids]
        with self.errors():
            table = self._table.search().select(names).to_arrow()
        keys = ids_of(table.column(ids), self.name).tolist()
        if not there:
            return dict.fromkeys(keys, (None, None))
        values = zip(table.column(LINKED).to_pylist(), table.column(PROBABILITY).to_pylist(), strict=True)
        return dict(zip(keys, values, strict=True))

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        arrow: Any = needed("pyarrow", "LanceDB")
        ids = self._annotated_id()
        linked = [None if value is None else value[0] for value in changes.values()]
        kind = "string" if any(isinstance(value, str) for value in linked) else "bigint"
        with self.errors("written"):
            if LINKED not in self._schema.names:
                self._table.add_columns({LINKED: f"cast(null as {kind})", PROBABILITY: "cast(null as double)"})
                del self._schema  # it has two fields more now
            held = self._schema.field(LINKED).type
            update = arrow.table(
                {
                    ids: arrow.array(list(changes), type=self._schema.field(ids).type),
                    LINKED: arrow.array([_as_kind(value, held, arrow) for value in linked], type=held),
                    PROBABILITY: arrow.array([None if value is None else value[1] for value in changes.values()]).cast(
                        arrow.float64()
                    ),
                }
            )
            self._table.merge_insert(ids).when_matched_update_all().execute(update)

    @cached_property
    def _vector(self) -> str:
        schema = self._schema
        lists = [each.name for each in schema if is_list(each.type)]
        return choose_vector(self.address.vector, schema.names, lists, self.name)

    @cached_property
    def _id(self) -> str | None:
        names = [name for name in self._schema.names if name != self._vector]
        return choose_id(self.address.id, names, self.name)

    @property
    def _kind(self) -> Any:
        return self._schema.field(self._vector).type

    @cached_property
    def _where(self) -> str | None:
        missing = [each.field for each in self.address.where if each.field not in self._schema.names]
        if missing:
            raise InputError(f"{self.name} has no field {named(missing)} to filter by.")
        return " and ".join(map(_sql, self.address.where)) or None

    def _annotated_id(self) -> str:
        if self._id is None:
            raise InputError(f"{self.name} has no ids, so its rows cannot be annotated; name the field: ?id=…")
        if FUNCTIONS in (self._schema.metadata or {}):
            # LanceDB would build them before it writes a row, and with them a model that may bring code of its own
            raise InputError(
                f"{self.name} names embedding functions, which LanceDB would run if its rows were annotated; "
                "write the links to a table of their own instead: #links."
            )
        return self._id


def _as_kind(value: Any, kind: Any, arrow: Any) -> Any:
    return str(value) if value is not None and arrow.types.is_string(kind) else value


def _sql(condition: Condition) -> str:
    """LanceDB takes filters as text only: a name in backticks and a literal, both escaped."""
    value = condition.value
    if isinstance(value, str):
        literal = "'" + value.replace("'", "''") + "'"
    else:
        literal = json.dumps(value)
    if "`" in condition.field:
        raise InputError(f"A filter cannot name the field {condition.field!r} in LanceDB, because of its backtick.")
    return f"`{condition.field}` {condition.sign} {literal}"
