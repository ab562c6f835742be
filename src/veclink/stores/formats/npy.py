"""NumPy's own format, memory-mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veclink.data.collection import Collection


def read(path: Path) -> Collection:
    """The array in `path`; nothing of it is in memory until it is asked for."""
    return Collection.from_array(np.load(path, mmap_mode="r", allow_pickle=False), name=str(path))
