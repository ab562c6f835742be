"""Where vectors come from and go to: one file per store or format, all behind `protocol.Store`.

`open_store(url)` gives any of them; `read(source)` gives the whole collection, memory-mapped where it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from veclink.errors import InputError, VeclinkError
from veclink.files.folders import restore
from veclink.stores.urls import Address, is_url, of_path, parse_url

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.progress import ProgressListener
    from veclink.stores.protocol import Store

# the ending of a file and the module here that reads it; imported when asked for, as each may need its own package
BY_ENDING = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".safetensors": "safetensors",
    ".jsonl": "jsonl",
}
# the room that a store's module stands in
PLACES = {
    **{kind: f"formats.{kind}" for kind in ("faiss", "hdf5", "parquet_folder", "vdf")},
    **{kind: f"engines.{kind}" for kind in ("chroma", "duckdb", "lance", "milvus", "postgres", "qdrant", "sqlite")},
}
# endings of what is opened as a store without a scheme
STORE_ENDINGS = {".lance": "lance", ".faiss": "faiss", ".duckdb": "duckdb", ".h5": "hdf5", ".hdf5": "hdf5"}


def open_store(source: str | Path, *, write: bool = False) -> Store:
    """The store behind a URL or a path, opened read-only unless `write`; it need not be there in order to write it.

    Reading one that is not there is an InputError; one that cannot be reached is a StoreError.
    """
    address = address_of(source)
    module = import_module(f"{__name__}.{PLACES.get(address.kind, address.kind)}")
    store: Store = module.open_address(address, writable=write)
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


def read(
    source: str | Path, *, payload: bool = True, progress: ProgressListener | None = None
) -> tuple[Collection, Path | None]:
    """The collection behind a URL or a path, and the file it is in, if it is one."""
    address = address_of(source)
    if address.kind == "files":
        assert address.path is not None
        if not address.where and address.vector is None and address.id is None:
            return read_file(address.path), address.path
        from veclink.stores.files import read_with_options

        return read_with_options(address), address.path
    from veclink.stores.scratch import read_store

    with open_store(source) as store:
        with store.errors():
            mapped = store.in_place(payload=payload)
        return (read_store(store, payload=payload, progress=progress) if mapped is None else mapped), None


def address_of(source: str | Path) -> Address:
    """The address of a URL, of a file by its ending, or of a folder by what is in it."""
    if isinstance(source, str) and is_url(source):
        return parse_url(source)
    path = Path(source)
    ending = path.suffix.lower()
    if ending in STORE_ENDINGS:
        return of_path(path, STORE_ENDINGS[ending])
    if ending not in BY_ENDING:
        restore(path)
    if ending not in BY_ENDING and path.is_dir():
        if (path / "VDF_META.json").is_file():
            return of_path(path, "vdf")
        if any(not each.name.startswith(".") for each in path.glob("*.parquet")):
            return of_path(path, "parquet_folder")
    return of_path(path, "files")


def read_file(path: Path) -> Collection:
    """The collection in the file `path`, read by the module for its ending."""
    if path.suffix.lower() not in BY_ENDING:
        raise InputError(f"{path} is not a kind of file that is known; known are {known_endings()}.")
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist; check the name.")
        if not path.is_file():
            raise InputError(f"{path} is not a file; name one file of vectors.")
        module = import_module(f"{__name__}.formats.{BY_ENDING[path.suffix.lower()]}")
        reader: Callable[[Path], Collection] = module.read
        return reader(path)
    except VeclinkError:
        raise
    # each format's parser has errors of its own; all of them mean that the file is not what its ending says
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"{path} cannot be read as {path.suffix.lower()} ({reason}); check or write it again."
        ) from error


def known_endings() -> str:
    """'.npy, .npz, …', for sentences."""
    return ", ".join((*BY_ENDING, *STORE_ENDINGS))
