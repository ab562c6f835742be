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

from veclink.errors import InputError, plural
from veclink.files.atomic import unchanged
from veclink.files.memory import limited
from veclink.stores.files import ids_file, ids_in_the_way, read_ids, read_ids_beside, written_with_ids
from veclink.stores.protocol import BATCH, Batch, Store

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
        if self.address.where or self.address.vector:
            raise InputError(f"{self.name} has no payload and one vector per row; leave ?where= and ?vector= out.")
        with limited(SPARE + COPIES * self._path.stat().st_size, self.name), self.errors():
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
            raise InputError(
                f"{self.name} keeps its vectors in another file, {named}, which is not read; "
                "copy its lists into the index (an ArrayInvertedLists) and write that."
            )
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
        with self.errors():
            if np.array_equal(numbers, np.arange(len(numbers))):
                index.make_direct_map()
                return None
            index.set_direct_map_type(self._package().DirectMap.Hashtable)
        return numbers

    @cached_property
    def _names(self) -> np.ndarray | None:
        names = self._both[1]
        if names is None:
            return self._numbers
        if len(names) != self.count():
            raise InputError(
                f"{self.name} has {plural(self.count(), 'vector')} and {self.address.ids or ids_file(self._path)} "
                f"{plural(len(names), 'id')}; give one for each."
            )
        return names

    def in_the_way(self) -> str | None:
        return super().in_the_way() or ids_in_the_way(self._path)

    def count(self) -> int:
        return int(self._index.ntotal)

    def dimension(self) -> int:
        return int(self._index.d)

    def metadata(self) -> dict[str, Any]:
        metric = {0: "inner product", 1: "L2"}.get(self._index.metric_type, str(self._index.metric_type))
        return {"index": type(self._index).__name__, "metric": metric}

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Iterator[Batch]:
        index, names, numbers = self._index, self._names, self._numbers
        if hasattr(index, "id_map"):
            index, numbers = self._package().downcast_index(index.index), None
        for start in range(0, self.count(), size):
            rows = slice(start, min(start + size, self.count()))
            with self.errors():
                if numbers is None:
                    vectors = index.reconstruct_n(start, rows.stop - start)
                else:
                    vectors = index.reconstruct_batch(numbers[rows])
            yield Batch(np.asarray(vectors), None if names is None else names[rows])

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        faiss = self._package()
        text = first.ids is not None and first.ids.dtype == object
        index = faiss.IndexFlatIP(first.vectors.shape[1])
        if first.ids is not None and not text:
            index = faiss.IndexIDMap2(index)
        names: list[str] = []
        for batch in batches:
            vectors = np.ascontiguousarray(batch.vectors, np.float32)
            if batch.ids is None or text:
                names += [] if batch.ids is None else map(str, batch.ids.tolist())
                index.add(vectors)
            else:
                index.add_with_ids(vectors, batch.ids)
        with written_with_ids(self._path) as (path, keep):
            faiss.write_index(index, str(path))
            keep(names if text else None)
