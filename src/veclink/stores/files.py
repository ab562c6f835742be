"""Single files as stores: .npy .npz .parquet .safetensors .jsonl, read by `formats`, written whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from veclink.data.collection import Collection, numbers
from veclink.data.ids import ids_in_the_way, read_ids_beside, written_with_ids
from veclink.errors import InputError, VeclinkError
from veclink.files.atomic import written_whole
from veclink.files.safetensors import write_tensors
from veclink.files.tables import metadata_of, with_metadata
from veclink.stores import formats
from veclink.stores.arrow import id_values, records_of
from veclink.stores.columns import matching
from veclink.stores.kinds import FILE_ENDINGS, known_endings
from veclink.stores.protocol import BATCH, Batch, Store
from veclink.stores.urls import Address


def read_file(address: Address, most: int | None = None) -> Collection:
    """The collection in a file, by its ending; with the fields and the filter of its URL.

    most: bytes of memory that it may unpack to; without it, what the machine has.
    """
    assert address.path is not None
    path = address.path
    collection = _read(path, address.vector, most)
    if address.id is not None:
        if collection.payload is None or address.id not in collection.payload.column_names:
            raise InputError(f"{path} has no field {address.id!r} for its ids.")
        collection = replace(collection, ids=id_values(collection.payload.column(address.id)))
    if address.where:
        collection = _with_ids_beside(collection, path)
        rows = np.flatnonzero(matching(collection.payload, address.where, str(path)))
        assert collection.payload is not None
        scale = collection.scale
        collection = Collection.from_array(
            collection.vectors[rows],
            collection.ids_at(rows),
            collection.payload.take(rows),
            scale[rows] if isinstance(scale, np.ndarray) and len(scale) > 1 else scale,
            address.shown,
        )
    return collection


def _read(path: Path, vector: str | None, most: int | None) -> Collection:
    ending = path.suffix.lower()
    if ending not in FILE_ENDINGS:
        raise InputError(f"{path} is not a kind of file that is known; known are {known_endings()}.")
    if vector is not None and ending != ".parquet":
        raise InputError(f"{path} takes no ?vector=…; only a Parquet file has several columns of vectors.")
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist; check the name.")
        if not path.is_file():
            raise InputError(f"{path} is not a file; name one file of vectors.")
        if ending == ".parquet":
            return formats.read_parquet(path, vector, most)
        if ending == ".npz":
            return formats.read_npz(path, most)
        read = {".npy": formats.read_npy, ".safetensors": formats.read_safetensors, ".jsonl": formats.read_jsonl}
        return read[ending](path)
    except (VeclinkError, MemoryError):
        raise
    # each format's parser has errors of its own; all of them mean that the file is not what its ending says
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{path} cannot be read as {ending} ({lines[0]}); check or write it again.") from error


def _with_ids_beside(collection: Collection, path: Path) -> Collection:
    """With the ids of a file beside it, where it has none of its own."""
    given = read_ids_beside(path) if collection.ids is None else None
    return collection if given is None else replace(collection, ids=given)


class FileStore(Store):
    """A file of vectors. It is read as a whole, which is no cost where it is memory-mapped."""

    keeps_links = False

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        super().__init__(address, writable=writable)
        self._ending = self._path.suffix.lower()
        if self._ending not in FILE_ENDINGS:
            raise InputError(f"{self._path} is not a kind of file that is known; known are {known_endings()}.")
        self.keeps_payload = self._ending in (".parquet", ".jsonl")

    @cached_property
    def _collection(self) -> Collection:
        collection = _with_ids_beside(read_file(self.address), self._path)
        if collection.scale is None:
            return collection
        return replace(collection, vectors=numbers(collection, slice(None)), scale=None)  # what the numbers mean

    def in_the_way(self) -> str | None:
        return super().in_the_way() or (ids_in_the_way(self._path) if self._ending == ".npy" else None)

    def count(self) -> int:
        return len(self._collection)

    def dimension(self) -> int:
        return self._collection.dimension

    @property
    def dtype(self) -> np.dtype:
        return self._collection.vectors.dtype

    def metadata(self) -> dict[str, Any]:
        if self._ending != ".parquet":
            return {}
        return metadata_of(pq.read_schema(self._path))

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Iterator[Batch]:
        whole = self._collection
        for start in range(0, len(whole), size):
            rows = slice(start, min(start + size, len(whole)))
            taken = whole.payload.slice(start, rows.stop - start) if payload and whole.payload is not None else None
            yield Batch(np.asarray(whole.vectors[rows]), whole.ids_at(rows), taken)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        if self._ending == ".npy":
            with written_with_ids(self._path) as (path, keep):
                keep(_write_npy(path, first, batches))
            return
        with written_whole(self._path) as path:
            if self._ending == ".parquet":
                schema = with_metadata(records_of(first).schema, metadata)
                with pq.ParquetWriter(path, schema) as writer:
                    for batch in batches:
                        writer.write_table(records_of(batch, schema))
            elif self._ending == ".jsonl":
                with path.open("w", encoding="utf-8") as file:
                    for batch in batches:
                        for record in records_of(batch).to_pylist():
                            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            else:
                _write_whole(path, batches, metadata)


def _write_npy(path: Path, first: Batch, batches: Iterator[Batch]) -> list[str] | None:
    """Write the vectors as they come, and give the ids, if there are any."""
    dtype, dimension = first.vectors.dtype, first.vectors.shape[1]
    rows = 0
    ids: list[str] = []
    with path.open("wb+") as file:

        def header() -> None:
            file.seek(0)
            described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
            np.lib.format.write_array_header_2_0(file, {**described, "shape": (rows, dimension)})

        header()  # numpy pads it so that a greater count fits in later
        start = file.tell()
        for batch in batches:
            file.write(np.ascontiguousarray(batch.vectors, dtype=dtype).data)
            ids += [] if batch.ids is None else map(str, batch.ids.tolist())
            rows += len(batch)
        header()
        if file.tell() != start:
            raise InputError(f"{rows:,} rows need a longer header than .npy was given; write Parquet instead.")
    return None if first.ids is None else ids


def _write_whole(path: Path, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
    """.npz and .safetensors begin with the sizes of what follows, so all of it has to be there first."""
    parts = list(batches)
    arrays: dict[str, Any] = {"vectors": np.concatenate([part.vectors for part in parts])}
    if parts[0].ids is not None:
        ids = np.concatenate([part.ids for part in parts if part.ids is not None])
        arrays["ids"] = ids.astype(str) if ids.dtype == object else ids  # no pickled objects
    if path.suffix.lower() == ".npz":
        with path.open("wb") as file:
            np.savez(file, **arrays)
        return
    if arrays.get("ids", np.empty(0, np.int64)).dtype.kind == "U":
        raise InputError("safetensors files keep integer ids only, and these are text; write Parquet instead.")
    write_tensors(path, arrays, {"veclink": json.dumps(metadata)})
