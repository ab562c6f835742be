"""One or more Parquet files: `x.parquet`, a folder, `parquet:///folder`, `s3://bucket/folder`, `s3://bucket/x.parquet`.

Keys of a bucket come from where AWS's own programs have them; AWS_ENDPOINT_URL names a server that is not Amazon's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyarrow.dataset import dataset

from veclink.errors import InputError, StoreError, named
from veclink.files.atomic import folder_written_whole, scratch_folder, written_whole
from veclink.files.tables import with_metadata
from veclink.stores.arrow import filter_of
from veclink.stores.protocol import BATCH, ArrowStore
from veclink.stores.urls import bucket_server

PART = "part-00000.parquet"
NO_ROWS = ("_SUCCESS", "_metadata", "_common_metadata")
"""Files that other programs write beside the parts, about the parts."""


class ParquetStore(ArrowStore):
    """Parquet files with the same columns, in the order of their names."""

    keeps_links = False

    @cached_property
    def _system(self) -> Any:
        if self.address.path is not None:
            return fs.LocalFileSystem(use_mmap=True)
        server, region = bucket_server()
        where = {"endpoint_override": server.rstrip("/"), "scheme": server.partition(":")[0]} if server else {}
        tries = fs.AwsStandardS3RetryStrategy(max_attempts=3)
        return fs.S3FileSystem(region=region, connect_timeout=10, retry_strategy=tries, **where)

    @property
    def _root(self) -> str:
        return str(self.address.path) if self.address.path else f"{self.address.host}/{self.address.database}"

    @cached_property
    def _files(self) -> dict[str, tuple[int | None, int]]:
        """The time and the size of each file by its name, which differ once it was replaced."""
        (root,) = self._system.get_file_info([self._root])
        found = [root]
        if root.type != fs.FileType.File:
            found = self._system.get_file_info(fs.FileSelector(self._root, recursive=True, allow_not_found=True))
        return {
            each.path: (each.mtime_ns, each.size)
            for each in sorted(found, key=lambda each: each.path)
            if each.type == fs.FileType.File
            and each.path.endswith(".parquet")
            and "/." not in each.path.removeprefix(self._root)  # what killed runs left
        }

    @cached_property
    def _dataset(self) -> Any:
        found = dataset(list(self._files), filesystem=self._system, format="parquet")
        for fragment in found.get_fragments():
            names = fragment.physical_schema.names
            if names != found.schema.names:
                others = f"{named(found.schema.names)}; give all files the same"
                raise InputError(f"{fragment.path} has the columns {named(names)}, and others {others}.")
        return found

    @property
    def _schema(self) -> Any:
        return self._dataset.schema

    def _exists(self) -> bool:
        return bool(self._files)

    def _count(self) -> int:
        return int(self._dataset.count_rows(filter=self._filter))

    @cached_property
    def _filter(self) -> Any:
        return filter_of(self.address.where, self._fields, self.name)

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        # a few batches ahead: more would be held in memory
        yield from self._dataset.to_batches(
            columns=self._names(vectors, payload), filter=self._filter, batch_size=size, batch_readahead=2,
            fragment_readahead=1,
        )  # fmt: skip
        now = self._system.get_file_info(list(self._files))
        if [(each.mtime_ns, each.size) for each in now] != list(self._files.values()):
            raise StoreError(f"{self.name} changed while it was read; read again.")

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        def write(file: Path) -> None:
            with pq.ParquetWriter(file, with_metadata(first.schema, metadata)) as writer:
                for table in tables:
                    writer.write_table(table)

        if self.address.kind == "parquet_file":
            with written_whole(self._path) as file:
                write(file)
        elif self.address.path is not None:
            with folder_written_whole(self._path, may_replace=is_part) as folder:
                write(folder / PART)
        else:
            target = self._root if self._root.endswith(".parquet") else f"{self._root}/{PART}"
            others = [each for each in self._files if each != target]
            if others:  # it could not be replaced in one step
                raise InputError(f"{self.name} holds other objects, {named(others)}; choose another name.")
            with scratch_folder(first.nbytes, f"rows for {self.name}") as folder:
                write(folder / PART)
                # it is there when all of it is, and a killed run leaves nothing that can be seen
                local = fs.LocalFileSystem()
                fs.copy_files(str(folder / PART), target, source_filesystem=local, destination_filesystem=self._system)


def is_part(name: str) -> bool:
    """Whether a file of this name belongs to a folder of Parquet files."""
    return name.endswith(".parquet") or name in NO_ROWS or (name.startswith(".") and name.endswith(".crc"))
