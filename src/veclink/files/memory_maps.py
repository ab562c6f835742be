"""Pages of memory-mapped files: what was read once, and will not be soon again, need not count as used memory."""

from __future__ import annotations

import mmap

import numpy as np


def forget_pages(array: np.ndarray) -> None:
    """Unmap the pages of a memory-mapped array; nothing is lost, for they are read again from the file when needed.

    Does nothing for an array that is not a memory map, or where the system has no such call.
    """
    base: object = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    mapped = getattr(base, "_mmap", None)
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
