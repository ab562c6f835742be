"""HDF5: `hdf5:///file.h5#group`: a dataset of vectors (n, d), perhaps one of ids, and others of n values as payload.

`?vector=train` names the dataset where there are several matrices. A file can name others: by an external link, by a
dataset whose numbers are stored elsewhere, by a virtual dataset. Whoever made it chose those names: none is followed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.errors import InputError, named
from veclink.files.atomic import written_whole
from veclink.stores.arrow import VECTOR, choose_id, column_of, filter_of, values_of, vectors_of
from veclink.stores.protocol import BATCH, Store

NULLS = "veclink_nulls"
"""An attribute of a written dataset: the rows that have no value."""


class Hdf5Store(Store):
    """Datasets of one length in one group."""

    keeps_links = False
    needs = ("h5py", "HDF5", "veclink[hdf5]")

    @cached_property
    def _file(self) -> Any:
        h5py = self._package()
        file = h5py.File(self._path, "r")
        outside = file.visititems_links(lambda name, link: name if isinstance(link, h5py.ExternalLink) else None)
        if outside is not None:
            raise InputError(f"{self.name} has a link {outside!r} to another file; open that file itself.")
        return file

    @cached_property
    def _group(self) -> Any:
        if not self.address.table:
            return self._file
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
            members = {name: self._group.get(name) for name in self._group}
            datasets = {name: each for name, each in members.items() if hasattr(each, "shape")}
        for each in datasets.values():
            short = each.name.rpartition("/")[2]
            if each.external or each.is_virtual:
                raise InputError(
                    f"{self.name} keeps {short!r} in other files or datasets; make it one file (h5repack)."
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

    def _count(self) -> int:
        if self.address.where:
            return sum(len(records) for records in self.scan(payload=False))
        return len(self._datasets[self._vector])

    def _dimension(self) -> int:
        return int(self._datasets[self._vector].shape[1])

    @property
    def dtype(self) -> np.dtype:
        dtype = self._datasets[self._vector].dtype.newbyteorder("=")
        return np.dtype(np.float32) if dtype == np.float64 else dtype

    def _metadata(self) -> dict[str, Any]:
        known = dict(getattr(self._group, "attrs", {}))
        own = json.loads(known.pop("veclink", "{}"))
        return {**{key: str(value) for key, value in known.items()}, **own}

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        held = self._datasets[self._vector]
        wanted = [each for each in self._columns if payload or each == self._id] + [self._vector] * vectors
        kept = filter_of(self.address.where, self._columns, self.name)
        names = wanted if kept is None else self._columns
        for start in range(0, len(held), size):
            rows = slice(start, min(start + size, len(held)))
            fields = {name: values_of(_values(self._datasets[name], rows)) for name in names if name != self._vector}
            table = pa.table({**fields, self._vector: column_of(held[rows].astype(self.dtype, copy=False))})
            table = table if kept is None else table.filter(kept)
            yield from table.select(wanted).combine_chunks().to_batches()

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        self.close()
        rows = 0
        missing: dict[str, list[int]] = {}
        with written_whole(self._path) as path, _CheckedFile(path, "wb+") as checked:
            with self._package().File(checked, "w") as file:
                group = file.create_group(self.address.table) if self.address.table else file
                for table in tables:
                    checked.check()
                    for name in table.column_names:
                        column = table.column(name)
                        if column.null_count:
                            empty = np.flatnonzero(column.is_null().to_numpy()) + rows
                            missing.setdefault(name, []).extend(empty.tolist())
                        self._append(group, name, vectors_of(table) if name == VECTOR else _block(column), rows)
                    rows += len(table)
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
    kinds = (pa.types.is_boolean, bool), (pa.types.is_integer, np.int64), (pa.types.is_floating, np.float64)
    values = column.to_pylist()
    for fits, kind in kinds:
        if fits(column.type):
            return np.array([value or 0 for value in values], dtype=kind)
    texts = [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]
    return np.array(["" if value is None else text for value, text in zip(values, texts, strict=True)], dtype=object)
