"""LanceDB: `lancedb:///path#table`, the folder `path/table.lance`, `s3://bucket/path/table.lance`. The default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa

from veclink.errors import InputError
from veclink.files.tables import with_metadata
from veclink.stores.arrow import check_known, records_of
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, ArrowStore, Batch, Id
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
        with self.errors("opened"):
            return self._package().connect(str(self._place[0]), **options)

    @cached_property
    def _table(self) -> Any:
        with self.errors():
            return self._database.open_table(self._place[1])

    @cached_property
    def _schema(self) -> Any:
        with self.errors():
            return self._table.schema

    def _exists(self) -> bool:
        """Whether there is a finished version of the table; one that was left half-written does not count."""
        folder, table = self._place
        if self.address.path is not None:
            return any((folder / f"{table}.lance" / "_versions").glob("*.manifest"))
        with self.errors():
            try:
                self._database.open_table(table)
            except Exception as error:
                if "not found" in str(error).lower():
                    return False
                raise
        return True

    def count(self) -> int:
        with self.errors():
            return self._table.count_rows(self._where)

    def version(self) -> str:
        return str(self._table.version)

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        names = [each for each in columns or self._fields if each in self._fields]
        with self.errors():
            query = self._table.search().select(names)
            yield from (query.where(self._where) if self._where else query).to_batches(batch_size=size)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        schema = with_metadata(records_of(first).schema, metadata)
        failed: list[BaseException] = []

        def records() -> Iterator[Any]:
            try:
                for batch in batches:
                    yield from records_of(batch, schema).to_batches()
            except BaseException as error:  # the engine would hide it in one of its own
                failed.append(error)
                raise

        try:
            self._create_table(pa.RecordBatchReader.from_batches(schema, records()))
        except BaseException:
            if failed:
                raise failed[0] from None
            raise

    def _create_table(self, links: Any) -> None:
        """One new version of the table, or none."""
        old = self.exists()
        try:
            self._database.create_table(self._place[1], data=links, mode="overwrite" if old else "create")
        except BaseException:
            if not old:
                with suppress(Exception):
                    self._database.drop_table(self._place[1])
            raise

    @property
    def _annotated_id(self) -> str:
        if b"embedding_functions" in (self._schema.metadata or {}):
            # LanceDB would build them before it writes a row, and with them a model that may bring code of its own
            raise InputError(
                f"{self.name} names embedding functions, which LanceDB would run if its rows were annotated; "
                "write the links to a table of their own instead: #links."
            )
        return super()._annotated_id

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        ids = self._annotated_id
        notes = [value or (None, None) for value in changes.values()]
        kind = "string" if any(isinstance(note[0], str) for note in notes) else "bigint"
        with self.errors("written"):
            if LINKED not in self._fields:
                self._table.add_columns({LINKED: f"cast(null as {kind})", PROBABILITY: "cast(null as double)"})
                del self._schema  # it has two fields more now
            held = self._schema.field(LINKED).type
            linked = [str(x) if x is not None and pa.types.is_string(held) else x for x, _ in notes]
            update = pa.table(
                {
                    ids: pa.array(list(changes), type=self._schema.field(ids).type),
                    LINKED: pa.array(linked, type=held),
                    PROBABILITY: pa.array([chance for _, chance in notes], type=pa.float64()),
                }
            )
            self._table.merge_insert(ids).when_matched_update_all().execute(update)
        self._forget()

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
