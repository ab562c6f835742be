"""HDF5: `hdf5:///file.h5#group`: a dataset of vectors (n, d), perhaps one of ids, and others of n values as payload.

`?vector=train` names the dataset where there are several matrices. A file can name others: by an external link, by a
dataset whose numbers are stored elsewhere, by a virtual dataset. Whoever made it chose those names: none is followed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.errors import InputError, named
from veclink.files.atomic import written_whole
from veclink.stores.arrow import choose_id, column_of, ids_of, matching, records_of, values_of
from veclink.stores.protocol import BATCH, Batch, Store

NULLS = "veclink_nulls"
"""An attribute of a written dataset: the rows that have no value."""


class Hdf5Store(Store):
    """Datasets of one length in one group."""

    keeps_links = False
    needs = ("h5py", "HDF5", "veclink[hdf5]")

    @cached_property
    def _file(self) -> Any:
        h5py = self._package()
        with self.errors():
            file = h5py.File(self._path, "r")
            outside = file.visititems_links(lambda name, link: name if isinstance(link, h5py.ExternalLink) else None)
        if outside is not None:
            raise InputError(f"{self.name} has a link {outside!r} to another file; open that file itself.")
        return file

    @cached_property
    def _group(self) -> Any:
        if not self.address.table:
            return self._file
        with self.errors():
            found = self._file.get(self.address.table)
        if found is None:
            names = named(list(self._file))
            raise InputError(f"{self._path} has no group {self.address.table!r}; it has {names}.")
        return found

    @cached_property
    def _datasets(self) -> dict[str, Any]:
        if hasattr(self._group, "shape"):  # the URL names the dataset itself
            datasets = {"vectors": self._group}
        else:
            with self.errors():
                members = {name: self._group.get(name) for name in self._group}
                datasets = {name: each for name, each in members.items() if hasattr(each, "shape")}
        for each in datasets.values():
            short = each.name.rpartition("/")[2]
            if each.external:
                file = each.external[0][0]
                raise InputError(
                    f"{self.name} keeps {short!r} in another file, {file}; copy it into one file (h5repack)."
                )
            if each.is_virtual:
                raise InputError(
                    f"{self.name} puts {short!r} together of other datasets, perhaps of other files (a virtual "
                    "dataset); copy it into one file."
                )
        return datasets

    @property
    def _fields(self) -> list[str]:
        return list(self._datasets)

    @property
    def _vectors(self) -> list[str]:
        return [name for name, each in self._datasets.items() if each.ndim == 2 and each.dtype.kind in "fi"]

    @cached_property
    def _columns(self) -> list[str]:
        """The datasets with one value for each vector."""
        length = len(self._datasets[self._vector])
        return [name for name, each in self._datasets.items() if each.ndim == 1 and len(each) == length]

    @cached_property
    def _id(self) -> str | None:
        return choose_id(self.address.id, self._columns, self.name)

    def count(self) -> int:
        if self.address.where:
            return sum(len(batch) for batch in self.batches(payload=False))
        return len(self._datasets[self._vector])

    def dimension(self) -> int:
        return int(self._datasets[self._vector].shape[1])

    @property
    def dtype(self) -> np.dtype:
        dtype = self._datasets[self._vector].dtype
        if dtype.kind == "i" and dtype != np.int8:
            raise InputError(f"{self.name} holds {dtype}; vectors are float16, float32, float64 or int8.")
        return np.dtype(np.float32) if dtype.itemsize == 8 else dtype.newbyteorder("=")

    def metadata(self) -> dict[str, Any]:
        known = dict(getattr(self._group, "attrs", {}))
        own = json.loads(known.pop("veclink", "{}"))
        return {**{key: str(value) for key, value in known.items()}, **own}

    def scan(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        vectors, conditions = self._datasets[self._vector], self.address.where
        wanted = [*self._columns, self._vector] if columns is None else columns
        names = [each for each in self._columns if each in wanted or conditions]
        for start in range(0, len(vectors), size):
            rows = slice(start, min(start + size, len(vectors)))
            with self.errors():
                numbers = column_of(vectors[rows].astype(self.dtype, copy=False))
                others = self._table(names, rows)
            table = pa.table({self._vector: numbers, **dict(zip(names, others.columns, strict=True))})
            if conditions:
                table = table.filter(pa.array(matching(others, conditions, self.name)))
            yield from table.select(wanted).combine_chunks().to_batches()

    def _table(self, names: Sequence[str], rows: slice) -> pa.Table:
        """Some rows of the datasets with one value for each vector."""
        return pa.table({name: values_of(_values(self._datasets[name], rows)) for name in names})

    def in_place(self, *, payload: bool = True) -> Collection | None:
        """Mapped where the dataset is neither chunked nor compressed, as h5py writes by default."""
        vectors = self._datasets[self._vector]
        start = vectors.id.get_offset()
        plain = vectors.dtype.isnative and vectors.dtype == self.dtype and not self._file.userblock_size
        if start is None or vectors.chunks is not None or not plain or self.address.where or not len(vectors):
            return None
        mapped = np.memmap(self._path, vectors.dtype, "r", offset=start, shape=vectors.shape)
        names = [name for name in self._columns if payload or name == self._id]
        rest = self._table(names, slice(0, len(vectors)))
        ids = None if self._id is None else ids_of(rest.column(self._id), self.name)
        rest = rest.select([name for name in names if name != self._id])
        return Collection.from_array(mapped, ids, rest if rest.num_columns else None, name=self.name)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        self._close()
        rows = 0
        missing: dict[str, list[int]] = {}
        with written_whole(self._path) as path, _CheckedFile(path, "wb+") as checked:
            with self._package().File(checked, "w") as file:
                group = file.create_group(self.address.table) if self.address.table else file
                for batch in batches:
                    checked.check()
                    table = records_of(batch)
                    for name in table.column_names:
                        column = table.column(name)
                        if column.null_count:
                            empty = np.flatnonzero(column.is_null().to_numpy()) + rows
                            missing.setdefault(name, []).extend(empty.tolist())
                        self._append(group, name, batch.vectors if name == "vector" else _block(column), rows)
                    rows += len(batch)
                for name, places in missing.items():
                    group[name].attrs[NULLS] = np.array(places)
                group.attrs["veclink"] = json.dumps(metadata)
            checked.check()

    def _append(self, group: Any, name: str, block: np.ndarray, start: int) -> None:
        """Add rows to a dataset from `start` on; it is made where it is not there."""
        if name in group:
            group[name].resize(start + len(block), axis=0)
            group[name][start:] = block
            return
        if "/" in name or name == ".":
            raise InputError(f"HDF5 cannot call a dataset {name!r}; rename the field.")
        group.create_dataset(
            name,
            data=block,
            maxshape=(None, *block.shape[1:]),
            chunks=(max(1, min(4096, (1 << 20) // max(1, block[:1].nbytes))), *block.shape[1:]),
            dtype=self._package().string_dtype() if block.dtype == object else None,
        )


class _CheckedFile(io.FileIO):
    """The file that HDF5 writes to: what goes wrong is kept and told by `check`, never to the library.

    A write that fails inside the library leaves it with pages that it cannot write and cannot forget: closing such a
    file fails again, and the end of the process may be a segmentation fault.
    """

    _error: OSError | None = None

    def check(self) -> None:
        """Raise the first thing that went wrong, if anything did."""
        if self._error is not None:
            raise self._error

    def readinto(self, buffer: Any) -> int:
        """Read what is there; beyond the end, as after a write that failed, there are zeros."""
        wanted = memoryview(buffer).cast("B")
        wanted[:] = bytes(len(wanted))
        super().readinto(wanted)
        return len(wanted)

    def write(self, data: Any) -> int:
        """Write all of it, unless something went wrong before."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while len(left) and self._error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self._error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self._error = self._error or error
            return self.tell() if size is None else size


def _values(dataset: Any, rows: slice) -> list[Any]:
    """The values of some rows, bytes as text."""
    values = [each.decode() if isinstance(each, bytes) else each for each in dataset[rows].tolist()]
    for row in dataset.attrs.get(NULLS, []):
        if rows.start <= row < rows.stop:
            values[row - rows.start] = None
    return values


def _block(column: Any) -> np.ndarray:
    """A column as HDF5 keeps it: numbers, true and false, or text; a missing value is a zero or empty there."""
    values = column.to_pylist()
    if pa.types.is_boolean(column.type):
        return np.array([bool(value) for value in values])
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        kind = np.int64 if pa.types.is_integer(column.type) else np.float64
        return np.array([value or 0 for value in values], dtype=kind)
    block = np.empty(len(values), dtype=object)
    block[:] = [
        "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str) for value in values
    ]
    return block
