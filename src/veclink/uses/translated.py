"""Translated rows on disk: written a chunk at a time, so that a run that was killed goes on where it stopped.

The file lies in a scratch folder (see `files.scratch_folders`), named after all that decides its content, and readable
by its owner only. It is removed once the merged collection is written.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import OutputError
from veclink.files.atomic import written_whole
from veclink.files.fingerprints import digest, rows_to_compare
from veclink.files.memory_maps import forget_pages
from veclink.files.scratch_folders import ScratchFolder, check_room, hold, left_behind
from veclink.geometry.clouds import Cloud
from veclink.geometry.magnitudes import fitted
from veclink.progress import Progress, ProgressListener
from veclink.uses.translating import Translator

CHUNK = 16_384  # rows between two notes of how far it is


class Workspace:
    """The folder of one merge: its translator, its translated rows, and how many of those are done."""

    def __init__(self, name: str) -> None:
        self._name = f"merge-{name}"
        self._held: ScratchFolder | None = None

    def translator(self) -> Translator | None:
        """The translator that an earlier run fitted, if one did."""
        folder = left_behind(self._name)
        if folder is None:
            return None
        path = folder / "translator.safetensors"
        return Translator.load(path) if path.is_file() else None

    def keep(self, translator: Translator) -> None:
        """Keep a translator for a run that goes on here."""
        translator.save(self._folder() / "translator.safetensors")

    def rows_done(self) -> int:
        """How many rows are translated already."""
        folder = left_behind(self._name) if self._held is None else self._held.path
        if folder is None or not (folder / "vectors").is_file():
            return 0
        state = folder / "state.json"
        return int(json.loads(state.read_text())["rows"]) if state.is_file() else 0

    def translate(
        self, cloud: Cloud, rows: np.ndarray, translator: Translator, dtype: np.dtype, progress: ProgressListener | None
    ) -> np.ndarray:
        """The given rows of a cloud, translated, as a memory map; those that are done already are not done again."""
        shape = (len(rows), translator.dimensions[1])
        if not len(rows):
            return np.empty(shape, dtype)
        folder = self._folder()
        done = self.rows_done()
        if not done:
            check_room(folder, shape[0] * shape[1] * dtype.itemsize, "translated rows")
        began, already = time.monotonic(), done
        try:
            out = np.memmap(folder / "vectors", dtype, "r+" if done else "w+", shape=shape)
            while done < len(rows):
                stop = min(done + CHUNK, len(rows))
                out[done:stop] = fitted(translator.transform(cloud.take(rows[done:stop])), dtype)
                out.flush()  # before the note: what it counts is on disk
                forget_pages(out)
                forget_pages(cloud.collection.vectors)
                with written_whole(folder / "state.json") as note:
                    note.write_text(json.dumps({"rows": stop}))
                done = stop
                if progress is not None:
                    rate = (done - already) / max(time.monotonic() - began, 1e-9)
                    progress(Progress(done, len(rows), 0, None, "translating", rows_per_second=rate))
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(
                f"Translated rows could not be kept in {folder} ({reason}); set VECLINK_SCRATCH to a folder with "
                f"{shape[0] * shape[1] * dtype.itemsize / 1e9:,.1f} GB of room and run it again."
            ) from error
        return out

    def remove(self) -> None:
        """Take the folder away."""
        if self._held is not None:
            self._held.remove()

    def release(self) -> None:
        """Let another run use the folder."""
        if self._held is not None:
            self._held.release()
        self._held = None

    def _folder(self) -> Path:
        """The folder, held from its first use on: two runs of the same merge would write over each other's rows."""
        if self._held is None:
            self._held = hold(self._name)
        return self._held.path


def fingerprint(
    a: Collection, b: Collection, pairs: np.ndarray, weight: np.ndarray, options: dict[str, Any]
) -> str:
    """A name for all that decides the translated rows; of the vectors, it reads some hundred rows."""
    sides = [*rows_to_compare(a.vectors), *rows_to_compare(b.vectors)]
    return digest(options, pairs, weight, *sides, letters=24)
