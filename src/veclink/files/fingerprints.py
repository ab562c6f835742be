"""Fingerprints: names for work by what it works on, so that a run finds what an earlier one left, and no other's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from veclink.files.memory import forget_pages

SAMPLED = 256  # rows of each collection that a fingerprint reads
READ_WHOLE = 64 << 20  # bytes of a file, at most, that are all read for its fingerprint
ROWS_BYTES = 8 << 20  # of vectors that are read at a time
BLOCKS, BLOCK = 256, 64 << 10  # how many blocks of a larger file are read, and their bytes


def digest(*parts: Any, letters: int = 16) -> str:
    """Hexadecimal letters that differ where one of the parts does.

    Parameters
    ----------
    *parts : Any
        Arrays count by their shape, type and numbers; everything else by its JSON, or by its `repr` where JSON has
        no word for it.
    letters : int
        How many letters, 64 at most.
    """
    made = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            described = f"{part.shape} {part.dtype.str} ".encode() + np.ascontiguousarray(part).tobytes()
        else:
            described = json.dumps(part, sort_keys=True, default=repr).encode()
        made.update(len(described).to_bytes(8, "little"))
        made.update(described)
    return made.hexdigest()[:letters]


def rows_to_compare(vectors: np.ndarray) -> list[Any]:
    """The shape, the type and some hundred evenly spread rows of (n, d) vectors, as parts of a fingerprint."""
    places = np.unique(np.linspace(0, len(vectors) - 1, min(len(vectors), SAMPLED)).astype(np.int64))
    parts: list[Any] = [list(vectors.shape), vectors.dtype.str]
    for place in places:
        parts.append(np.array(vectors[place]))
        forget_pages(vectors)  # one row may bring a megabyte around it into memory
    return parts


def rows_digest(vectors: np.ndarray, *, letters: int = 16) -> str:
    """Hexadecimal letters that differ where any of the (n, d) numbers does; reads all of them, a few at a time."""
    made = hashlib.sha256(f"{vectors.shape} {vectors.dtype.str}".encode())
    width = max(1, vectors[:1].nbytes)
    step = max(1, ROWS_BYTES // width)
    for start in range(0, len(vectors), step):
        made.update(np.ascontiguousarray(vectors[start : start + step]).data)
        forget_pages(vectors)
    return made.hexdigest()[:letters]


def file_digest(path: Path, *, letters: int = 16) -> str:
    """Hexadecimal letters that differ where the size or the content of a file does.

    All of a file of up to `READ_WHOLE` bytes counts, and `BLOCKS` evenly spread blocks of a larger one, its first and
    last among them: a collection larger than memory is not read once more for its fingerprint.
    """
    size = path.stat().st_size
    made = hashlib.sha256(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        if size <= READ_WHOLE:
            while block := file.read(BLOCK):
                made.update(block)
        else:
            for start in np.linspace(0, size - BLOCK, BLOCKS).astype(np.int64).tolist():
                file.seek(start)
                made.update(file.read(BLOCK))
    return made.hexdigest()[:letters]
