"""Opening what a URL or a path names: as a store, or as a whole collection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.ids import read_ids, read_ids_beside
from veclink.errors import InputError, StoreError, VeclinkError
from veclink.files.memory import limited, reading_memory
from veclink.progress import ProgressListener
from veclink.stores.files import read_file
from veclink.stores.frames import collection_of, is_frame
from veclink.stores.kinds import CLASSES, FILE_ENDINGS, STORE_ENDINGS
from veclink.stores.payloads import tell_of_ids, with_payload
from veclink.stores.protocol import Store
from veclink.stores.scratch import read_store
from veclink.stores.urls import Address, is_url, of_path, parse_url


def open_collection(
    source: Any,
    *,
    ids: str | Path | Sequence[Any] | np.ndarray | None = None,
    payload: Any = True,
    memory: int | str | None = None,
    progress: ProgressListener | None = None,
) -> Collection:
    """The collection behind `source`: a file by its ending, a store by its URL, an array, a frame, or one as it is.

    Parameters
    ----------
    source : path, URL, (n, d) array, list of vectors, frame or Collection
        A store is read once, read-only, into a memory-mapped scratch file. A frame is one of pandas or polars, an Arrow
        table, or a column of fixed-size lists (`stores.frames`).
    ids : path or (n,) ids, optional
        The ids themselves, or a file of them (.txt with one a line, .csv with a column `id`, .npy); they replace the
        collection's own. Without it, a file `X.ids.txt` beside `X.npy` (or any other ending) is used where X has none.
    payload : bool, path, frame, mapping or (n,) titles
        Whether a store's payload is read, too; or what to take instead of the collection's own: a CSV, Parquet or JSONL
        file, a frame, columns by their names, or a list of titles. A column `id` finds each object's line where there
        are ids; else line i is row i, and the lines must be in the order of the vectors.
    memory : int or str, optional
        What reading may take on top of the size of the input, such as "500MB"; what would unpack to more is refused.
        Without it, what the machine has.
    progress : callable, optional
        Hears how far the reading is.
    """
    path = None
    if isinstance(source, Collection):
        collection = source
    elif isinstance(source, (str, Path)):
        collection, path = read(source, payload=payload is True, memory=memory, progress=progress)
    elif is_frame(source):
        collection = collection_of(source)
    else:
        collection = Collection.from_array(source)
    if ids is None and path is not None and collection.ids is None:
        ids = read_ids_beside(path)
    if ids is not None:
        given: Any = read_ids(ids) if isinstance(ids, (str, Path)) else ids
        collection = replace(collection, ids=given)
    if not isinstance(payload, bool):
        collection = with_payload(collection, payload)
    elif isinstance(source, Collection):  # whoever opened it was told
        return collection
    tell_of_ids(collection)
    return collection


def open_store(source: str | Path, *, write: bool = False) -> Store:
    """The store behind a URL or a path, opened read-only unless `write`; it need not be there in order to write it.

    Reading one that is not there is an InputError; one that cannot be reached is a StoreError.
    """
    address = address_of(source)
    try:
        store = _class_of(address)(address, writable=write)
    except (VeclinkError, OSError, MemoryError):
        raise
    except Exception as error:  # what a damaged store is described by can be anything
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise StoreError(f"{address.shown} could not be opened ({reason}); check it, or restore it.") from error
    if write:
        return store
    try:
        with store.errors():
            there, begun = store.exists(), store.half_written()
        if begun:
            raise InputError(f"{store.name} was left half-written by a run that was stopped; write it again.")
        if not there:
            raise InputError(f"{store.name} does not exist; check the name.")
    except BaseException:
        store.close()
        raise
    return store


def _class_of(address: Address) -> type[Store]:
    module, _, name = CLASSES[address.kind].rpartition(".")
    kind: type[Store] = getattr(import_module(f"veclink.stores.{module}"), name)
    return kind


def open_target(source: str | Path, *, write: bool) -> Store:
    """The store that a result goes to; in a dry run, without `write`, looking at it makes nothing."""
    if write:
        return open_store(source, write=True)
    address = address_of(source)
    return _class_of(address)(address)


def check_free(target: str | Path) -> None:
    """Refuse a target where something is already, before the long work that would fill it."""
    with open_target(target, write=False) as store:
        store.check_free()


def read(
    source: str | Path,
    *,
    payload: bool = True,
    memory: int | str | None = None,
    progress: ProgressListener | None = None,
) -> tuple[Collection, Path | None]:
    """The collection behind a URL or a path, and the file it is in, if it is one; arguments as in `open_collection`."""
    address = address_of(source)
    most = reading_memory(memory, address.path)
    if address.kind == "files":
        with limited(most, address.shown):
            return read_file(address, most), address.path
    with limited(most, address.shown), open_store(source) as store:
        with store.errors():
            mapped = store.in_place(payload=payload)
        if mapped is None:
            mapped = read_store(store, payload=payload, progress=progress)
        return mapped, None


def address_of(source: str | Path) -> Address:
    """The address of a URL, of a file by its ending, or of a folder by what is in it."""
    if isinstance(source, str) and is_url(source):
        return parse_url(source)
    if not str(source).strip():
        raise InputError("The name of a collection is empty; give a file, or the URL of a store.")
    path = Path(source)
    before, mark, options = str(source).partition("?")
    try:
        if mark and Path(before).is_file() and not path.exists():  # a file with the options of a URL: t.parquet?id=sku
            return parse_url(f"{Path(before).absolute().as_uri()}?{options}")
        return _address_of_path(path)
    except OSError as error:  # a name that is too long
        raise InputError(f"{str(source)[:60]}… cannot be opened ({error.strerror}); check the name.") from error


def _address_of_path(path: Path) -> Address:
    ending = path.suffix.lower()
    if ending in STORE_ENDINGS:
        return of_path(path, STORE_ENDINGS[ending])
    if ending not in FILE_ENDINGS and path.is_dir():
        if any(not each.name.startswith(".") for each in path.glob("*.parquet")):
            return of_path(path, "parquet_folder")
        raise InputError(f"{path} is a folder, and no collection; name a file in it.")
    with suppress(PermissionError):  # which is told when it is read
        path.exists()
    return of_path(path, "files")
