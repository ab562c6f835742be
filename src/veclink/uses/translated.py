"""Translated rows on disk: written a chunk at a time, so that a run that was killed goes on where it stopped.

The file lies in a folder of its own among the temporary files (or in $VECLINK_SCRATCH), named after all that decides
its content, and readable by its owner only. It is removed once the merged collection is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import OutputError
from veclink.files.atomic import written_whole
from veclink.files.memory_maps import forget_pages
from veclink.geometry.clouds import Cloud
from veclink.geometry.magnitudes import fitted
from veclink.progress import Progress, ProgressListener
from veclink.uses.translating import Translator

CHUNK = 16_384  # rows between two notes of how far it is
LOOKED_AT = 256  # rows of a collection that its fingerprint reads


class Workspace:
    """The folder of one merge: its translator, its translated rows, and how many of those are done."""

    def __init__(self, fingerprint: str) -> None:
        base = Path(os.environ.get("VECLINK_SCRATCH") or tempfile.gettempdir())
        self.folder = base / f"veclink-merge-{fingerprint}"
        self._vectors, self._state = self.folder / "vectors", self.folder / "state.json"
        self._translator = self.folder / "translator.safetensors"

    def translator(self) -> Translator | None:
        """The translator that an earlier run fitted, if one did."""
        return Translator.load(self._translator) if self._translator.is_file() else None

    def keep(self, translator: Translator) -> None:
        """Keep a translator for a run that goes on here."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        translator.save(self._translator)

    def rows_done(self) -> int:
        """How many rows are translated already."""
        return int(json.loads(self._state.read_text())["rows"]) if self._state.is_file() else 0

    def translate(
        self, cloud: Cloud, rows: np.ndarray, translator: Translator, dtype: np.dtype, progress: ProgressListener | None
    ) -> np.ndarray:
        """The given rows of a cloud, translated, as a memory map; those that are done already are not done again."""
        shape = (len(rows), translator.dimensions[1])
        if not len(rows):
            return np.empty(shape, dtype)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        done = self.rows_done() if self._vectors.is_file() else 0
        self._check_room(shape[0] * shape[1] * dtype.itemsize, done)
        began, already = time.monotonic(), done
        try:
            out = np.memmap(self._vectors, dtype, "r+" if done else "w+", shape=shape)
            while done < len(rows):
                stop = min(done + CHUNK, len(rows))
                out[done:stop] = fitted(translator.transform(cloud.take(rows[done:stop])), dtype)
                out.flush()  # before the note: what it counts is on disk
                forget_pages(out)
                forget_pages(cloud.collection.vectors)
                with written_whole(self._state) as note:
                    note.write_text(json.dumps({"rows": stop}))
                done = stop
                if progress is not None:
                    rate = (done - already) / max(time.monotonic() - began, 1e-9)
                    progress(Progress(done, len(rows), 0, None, "translating", rows_per_second=rate))
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(
                f"Translated rows could not be kept in {self.folder} ({reason}); set VECLINK_SCRATCH to a folder with "
                f"{shape[0] * shape[1] * dtype.itemsize / 1e9:,.1f} GB of room and run it again."
            ) from error
        return out

    def remove(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check_room(self, wanted: int, done: int) -> None:
        if not done and shutil.disk_usage(self.folder).free < wanted:
            raise OutputError(
                f"{self.folder.parent} has less than the {wanted / 1e9:,.1f} GB that translated rows need; set "
                "VECLINK_SCRATCH to a folder with more room."
            )


def fingerprint(a: Collection, b: Collection, pairs: np.ndarray, weight: np.ndarray, options: dict[str, Any]) -> str:
    """A name for all that decides the translated rows; of the vectors, it reads some hundred rows."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for part in (pairs, weight):
        digest.update(np.ascontiguousarray(part).tobytes())
    for side in (a, b):
        digest.update(f"{side.vectors.shape} {side.vectors.dtype}".encode())
        some = np.unique(np.linspace(0, len(side) - 1, LOOKED_AT).astype(np.int64)) if len(side) else np.empty(0, int)
        for row in some:
            digest.update(np.ascontiguousarray(side.vectors[row]).tobytes())
            forget_pages(side.vectors)  # one row may bring a megabyte around it into memory
    return digest.hexdigest()[:24]
