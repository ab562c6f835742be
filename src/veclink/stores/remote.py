"""Parquet and VDF on S3-like storage: `s3://bucket/file.parquet`, `s3://bucket/folder`.

A folder with VDF_META.json in it is VDF, any other is read as its Parquet files; what is written to a folder is VDF.
Rows that are written go to a local file first, and appear in the bucket whole.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from veclink.errors import InputError
from veclink.files.scratch_folders import hold
from veclink.stores.buckets import Bucket
from veclink.stores.formats.parquet_folder import ParquetFolder, write_parts
from veclink.stores.formats.vdf import META, VdfStore, described
from veclink.stores.protocol import Batch, Store
from veclink.stores.urls import Address

ENDING = ".parquet"


class InBucket(ParquetFolder):
    """Parquet objects in a bucket."""

    @cached_property
    def _bucket(self) -> Bucket:
        assert self.address.host is not None
        return Bucket(self.address.host)

    @property
    def _key(self) -> str:
        assert self.address.database is not None
        return self.address.database

    def _sources(self) -> Iterator[Any]:
        for each in self._files:
            with self._bucket.open(str(each)) as file:
                yield file


class S3Parquet(InBucket):
    """One Parquet object, or all of them below a name."""

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        """The store of an address: VDF where its metadata are there, or where a folder is to be written."""
        store = cls(address, writable=writable)
        if store._key.endswith(ENDING):
            return store
        with store.errors("opened"):
            is_vdf = store._bucket.is_file(f"{store._key}/{META}")
        return S3Vdf(address, writable=writable) if is_vdf or writable else store

    @cached_property
    def _files(self) -> Any:
        if self._key.endswith(ENDING) and self._bucket.is_file(self._key):
            return [PurePosixPath(self._key)]
        return [PurePosixPath(each) for each in self._bucket.below(self._key, ENDING)]

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        with _local_file(first, batches, metadata) as (file, _):
            self._bucket.upload(file, self._key)
        self._forget()


class S3Vdf(InBucket, VdfStore):
    """The Parquet objects of one namespace."""

    @classmethod
    def at(cls, address: Address, *, writable: bool) -> Store:
        return cls(address, writable=writable)

    def _meta_text(self) -> str:
        return self._bucket.text(f"{self._key}/{META}")

    @cached_property
    def _files(self) -> Any:
        if not self._bucket.is_file(f"{self._key}/{META}"):
            # what stands there without metadata is a collection too, and is not written over unasked
            return [PurePosixPath(each) for each in self._bucket.below(self._key, ENDING)]
        parts = PurePosixPath(str(self._namespace.get("data_path") or "")).parts
        if ".." in parts:
            raise InputError(f"{META} of {self.name} names data outside of it; write it again.")
        for start in range(len(parts) + 1):
            place = "/".join([self._key, *parts[start:]])
            if place.endswith(ENDING) and self._bucket.is_file(place):
                return [PurePosixPath(place)]
            if files := self._bucket.below(place, ENDING):
                return [PurePosixPath(each) for each in files]
        return []

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        older = self._files  # go once the new metadata name the new object: until then the older collection is whole
        part = f"data/part-{secrets.token_hex(6)}{ENDING}"
        with _local_file(first, batches, metadata) as (file, rows):
            text = described(self.address.table or "vectors", part, [part], rows, first, metadata)
            meta = file.with_name(META)
            meta.write_text(text, encoding="utf-8")
            self._bucket.upload(file, f"{self._key}/{part}")
            self._bucket.upload(meta, f"{self._key}/{META}")
        for each in older:
            self._bucket.remove(str(each))
        self._forget()


@contextmanager
def _local_file(first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> Iterator[tuple[Path, int]]:
    """All rows in one Parquet file of a scratch folder, and how many there are; the folder goes when the block ends."""
    held = hold(f"upload-{secrets.token_hex(8)}")
    try:
        rows = write_parts(held.path, first, batches, metadata, most=sys.maxsize)
        yield held.path / "part-00000.parquet", rows
    finally:
        held.remove()
        held.release()
