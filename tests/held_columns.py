"""Collections of which only the payload matters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection


def holding(n: int | None = None, **columns: list) -> Collection:
    """A collection with this payload, or n rows without one; the vectors do not matter."""
    rows = n if n is not None else len(next(iter(columns.values())))
    payload = pa.table(columns) if columns else None
    return Collection(np.ones((rows, 2), np.float32), payload=payload)


def numbered(n: int, word: str = "title") -> list[str]:
    """So many titles."""
    return [f"{word} {i}" for i in range(n)]
