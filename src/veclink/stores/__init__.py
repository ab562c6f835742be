"""Where vectors come from: one file per format, each with `read(path) -> Collection`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from veclink.errors import InputError, VeclinkError

if TYPE_CHECKING:
    from veclink.collection import Collection

# the ending of a file and the module here that reads it; imported when asked for, as each may need its own package
BY_ENDING = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".safetensors": "safetensors",
    ".jsonl": "jsonl",
}


def read(path: Path) -> Collection:
    """The collection in the file `path`, read by the module for its ending."""
    if path.suffix.lower() not in BY_ENDING:
        raise InputError(f"{path} is not a kind of file that is known; known are {known_endings()}.")
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist; check the name.")
        if not path.is_file():
            raise InputError(f"{path} is not a file; name one file of vectors.")
        reader: Callable[[Path], Collection] = import_module(f"{__name__}.{BY_ENDING[path.suffix.lower()]}").read
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
    return ", ".join(BY_ENDING)
