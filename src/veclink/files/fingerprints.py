"""Fingerprints: names for work by what it works on, so that a run finds what an earlier one left, and no other's."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from veclink.files.memory_maps import forget_pages

SAMPLED = 256  # rows of each collection that a fingerprint reads


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
        described = _content(part)
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


def _content(part: Any) -> bytes:
    if isinstance(part, np.ndarray):
        head = f"{part.shape} {part.dtype.str} "
        return head.encode() + np.ascontiguousarray(part).tobytes()
    return json.dumps(part, sort_keys=True, default=repr).encode()
