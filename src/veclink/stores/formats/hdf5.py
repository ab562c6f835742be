"""HDF5: `hdf5:///file.h5#group`: a dataset of vectors (n, d), perhaps one of ids, and others of n values as payload.

`?vector=train` names the dataset where there are several matrices.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.ids import as_ids
from veclink.errors import InputError, StoreError, named, needed
from veclink.files.atomic import written_whole
from veclink.stores.arrow import records_of, table_of_columns
from veclink.stores.fields import choose_id, choose_vector
from veclink.stores.filters import matching
from veclink.stores.formats.hdf5_heaps import endless_heap
from veclink.stores.formats.hdf5_links import check_dataset, member
from veclink.stores.formats.hdf5_writing import CheckedFile
from veclink.stores.protocol import BATCH, Batch, Store

NULLS = "veclink_nulls"
"""An attribute of a written dataset: the rows that have no value."""


class Hdf5Store(Store):
    """Datasets of one length in one group."""

    keeps_links = False
    needs = ("h5py", "HDF5", "veclink[hdf5]")

    @cached_property
    def _file(self) -> Any:
        with self.errors():
            file = self._package().File(self._path, "r")
            _, width = file.id.get_create_plist().get_sizes()
            place = endless_heap(self._path, width)
        if place is not None:
            file.close()
            raise StoreError(f"{self.name} is damaged in its texts, at byte {place:,}; restore it from a backup.")
        return file

    @cached_property
    def _group(self) -> Any:
        if not self.address.table:
            return self._file
        with self.errors():
            found = member(self._file, self.address.table, self.name)
        if found is None:
            names = named(list(self._file))
            raise InputError(f"{self._path} has no group {self.address.table!r}; it has {names}.")
        return found

    @cached_property
    def _datasets(self) -> dict[str, Any]:
        if hasattr(self._group, "shape"):  # the URL names the dataset itself
            check_dataset(self._group, self.name)
            return {"vectors": self._group}
        with self.errors():
            members = {name: member(self._group, name, self.name) for name in self._group}
            datasets = {name: each for name, each in members.items() if hasattr(each, "shape")}
        for each in datasets.values():
            check_dataset(each, self.name)
        return datasets

    @cached_property
    def _vector(self) -> str:
        matrices = [name for name, each in self._datasets.items() if each.ndim == 2 and each.dtype.kind in "fi"]
        return choose_vector(self.address.vector, list(self._datasets), matrices, self.name)

    @cached_property
    def _columns(self) -> list[str]:
        """The datasets with one value for each vector."""
        length = len(self._datasets[self._vector])
        return [name for name, each in self._datasets.items() if each.ndim == 1 and len(each) == length]

    @cached_property
    def _id(self) -> str | None:
        return choose_id(self.address.id, self._columns, self.name)

    @property
    def _others(self) -> list[str]:
        return [name for name in self._columns if name != self._id]

    def exists(self) -> bool:
        return self._path.is_file()

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

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        vectors = self._datasets[self._vector]
        conditions = self.address.where
        wanted = self._others if payload else [each.field for each in conditions if each.field in self._others]
        for start in range(int(after or 0), len(vectors), size):
            rows = slice(start, min(start + size, len(vectors)))
            with self.errors():
                block = vectors[rows].astype(self.dtype, copy=False)
                ids = as_ids(_values(self._datasets[self._id], rows), self.name) if self._id else None
                table = self._table(wanted, rows)
                if conditions:
                    kept = np.flatnonzero(matching(table, conditions, self.name))
                    block, ids = block[kept], None if ids is None else ids[kept]
                    table = None if table is None else table.take(kept)
                    if not len(kept):
                        continue
            yield Batch(block, ids, table if payload else None, rows.stop)

    def _table(self, names: list[str], rows: slice) -> Any:
        """Some rows of the payload as an Arrow table; None without a column."""
        return table_of_columns([_values(self._datasets[name], rows) for name in names], names)

    def in_place(self, *, payload: bool = True) -> Collection | None:
        """Mapped where the dataset is neither chunked nor compressed, as h5py writes by default."""
        vectors = self._datasets[self._vector]
        start = vectors.id.get_offset()
        plain = vectors.dtype.isnative and vectors.dtype == self.dtype and not self._file.userblock_size
        if start is None or vectors.chunks is not None or not plain or self.address.where or not len(vectors):
            return None
        rows = slice(0, len(vectors))
        table = self._table(self._others if payload else [], rows)
        mapped = np.memmap(self._path, vectors.dtype, "r", offset=start, shape=vectors.shape)
        ids = None if self._id is None else _values(self._datasets[self._id], rows)
        return Collection.from_array(mapped, ids, table, name=self.name)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        self.close()
        rows = 0
        missing: dict[str, list[int]] = {}
        with self._new_file() as (file, checked):
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

    @contextmanager
    def _new_file(self) -> Iterator[tuple[Any, CheckedFile]]:
        """A new HDF5 file that takes the place of the older one at the end, if all of it could be written."""
        with written_whole(self._path) as path, closing(CheckedFile(path)) as checked:
            with self._package().File(checked, "w") as file:
                yield file, checked
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


def _values(dataset: Any, rows: slice) -> Any:
    """The values of some rows, bytes as text; as an array of numbers or a list."""
    values = dataset[rows]
    missing = dataset.attrs.get(NULLS)
    if values.dtype.kind in "OS":
        values = [each.decode() if isinstance(each, bytes) else each for each in values.tolist()]
    elif missing is None:
        return values
    values = list(values.tolist() if hasattr(values, "tolist") else values)
    for row in missing if missing is not None else []:
        if rows.start <= row < rows.stop:
            values[row - rows.start] = None
    return values


def _block(column: Any) -> np.ndarray:
    """A column as HDF5 keeps it: numbers, true and false, or text; a missing value is a zero or empty there."""
    arrow: Any = needed("pyarrow", "HDF5")
    types, values = arrow.types, column.to_pylist()
    if types.is_boolean(column.type):
        return np.array([bool(value) for value in values])
    if types.is_integer(column.type) or types.is_floating(column.type):
        whole = types.is_integer(column.type)
        return np.array([value or 0 for value in values], dtype=np.int64 if whole else np.float64)
    block = np.empty(len(values), dtype=object)
    block[:] = [
        "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str) for value in values
    ]
    return block
