"""FAISS index files: `faiss:///index.faiss`, with the ids of an IDMap or IVF index, or of a file beside it.

Vectors are reconstructed: exactly from flat indexes, as far as the index kept them from others. An index has no
payload. Ids that are text are in `index.ids.txt` beside it, or in the file of `?ids=`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.errors import InputError, plural
from veclink.files.atomic import unchanged
from veclink.files.memory import limited
from veclink.stores.arrow import ID, VECTOR, batch_of, check_known, column_of, id_column, vectors_of
from veclink.stores.files import ids_file, ids_in_the_way, read_ids, read_ids_beside, write_with_ids
from veclink.stores.protocol import BATCH, Store

SPARE, COPIES = 64_000_000, 4
"""Bytes that reading an index may take: these, and so many times its own; a damaged one can name any number."""


class FaissStore(Store):
    """A FAISS index: `numbers` it knows its vectors by, and perhaps names for them."""

    keeps_payload = False
    keeps_links = False
    needs = ("faiss", "FAISS", "veclink[faiss]")

    @cached_property
    def _both(self) -> tuple[Any, np.ndarray | None]:
        """The index, and the ids of a file, if there are any."""
        given = self.address.ids
        with unchanged(self._path, ids_file(self._path)):
            return self._read(), read_ids(given) if given else read_ids_beside(self._path)

    @property
    def _index(self) -> Any:
        return self._both[0]

    def _read(self) -> Any:
        faiss = self._package()
        self._check_one_vector()
        check_known(self.address.where, (), self.name)
        with limited(SPARE + COPIES * self._path.stat().st_size, self.name):
            try:
                # mapped so, the lists of an index that keeps them in another file are not opened yet
                index = faiss.read_index(str(self._path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
            except RuntimeError:  # not every kind can be mapped: read it where there is no other file it could name
                with TemporaryDirectory(prefix="veclink-") as folder:
                    alone = Path(folder) / "index.faiss"
                    alone.symlink_to(self._path.absolute())
                    index = faiss.read_index(str(alone), faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR)
        inverted = faiss.try_extract_index_ivf(index)
        lists = None if inverted is None else faiss.downcast_InvertedLists(inverted.invlists)
        named = getattr(lists, "filename", "")
        if named not in ("", str(self._path)):  # it could be any file
            raise InputError(f"{self.name} keeps its vectors in another file, {named}; copy its lists into the index.")
        return index

    @cached_property
    def _numbers(self) -> np.ndarray | None:
        """The numbers that vectors were added with; None where they are the rows."""
        index = self._index
        if hasattr(index, "id_map"):
            return self._package().vector_to_array(index.id_map)
        lists = getattr(index, "invlists", None)
        if lists is None:
            return None
        sizes = [lists.list_size(i) for i in range(index.nlist)]
        parts = [np.array(self._package().rev_swig_ptr(lists.get_ids(i), size)) for i, size in enumerate(sizes) if size]
        numbers = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
        if np.array_equal(numbers, np.arange(len(numbers))):
            index.make_direct_map()
            return None
        index.set_direct_map_type(self._package().DirectMap.Hashtable)
        return numbers

    @cached_property
    def _keys(self) -> np.ndarray | None:
        names = self._both[1]
        if names is None:
            return self._numbers
        if len(names) != self.count():
            raise InputError(
                f"{self.name} has {plural(self.count(), 'vector')} and {plural(len(names), 'id')} beside it."
            )
        return names

    def in_the_way(self) -> str | None:
        return super().in_the_way() or ids_in_the_way(self._path)

    def _count(self) -> int:
        return int(self._index.ntotal)

    def _dimension(self) -> int:
        return int(self._index.d)

    def _metadata(self) -> dict[str, Any]:
        metric = {0: "inner product", 1: "L2"}.get(self._index.metric_type, str(self._index.metric_type))
        return {"index": type(self._index).__name__, "metric": metric}

    _vector = VECTOR

    @property
    def _id(self) -> str | None:
        return None if self._keys is None else ID

    def scan(self, size: int = BATCH, *, vectors: bool = True, payload: bool = True) -> Iterator[Any]:
        index, keys, numbers = self._index, self._keys, self._numbers
        if hasattr(index, "id_map"):
            index, numbers = self._package().downcast_index(index.index), None
        for start in range(0, self.count(), size):
            rows = slice(start, min(start + size, self.count()))
            if numbers is None:
                found = index.reconstruct_n(start, rows.stop - start)
            else:
                found = index.reconstruct_batch(numbers[rows])
            yield batch_of({VECTOR: column_of(found)} | ({} if keys is None else {ID: id_column(keys[rows])}))

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        faiss = self._package()
        kind = first.column(ID).type if ID in first.column_names else None
        index = faiss.IndexFlatIP(first.column(VECTOR).type.list_size)
        if kind == pa.int64():
            index = faiss.IndexIDMap2(index)
        names: list[str] = []
        for table in tables:
            vectors = np.ascontiguousarray(vectors_of(table), np.float32)
            if kind == pa.int64():
                index.add_with_ids(vectors, table.column(ID).to_numpy())
            else:
                names += [] if kind is None else table.column(ID).to_pylist()
                index.add(vectors)

        def write(path: Path) -> list[str] | None:
            faiss.write_index(index, str(path))
            return names if kind == pa.string() else None

        write_with_ids(self._path, write)
