"""Parquet files as one collection: `parquet:///folder`, or just the folder; `s3://bucket/folder`, `s3://bucket/x.parquet`.

Keys of a bucket come from where AWS's own programs have them; AWS_ENDPOINT_URL names a server that is not Amazon's.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyarrow import fs

from veclink.errors import InputError, StoreError, named
from veclink.files.atomic import folder_written_whole, scratch_folder
from veclink.files.tables import with_metadata
from veclink.stores.arrow import check_known, records_of
from veclink.stores.protocol import BATCH, ArrowStore, Batch
from veclink.stores.urls import bucket_server

PART_ROWS = 1_000_000
NO_ROWS = ("_SUCCESS", "_metadata", "_common_metadata")
"""Files that other programs write beside the parts, about the parts."""
_SIGNS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class ParquetStore(ArrowStore):
    """Parquet files with the same columns, in the order of their names."""

    keeps_links = False
    needs = ("pyarrow.dataset", "Parquet", "pyarrow")

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
        with self.errors():
            (root,) = self._system.get_file_info([self._root])
            if root.type == fs.FileType.File:
                return {self._root: (root.mtime_ns, root.size)}
            found = self._system.get_file_info(fs.FileSelector(self._root, recursive=True, allow_not_found=True))
        below = PurePosixPath(self._root)
        return {
            each.path: (each.mtime_ns, each.size)
            for each in sorted(found, key=lambda each: each.path)
            if each.type == fs.FileType.File
            and each.path.endswith(".parquet")
            # hidden ones are what killed runs left
            and not any(part.startswith(".") for part in PurePosixPath(each.path).relative_to(below).parts)
        }

    @cached_property
    def _dataset(self) -> Any:
        with self.errors():
            found = self._package().dataset(list(self._files), filesystem=self._system, format="parquet")
            for fragment in found.get_fragments():
                names = fragment.physical_schema.names
                if names != found.schema.names:
                    raise InputError(
                        f"{fragment.path} has the columns {named(names)} and {PurePosixPath(found.files[0]).name} "
                        f"{named(found.schema.names)}; give all files the same."
                    )
        return found

    @property
    def _schema(self) -> Any:
        return self._dataset.schema

    def _exists(self) -> bool:
        return bool(self._files)

    def count(self) -> int:
        with self.errors():
            return int(self._dataset.count_rows(filter=self._filter))

    @property
    def dtype(self) -> np.dtype:
        dtype = super().dtype
        return np.dtype(np.float32) if dtype == np.float64 else dtype

    @cached_property
    def _filter(self) -> Any:
        """The filters of the URL as pyarrow takes them; None without any."""
        check_known(self.address.where, self._fields, self.name)
        kept = None
        for each in self.address.where:
            holds = _SIGNS[each.sign](self._package().field(each.field), each.value)
            kept = holds if kept is None else kept & holds
        return kept

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        others = [each for each in self._fields if each not in self._vectors or each == self._vector]
        with self.errors():
            # a few batches ahead: more would be held in memory
            yield from self._dataset.to_batches(
                columns=list(columns or others), filter=self._filter, batch_size=size, batch_readahead=2,
                fragment_readahead=1,
            )  # fmt: skip
            now = self._system.get_file_info(list(self._files))
            if [(each.mtime_ns, each.size) for each in now] != list(self._files.values()):
                raise StoreError(f"{self.name} changed while it was read; read again.")

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        schema = with_metadata(records_of(first).schema, metadata)
        if self.address.path is not None:
            with folder_written_whole(self._path, may_replace=is_part) as folder:
                _write_parts(folder, schema, batches)
            return
        target = self._root if self._root.endswith(".parquet") else f"{self._root}/part-00000.parquet"
        others = [each for each in self._files if each != target]
        if others:  # it could not be replaced in one step
            raise InputError(f"{self.name} holds other objects, {named(others)}; choose another name or remove them.")
        width = first.vectors.shape[1] * first.vectors.dtype.itemsize
        with scratch_folder(len(first) * width, f"rows for {self.name}") as folder:
            with pq.ParquetWriter(folder / "x.parquet", schema) as writer:
                for batch in batches:
                    writer.write_table(records_of(batch, schema))
            # it is there when all of it is, and a killed run leaves nothing that can be seen
            local = fs.LocalFileSystem()
            source = str(folder / "x.parquet")
            fs.copy_files(source, target, source_filesystem=local, destination_filesystem=self._system)


def is_part(name: str) -> bool:
    """Whether a file of this name belongs to a folder of Parquet files."""
    return name.endswith(".parquet") or name in NO_ROWS or (name.startswith(".") and name.endswith(".crc"))


def _write_parts(folder: Path, schema: Any, batches: Iterator[Batch]) -> None:
    """Files of about `PART_ROWS` rows each, whose names are in the order of the rows."""
    with ExitStack() as opened:
        part, rows, writer = 0, PART_ROWS, None
        for batch in batches:
            if writer is None or rows >= PART_ROWS:
                opened.close()
                writer = opened.enter_context(pq.ParquetWriter(folder / f"part-{part:05d}.parquet", schema))
                part, rows = part + 1, 0
            writer.write_table(records_of(batch, schema))
            rows += len(batch)
