"""Scratch space in the user's cache folder, or where $VECLINK_SCRATCH says: private, and gone when it is closed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from typing import Any

from veclink.errors import OutputError, readable_size


def scratch_file(needs: int, what: str) -> Any:
    """A file without a name, open for reading and writing, that may grow to `needs` bytes."""
    return TemporaryFile(dir=scratch_home(needs, what))


@contextmanager
def scratch_folder(needs: int, what: str) -> Iterator[Path]:
    """A new folder that is removed at the end."""
    with TemporaryDirectory(prefix="veclink-", dir=scratch_home(needs, what), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def scratch_home(needs: int = 0, what: str = "") -> Path:
    """The folder for scratch space, if it has room for so many bytes; that of the system where there is no cache."""
    given = os.environ.get("VECLINK_SCRATCH")
    try:
        home = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veclink")
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(home, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows where home is
        if given:
            raise OutputError(
                f"{given} cannot be written to ({getattr(error, 'strerror', None) or error}); name another folder in "
                "VECLINK_SCRATCH."
            ) from error
        home = Path(gettempdir())
    free = shutil.disk_usage(home).free
    if needs > free:
        raise OutputError(
            f"The {what} need {readable_size(needs)} in {home} and there are {readable_size(free)}; "
            "make room, or name another folder in VECLINK_SCRATCH."
        )
    return home
