"""Locks of files that other processes heed: one for a writer alone, shared ones for readers.

The package `filelock` cannot take their place: the lock files of Qdrant and Milvus need shared locks, which it does
not have, and scratch folders ask whether the locked file is still the one of that name. All locks are made here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def locked(path: Path, *, shared: bool = False) -> int | None:
    """A descriptor that holds the lock on `path` until it is closed; None where others hold it, or none can be had.

    A lock alone makes the file where it is not there; a shared one, which is for reading, needs it to be there.
    A lock alone follows no link, which somebody else could have put in the file's place.
    """
    if sys.platform == "win32":  # a lock there keeps others from reading, too
        return None
    alone = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY if shared else alone, 0o600)
    except OSError:
        if shared:
            return None
        raise
    if lock_open(descriptor, shared=shared):
        return descriptor
    os.close(descriptor)
    return None


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder, which is waited for; nothing is held where it is not there, or has no locks.

    A folder may be replaced as a whole while it is waited for: then the new one is locked.
    """
    held = None
    while held is None and sys.platform != "win32" and folder.is_dir():
        with suppress(FileNotFoundError):  # replaced in two steps, and this is between them
            held = _waited_for(folder)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _waited_for(folder: Path) -> int | None:
    """A descriptor with the lock on the folder of this name; None where another folder has the name by now."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        is_same = os.path.samestat(os.fstat(descriptor), os.stat(folder))
    except BaseException:
        os.close(descriptor)
        raise
    if is_same:
        return descriptor
    os.close(descriptor)
    return None


def lock_open(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until its descriptor is closed; False where another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
