"""LanceDB: `lancedb:///path#table`, the folder `path/table.lance`, `s3://bucket/path/table.lance`. The default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa

from veclink.errors import InputError
from veclink.files.tables import with_metadata
from veclink.stores.arrow import check_known
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, ArrowStore, Id, Note
from veclink.stores.urls import Condition, bucket_server


class LanceStore(ArrowStore):
    """A LanceDB table: its list columns are vectors, `id` the ids, the rest payload."""

    needs = ("lancedb", "LanceDB", "veclink[lancedb]")

    @cached_property
    def _place(self) -> tuple[Any, str]:
        """The folder of the database, and the table."""
        if self.address.path is None:
            folder, _, table = f"{self.address.host}/{self.address.database}".rpartition("/")
            return f"s3://{folder}", table.removesuffix(".lance")
        path, table = self._path, self.address.table or ""
        if path.suffix == ".lance" and not table:
            return path.parent, path.stem
        return path, table or self._only_one((each.stem for each in path.glob("*.lance")), "table")

    @cached_property
    def _database(self) -> Any:
        options = {}
        if self.address.path is None:
            server, region = bucket_server()
            where = {"endpoint": server, "allow_http": str(server.startswith("http://")).lower()} if server else {}
            options = {"storage_options": {"region": region, **where}}
        return self._package().connect(str(self._place[0]), **options)

    @cached_property
    def _table(self) -> Any:
        return self._database.open_table(self._place[1])

    @cached_property
    def _schema(self) -> Any:
        return self._table.schema

    def _exists(self) -> bool:
        """Whether there is a finished version of the table; one that was left half-written does not count."""
        try:
            self._database.open_table(self._place[1])
        except Exception as error:
            if "not found" in str(error).lower():
                return False
            raise
        return True

    def _count(self) -> int:
        return self._table.count_rows(self._where)

    def state(self) -> str:
        return f"{super().state()} {self._table.version}"

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        query = self._table.search().select(self._names(vectors, payload))
        yield from (query.where(self._where) if self._where else query).to_batches(batch_size=size)

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        """One new version of the table, or none."""
        schema, old = with_metadata(first.schema, metadata), self.exists()
        failed: list[BaseException] = []

        def records() -> Iterator[pa.RecordBatch]:
            try:
                for table in tables:
                    yield from table.cast(schema).to_batches()
            except BaseException as error:  # the engine would hide it in one of its own
                failed.append(error)
                raise

        try:
            data = pa.RecordBatchReader.from_batches(schema, records())
            self._database.create_table(self._place[1], data=data, mode="overwrite" if old else "create")
        except BaseException:
            if not old:
                with suppress(Exception):
                    self._database.drop_table(self._place[1])
            if failed:
                raise failed[0] from None
            raise

    @property
    def _annotated_id(self) -> str:
        if b"embedding_functions" in (self._schema.metadata or {}):
            # LanceDB would build them before it writes a row, and with them a model that may bring code of its own
            raise InputError(
                f"{self.name} names embedding functions, which notes would run; write the links to a table: #links."
            )
        return super()._annotated_id

    def _annotate(self, notes: Mapping[Id, Note]) -> None:
        ids = self._annotated_id
        linked, probability = (list(each) for each in zip(*notes.values(), strict=True))
        if LINKED not in self._fields:
            kind = "string" if any(isinstance(each, str) for each in linked) else "bigint"
            self._table.add_columns({LINKED: f"cast(null as {kind})", PROBABILITY: "cast(null as double)"})
            del self._schema  # it has two fields more now
        held = self._schema.field(LINKED).type
        if pa.types.is_string(held):
            linked = [each if each is None else str(each) for each in linked]
        update = pa.table(
            {
                ids: pa.array(list(notes), type=self._schema.field(ids).type),
                LINKED: pa.array(linked, type=held),
                PROBABILITY: pa.array(probability, type=pa.float64()),
            }
        )
        self._table.merge_insert(ids).when_matched_update_all().execute(update)

    @cached_property
    def _where(self) -> str | None:
        check_known(self.address.where, self._fields, self.name)
        return " and ".join(map(_sql, self.address.where)) or None


def _sql(condition: Condition) -> str:
    """LanceDB takes filters as text only: a name in backticks and a literal, both escaped."""
    value = condition.value
    literal = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)
    if "`" in condition.field:
        raise InputError(f"A filter cannot name the field {condition.field!r} in LanceDB, because of its backtick.")
    return f"`{condition.field}` {condition.sign} {literal}"
