"""The file that HDF5 writes to: what goes wrong is kept and told afterwards, never to the HDF5 library.

A write that fails inside the library leaves it with pages that it cannot write and cannot forget: closing such a file
fails again, and the end of the process may be a segmentation fault. So the library is told that all went well, and
whoever writes asks after each batch whether it did.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class CheckedFile(io.RawIOBase):
    """A new file for reading and writing, as h5py takes it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb+", buffering=0)
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the first thing that went wrong, if anything did."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Close the file; what had to be on disk is told by `check`."""
        with self._noting():
            self._file.close()
        super().close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """Read what is there; beyond the end, as after a write that failed, there are zeros."""
        wanted = memoryview(buffer).cast("B")
        wanted[:] = bytes(len(wanted))
        with self._noting():
            self._file.readinto(wanted)
        return len(wanted)

    def write(self, data: Any) -> int:
        """Write all of it, unless something went wrong before."""
        left = memoryview(data).cast("B")
        size = len(left)
        with self._noting():
            while len(left) and self._error is None:
                left = left[self._file.write(left) :]
        return size

    def truncate(self, size: int | None = None) -> int:
        with self._noting():
            self._file.truncate(size)
        return self.tell() if size is None else size

    def flush(self) -> None:
        """Nothing is held back here."""

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = self._error or error
