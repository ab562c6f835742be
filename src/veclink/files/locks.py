"""Locks of files that other processes heed: one for a writer alone, shared ones for readers.

The package `filelock` cannot take their place: the lock files of Qdrant and Milvus need shared locks, which it does
not have. All locks are made here.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veclink.errors import OutputError


def locked(path: Path, *, shared: bool = False) -> int | None:
    """A descriptor that holds the lock on a file or folder until it is closed; None where it cannot be had now.

    No link is followed, which somebody else could have put in the file's place.
    """
    if sys.platform == "win32":  # a lock there keeps others from reading, too
        return None
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        if lock_open(descriptor, shared=shared):
            return descriptor
        os.close(descriptor)
    return None


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Keep other processes that would write `target` waiting until the block ends.

    What is locked is a file beside it, which goes when the block ends: the target itself may be replaced meanwhile.
    """
    folder = next(each for each in target.absolute().parents if each.is_dir())
    lock = folder / f".veclink-{hashlib.sha256(os.fsencode(os.path.realpath(target))).hexdigest()[:16]}.lock"
    held = None
    while held is None:
        try:
            held = _waited_for(lock)
        except FileNotFoundError:  # whoever held it took the file away
            continue
        except OSError as error:
            raise OutputError(
                f"Could not write {target}: {error.strerror or error}; make room there or choose another place."
            ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(held)


def _waited_for(lock: Path) -> int | None:
    """A descriptor that holds the lock on this file; None where another file has its name by then."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if sys.platform == "win32":
            while not lock_open(descriptor):
                time.sleep(0.05)
        else:
            import fcntl

            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
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
