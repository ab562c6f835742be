"""A store's vectors, read once into a memory-mapped scratch file; ids stay in memory, payload is mapped too."""

from __future__ import annotations

import mmap
import time
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from veclink.data.collection import Collection
from veclink.data.ids import as_ids
from veclink.errors import InputError, OutputError, StoreError, plural, readable_size
from veclink.files.memory import size_of
from veclink.files.scratch import scratch_file
from veclink.progress import Progress, ProgressListener
from veclink.stores.arrow import one_table
from veclink.stores.protocol import BATCH, RATIO, SUSPECT, Store

BATCH_BYTES = 16 << 20  # of vectors, at most: a batch is held a few times over while it is read


def read_store(
    store: Store, *, payload: bool = True, progress: ProgressListener | None = None, size: int | None = None
) -> Collection:
    """The whole collection; its files have no names, and the system frees them with the last use."""
    with store.errors():
        count, dimension, dtype = store.count(), store.dimension(), store.dtype
    if not count:
        return Collection.from_array(np.empty((0, max(dimension, 1)), dtype), name=store.name)
    if dimension < 1:
        raise InputError(f"{store.name} has {plural(count, 'row')} of {dimension} numbers; a vector needs at least 2.")
    width = dimension * dtype.itemsize
    _check_ratio(store, count * width)
    vectors = scratch_file(count * width, f"vectors of {store.name}")
    tables = scratch_file(0, "payload")
    ids: list[np.ndarray] = []
    rows, began = 0, time.monotonic()
    with vectors, tables:
        for batch in store.batches(size or max(1, min(BATCH, BATCH_BYTES // width)), payload=payload):
            if batch.vectors.shape[1] != dimension:
                raise InputError(
                    f"{store.name} has vectors of {dimension:,} numbers, but of {batch.vectors.shape[1]:,} from row "
                    f"{rows:,} on; give all the same length."
                )
            try:
                vectors.write(np.ascontiguousarray(batch.vectors, dtype).data)
                if batch.payload is not None:
                    with ipc.new_stream(tables, batch.payload.schema) as writer:
                        writer.write_table(batch.payload)
            except OSError as error:
                raise OutputError(
                    f"The scratch space is full ({error.strerror or error}) after {rows:,} rows; make room, or name "
                    "another folder in VECLINK_SCRATCH."
                ) from error
            if batch.ids is not None:
                ids.append(batch.ids.copy())  # a view of an Arrow column would keep the batch's vectors as well
            rows += len(batch)
            if progress is not None:
                rate = rows / max(time.monotonic() - began, 1e-9)
                progress(Progress(rows, count, 0, None, f"reading {store.name}", rows_per_second=rate))
        if rows != count:
            raise StoreError(f"{store.name} changed while it was read: of {count:,} rows {rows:,} came; read again.")
        vectors.flush()
        mapped = np.memmap(vectors, dtype, "r", shape=(rows, dimension))
        return Collection.from_array(mapped, _one_kind(ids), _mapped_tables(tables), name=store.name)


def _check_ratio(store: Store, size: int) -> None:
    """Refuse vectors that are far more than the files that they are in: real ones hardly get smaller when packed."""
    path = store.address.path
    if path is not None and size > max(SUSPECT, RATIO * size_of(path)):
        raise InputError(
            f"{store.name} has {readable_size(size_of(path))} and would unpack to {readable_size(size)} of vectors; no "
            "real ones do. Check where it comes from, or write its vectors as .npy."
        )


def _mapped_tables(file: Any) -> Any:
    """The payload of all batches as one table, read where it lies."""
    file.flush()
    if not file.tell():
        return None
    source = pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    tables = []
    while source.tell() < source.size():
        tables.append(ipc.open_stream(source).read_all())
    return one_table(tables)


def _one_kind(parts: list[np.ndarray]) -> np.ndarray | None:
    """The ids of all batches: integers if all are, else text."""
    if any(part.dtype == object for part in parts):
        return as_ids([each for part in parts for each in part.tolist()])
    return np.concatenate(parts) if parts else None
