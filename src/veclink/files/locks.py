"""Locks of files that other processes heed: one for a writer alone, shared ones for readers."""

from __future__ import annotations

import os
from pathlib import Path


def locked(path: Path, *, shared: bool = False) -> int | None:
    """A descriptor that holds the lock on `path` until it is closed; None where others hold it, or none can be had.

    A lock alone makes the file where it is not there; a shared one, which is for reading, needs it to be there.
    A lock alone follows no link, which somebody else could have put in the file's place.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return None
    alone = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY if shared else alone, 0o600)
    except OSError:
        if shared:
            return None
        raise
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
