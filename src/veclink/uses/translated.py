"""Translated rows on disk: written a chunk at a time, so that a run that was killed goes on where it stopped.

The file lies in a scratch folder (see `files.scratch_folders`), named after all that decides its content, and readable
by its owner only. It is removed once the merged collection is written. What is short, damaged, or of other work is
made anew.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, OutputError, readable_size
from veclink.files.atomic import written_whole
from veclink.files.fingerprints import digest, file_digest, rows_digest
from veclink.files.memory_maps import forget_pages
from veclink.files.scratch_folders import (
    ScratchFolder,
    check_room,
    hold,
    left_behind,
    remove_unless_held,
)
from veclink.geometry.clouds import Cloud
from veclink.geometry.magnitudes import fitted
from veclink.progress import Progress, ProgressListener
from veclink.uses.translating import Translator

CHUNK = 16_384  # rows between two notes of how far it is
TRANSLATOR, VECTORS, STATE = "translator.safetensors", "vectors", "state.json"


class Workspace:
    """The folder of one merge: its translator, its translated rows, and how many of those are done."""

    def __init__(self, name: str) -> None:
        self._name = f"merge-{name}"
        self._held: ScratchFolder | None = None

    def translator(self) -> Translator | None:
        """The translator that an earlier run fitted and kept whole, if one did."""
        folder = left_behind(self._name)
        if folder is None:
            return None
        path = folder / TRANSLATOR
        try:
            if _read_note(folder / f"{TRANSLATOR}.json").get("file") != file_digest(path):
                return None
            return Translator.load(path)
        except (OSError, InputError):
            return None

    def keep(self, translator: Translator) -> None:
        """Keep a translator for a run that goes on here."""
        path = self._folder() / TRANSLATOR
        translator.save(path)
        _write_note(path.with_name(f"{TRANSLATOR}.json"), {"file": file_digest(path)})

    def translate(
        self, cloud: Cloud, rows: np.ndarray, translator: Translator, dtype: np.dtype, progress: ProgressListener | None
    ) -> np.ndarray:
        """The given rows of a cloud, translated, as a memory map; those that are done already are not done again."""
        shape = (len(rows), translator.dimensions[1])
        if not len(rows):
            return np.empty(shape, dtype)
        folder = self._folder()
        size = shape[0] * shape[1] * dtype.itemsize
        first = _seal_of(translator, shape, dtype)
        done, seal = _taken_up(folder, shape, dtype, first)
        if not done:
            check_room(folder, size, "translated rows")
        began, already = time.monotonic(), done
        try:
            out = np.memmap(folder / VECTORS, dtype, "r+" if done else "w+", shape=shape)
            while done < len(rows):
                stop = min(done + CHUNK, len(rows))
                out[done:stop] = fitted(translator.transform(cloud.take(rows[done:stop])), dtype)
                out.flush()  # before the note: what it counts is on disk
                seal = digest(seal, np.asarray(out[done:stop]))
                forget_pages(out)
                forget_pages(cloud.collection.vectors)
                _write_note(folder / STATE, {"rows": stop, "seal": seal})
                done = stop
                if progress is not None:
                    rate = (done - already) / max(time.monotonic() - began, 1e-9)
                    progress(Progress(done, len(rows), 0, None, "translating", rows_per_second=rate))
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(
                f"Translated rows could not be kept in {folder} ({reason}); set VECLINK_SCRATCH to a folder with "
                f"{readable_size(size)} of room and run it again."
            ) from error
        return out

    def remove(self) -> None:
        """Take the folder away."""
        if self._held is not None:
            self._held.remove()

    def discard(self) -> None:
        """Take away what an earlier run left, unless one is at it."""
        folder = left_behind(self._name)
        if folder is not None:
            remove_unless_held(folder)

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


def fingerprint(a: Collection, b: Collection, pairs: np.ndarray, weight: np.ndarray, options: dict[str, Any]) -> str:
    """A name for all that decides the translated rows; it reads all vectors once."""
    sides = [part for each in (a, b) for part in (rows_digest(each.vectors), each.scale)]
    return digest(options, pairs, weight, *sides, letters=24)


def _taken_up(folder: Path, shape: tuple[int, int], dtype: np.dtype, first: str) -> tuple[int, str]:
    """How many rows an earlier run left, and their seal; (0, first) where they are not whole or not of this work.

    The seal is a digest of the one before it and of the next chunk of rows, beginning with `first`, which says what is
    translated and how. It is made again from the rows that are there.
    """
    path, note = folder / VECTORS, _read_note(folder / STATE)
    done, kept = note.get("rows"), note.get("seal")
    size = shape[0] * shape[1] * dtype.itemsize
    if not isinstance(done, int) or not 0 < done <= shape[0] or not path.is_file() or path.stat().st_size != size:
        return 0, first
    seal = first
    left = np.memmap(path, dtype, "r", shape=shape)
    for start in range(0, done, CHUNK):
        seal = digest(seal, np.asarray(left[start : min(start + CHUNK, done)]))
        forget_pages(left)
    return (done, seal) if seal == kept else (0, first)


def _seal_of(translator: Translator, shape: tuple[int, int], dtype: np.dtype) -> str:
    """The seal before the first row: what is translated to, by which translator, as a file holds it."""
    numbers = (array.astype(np.float32, copy=False) for array in translator.map.arrays().values())
    return digest(shape, dtype.str, translator.describe(), *numbers)


def _read_note(path: Path) -> dict[str, Any]:
    """What a run noted there; empty where there is no note, or none that can be read."""
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _write_note(path: Path, note: dict[str, Any]) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(note), encoding="utf-8")
