"""open_collection(): the collection behind a file, a store, an array, or a collection as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink import stores
from veclink.data.collection import Collection
from veclink.data.ids import beside, read_ids
from veclink.progress import ProgressListener


def open_collection(
    source: str | Path | np.ndarray | Collection,
    *,
    ids: str | Path | Sequence[Any] | np.ndarray | None = None,
    payload: bool = True,
    progress: ProgressListener | None = None,
) -> Collection:
    """The collection behind `source`: a file by its ending, a store by its URL, an array, or a collection as it is.

    A store (see `stores`) is read once, read-only, into a memory-mapped scratch file; its payload only if `payload`.
    ids: the ids themselves, or a file of them (.txt with one a line, .csv with a column `id`, .npy); they replace the
    collection's own. Without it, a file `X.ids.txt` beside `X.npy` (or any other ending) is used where X has no ids.
    """
    path = None
    if isinstance(source, Collection):
        collection = source
    elif isinstance(source, (str, Path)):
        collection, path = stores.read(source, payload=payload, progress=progress)
    else:
        collection = Collection.from_array(source)
    if ids is None and path is not None and collection.ids is None:
        ids = beside(path)
    if ids is None:
        return collection
    named_so: Any = read_ids(ids) if isinstance(ids, (str, Path)) else ids
    return replace(collection, ids=named_so)
