"""Translated rows on disk, a chunk at a time, in scratch space that goes with its last use."""

from __future__ import annotations

import time

import numpy as np

from veclink.errors import OutputError, readable_size
from veclink.files.memory_maps import forget_pages
from veclink.files.scratch import scratch_file
from veclink.geometry.clouds import Cloud
from veclink.geometry.magnitudes import fitted
from veclink.progress import Progress, ProgressListener
from veclink.uses.translating import Translator

CHUNK = 16_384  # rows at a time


def translated_on_disk(
    cloud: Cloud, rows: np.ndarray, translator: Translator, dtype: np.dtype, progress: ProgressListener | None
) -> np.ndarray:
    """The given rows of a cloud, translated, as a memory map."""
    shape = (len(rows), translator.dimensions[1])
    if not len(rows):
        return np.empty(shape, dtype)
    size = shape[0] * shape[1] * dtype.itemsize
    began = time.monotonic()
    with scratch_file(size, "translated rows") as file:
        try:
            out = np.memmap(file, dtype, "w+", shape=shape)
            for start in range(0, len(rows), CHUNK):
                stop = min(start + CHUNK, len(rows))
                out[start:stop] = fitted(translator.transform(cloud.take(rows[start:stop])), dtype)
                forget_pages(out)
                forget_pages(cloud.collection.vectors)
                if progress is not None:
                    rate = stop / max(time.monotonic() - began, 1e-9)
                    progress(Progress(stop, len(rows), 0, None, "translating", rows_per_second=rate))
        except OSError as error:
            raise OutputError(
                f"Translated rows could not be kept ({error.strerror or error}); set VECLINK_SCRATCH to a folder with "
                f"{readable_size(size)} of room and run it again."
            ) from error
    return out
