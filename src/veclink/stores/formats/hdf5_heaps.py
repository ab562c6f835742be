"""Damaged heaps of text in an HDF5 file: found before the library reads them, which it would do for ever.

Texts lie in collections of objects, one behind the other. The library steps from each object to the next by the size
that the file gives, and never ends where that is none, or one that leads back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BEGIN = b"GCOL\x01\0\0\0"
"""What a collection begins with: its signature, its version, and nothing."""
SMALLEST = 4096
"""Bytes of the smallest collection; what is shorter is none, and the library refuses it."""
BLOCK = 4 << 20


def endless_heap(path: Path, width: int) -> int | None:
    """The byte at which a collection begins that the library would read for ever; None without one.

    Parameters
    ----------
    path : Path
        The HDF5 file.
    width : int
        Bytes of a size in it, as its superblock says.
    """
    with path.open("rb") as file:
        return next((place for place in _collections(file) if _is_endless(file, place, width)), None)


def _collections(file: BinaryIO) -> Iterator[int]:
    """The places of what could be a collection."""
    start, more = 0, len(BEGIN) - 1
    while len(block := _read(file, start, BLOCK + more)) > more:
        found = block.find(BEGIN)
        while found >= 0:
            yield start + found
            found = block.find(BEGIN, found + 1)
        start += BLOCK


def _is_endless(file: BinaryIO, place: int, width: int) -> bool:
    """Whether a step from an object of the collection leads nowhere, or back."""
    header = _aligned(8 + width)
    size = int.from_bytes(_read(file, place + 8, width), "little")
    if size < SMALLEST or size > file.seek(0, 2) - place:
        return False
    content = _read(file, place, size)
    at = header
    while at + header <= size:
        number = int.from_bytes(content[at : at + 2], "little")
        held = int.from_bytes(content[at + 8 : at + 8 + width], "little")
        step = (header + _aligned(held) if number else held) % 2**64  # as the library counts
        if step == 0 or step >= 2**63:
            return True
        at += step
    return False


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _read(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)
