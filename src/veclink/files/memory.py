"""How much memory a call may use, as people write it."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from veclink.errors import InputError, readable_size

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS[_letter] = _UNITS[f"{_letter}B"] = 1000**_power
    _UNITS[f"{_letter}IB"] = 1024**_power


LEAST = 1_000_000
"""Bytes below which linking would go row by row."""


def parse_memory(memory: int | float | str, *, least: int = 1) -> int:
    """Bytes meant by `memory`: a number of bytes, or text such as "500MB", "1.5 GB" or "2GiB"; at least `least`."""
    if isinstance(memory, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", memory)
        unit = _UNITS.get(parts[2].upper()) if parts else None
        if parts is None or unit is None:
            raise InputError(f'Memory {memory!r} is not a size; write it like "500MB", "4GB" or "2GiB".')
        size = int(float(parts[1]) * unit)
    else:
        size = int(memory)
    if size < least:
        raise InputError(f"Memory {memory!r} leaves nothing to work with; give at least {LEAST // 10**6}MB.")
    return size


def check_fits(path: Path, size: int, most: int | None = None) -> None:
    """Refuse a compressed file whose content needs more bytes than there is memory: a few megabytes can hold terabytes.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        The bytes of its content, as the file itself says.
    most : int, optional
        The bytes that may be taken; without it, those that can be had now.
    """
    most = most_memory() if most is None else most
    if size > most:
        sizes = f"{readable_size(size)} of memory, where {readable_size(most)} can be had"
        raise InputError(f"{path} would need {sizes}; write it uncompressed (.npy), or in parts.")


FLOOR = 500_000_000
"""Bytes that reading may always take: the libraries that read need some hundred megabytes by themselves."""


def reading_memory(memory: int | str | None, path: Path | None) -> int:
    """Bytes that may be taken in order to read a collection: what `memory` says on top of the input, or all there are.

    Parameters
    ----------
    memory : int or str, optional
        As `parse_memory` takes it.
    path : Path, optional
        The file or folder of the collection.
    """
    most = most_memory()
    if memory is None:
        return most
    return min(most, max(parse_memory(memory), FLOOR) + 2 * size_of(path))


def size_of(path: Path | None) -> int:
    """Bytes of a file, or of all files in a folder; 0 where there is none."""
    if path is None or not path.exists():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


@contextmanager
def limited(most: int, what: str) -> Iterator[None]:
    """Let this process take at most so many bytes more, and turn what goes beyond into a sentence.

    A damaged or harmful file can make a library ask for terabytes. Mapped files do not count. Where the system has no
    such limit (it is Linux's), only what a file says of itself is checked.

    Parameters
    ----------
    most : int
        Bytes beyond what the process has now.
    what : str
        What is read, for the sentence.
    """
    before = _lowered(most)
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"{what} needs more than {readable_size(most)} of memory to be read; give more (--memory), or check it."
        ) from error
    finally:
        if before is not None:
            import resource

            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_DATA, before)


def _lowered(most: int) -> tuple[int, int] | None:
    """Lower this process's limit of data, and give what it was; None where it stays as it is."""
    try:
        import resource

        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = held + most
        if before[0] != resource.RLIM_INFINITY and before[0] <= wanted:
            return None
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return before


def most_memory() -> int:
    """Bytes that a program can get now without pushing others out; where the system does not say, all there are."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(re.findall(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)[0]) * 1024
    except (OSError, IndexError, ValueError):
        return 16 * available()


def available() -> int:
    """Bytes of memory that are free now; where the system does not say, a modest guess."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4_000_000_000


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
