"""A folder of Parquet files as one collection: `parquet:///folder`, or just the folder. Files in the order of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError, named, needed
from veclink.files.folders import folder_written_whole, restore
from veclink.files.tables import metadata_of, with_metadata
from veclink.stores.arrow import ids_of, is_list, matrix, records_of, table_of_records
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.filters import matching
from veclink.stores.protocol import BATCH, Batch, Store
from veclink.stores.urls import Address

PART_ROWS = 1_000_000
NO_ROWS = ("_SUCCESS", "_metadata", "_common_metadata")
"""Files that other programs write beside the parts, about the parts."""


class ParquetFolder(Store):
    """Parquet files with the same columns."""

    keeps_links = False
    needs = ("pyarrow.parquet", "Parquet", "pyarrow")

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        assert address.path is not None
        restore(address.path)
        return super().at(address, writable=writable)

    @cached_property
    def _files(self) -> list[Path]:
        return parquet_files(self._path)

    def _sources(self) -> Iterable[Any]:
        """The files as pyarrow opens them."""
        return self._files

    @cached_property
    def _schema(self) -> Any:
        with self.errors():
            schemas = [self._package().read_schema(file, memory_map=True) for file in self._sources()]
        for file, schema in zip(self._files, schemas, strict=True):
            if schema.names != schemas[0].names:
                raise InputError(
                    f"{file} has the columns {named(schema.names)} and {self._files[0].name} "
                    f"{named(schemas[0].names)}; give all files the same."
                )
        return schemas[0]

    def exists(self) -> bool:
        return bool(self._files)

    def count(self) -> int:
        if self.address.where:
            return sum(len(batch) for batch in self.batches(payload=False))
        with self.errors():
            return sum(self._package().read_metadata(file).num_rows for file in self._sources())

    def dimension(self) -> int:
        kind = self._schema.field(self._vector).type
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        first = next(file_rows(self._sources(), 1, None, [self._vector]), None)
        return 0 if first is None else matrix(first[1].column(0), 0, None, self.name).shape[1]

    @property
    def dtype(self) -> np.dtype:
        dtype = np.dtype(self._schema.field(self._vector).type.value_type.to_pandas_dtype())
        return np.dtype(np.float32) if dtype == np.float64 else dtype

    def metadata(self) -> dict[str, Any]:
        return metadata_of(self._schema)

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        conditions = self.address.where
        wanted = [self._vector, *([self._id] if self._id else [])]
        filtered = [each.field for each in conditions if each.field in self._schema.names]
        names = self._schema.names if payload else list(dict.fromkeys([*wanted, *filtered]))
        others = [name for name in names if name not in wanted and name not in self._vectors]
        arrow: Any = needed("pyarrow", "Parquet")
        with self.errors():
            for place, records in file_rows(self._sources(), size, after, list(names)):
                start = place[1] - records.num_rows
                if conditions:
                    rows = np.flatnonzero(matching(arrow.Table.from_batches([records]), conditions, self.name))
                    records = records.take(arrow.array(rows))
                    if not records.num_rows:
                        continue
                vectors = matrix(records.column(self._vector), start, None, self.name)
                rest = table_of_records(records, others if payload else [])
                ids = ids_of(records.column(self._id), self.name) if self._id else None
                yield Batch(vectors.astype(self.dtype, copy=False), ids, rest, place)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        with folder_written_whole(self._path, may_replace=is_part) as folder:
            write_parts(folder, first, batches, metadata)
        self._forget()

    @cached_property
    def _vectors(self) -> list[str]:
        return [each.name for each in self._schema if is_list(each.type)]

    @cached_property
    def _vector(self) -> str:
        return choose_vector(self.address.vector, self._schema.names, self._vectors, self.name)

    @cached_property
    def _id(self) -> str | None:
        names = [name for name in self._schema.names if name != self._vector]
        return choose_id(self.address.id, names, self.name)


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder and its subfolders; hidden ones are what killed runs left."""
    found = (path for path in folder.rglob("*.parquet") if path.is_file())
    return sorted(path for path in found if not _is_hidden(path.relative_to(folder)))


def is_part(name: str) -> bool:
    """Whether a file of this name belongs to a folder of Parquet files."""
    if name.startswith(".") and name.endswith(".crc"):
        return True
    return name.endswith(".parquet") or name in NO_ROWS


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def file_rows(files: Iterable[Any], size: int, after: Any, names: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
    """These columns of all files in batches, each with the place behind it: the file's number, and the row in it."""
    parquet: Any = needed("pyarrow.parquet", "Parquet")
    begin, skip = after or (0, 0)
    for number, path in enumerate(files):
        if number < begin:
            continue
        with parquet.ParquetFile(path, memory_map=True) as file:
            row, groups, start = 0, [], skip if number == begin else 0
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if row + rows > start:
                    groups.append(group)
                else:
                    row += rows
            for records in file.iter_batches(batch_size=size, row_groups=groups, columns=list(names)):
                row += records.num_rows
                if row <= start:
                    continue
                kept = min(records.num_rows, row - start)
                yield [number, row], records.slice(records.num_rows - kept)


def write_parts(
    folder: Path, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any], *, most: int = PART_ROWS
) -> int:
    """Parquet files of about `most` rows each at most; says how many rows there are."""
    parquet: Any = needed("pyarrow.parquet", "Parquet")
    schema = with_metadata(records_of(first).schema, metadata)
    rows, writer, part = 0, None, 0
    try:
        for batch in batches:
            if writer is None or rows >= part * most:
                if writer is not None:
                    writer.close()
                writer = parquet.ParquetWriter(folder / f"part-{part:05d}.parquet", schema)
                part += 1
            writer.write_table(records_of(batch, schema))
            rows += len(batch)
    finally:
        if writer is not None:
            writer.close()
    return rows
