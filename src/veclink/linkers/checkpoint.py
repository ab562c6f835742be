"""Checkpoints: what a long run has found so far, kept in a folder, so that a killed run goes on where it was.

Each stage that costs time is one file, written whole or not at all, with the state of the random generator after it:
a run that goes on draws the same numbers as one that was never stopped, and gives the same links to the last bit. The
files are named by a fingerprint of the inputs, the options and the version, so that a run finds its own and no other.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink import __version__
from veclink.data.collection import digest
from veclink.data.collection import fingerprint as vectors_fingerprint
from veclink.errors import InputError
from veclink.files.atomic import written_whole
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink.progress import Progress, ProgressListener

SAVE_EVERY = 60.0  # seconds between two saves of an unfinished pass over all rows
UNFINISHED = "pass"  # the stage that an unfinished pass is kept as

State = dict[str, np.ndarray]
"""Arrays by name, as they are kept."""
Packed = tuple[State, Any]
"""Arrays, and plain values beside them."""


class Checkpoint:
    """The stages of one run, kept in a folder until `clear`."""

    def __init__(self, folder: str | Path, name: str) -> None:
        self.folder = Path(folder)
        self.name = name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"The checkpoint folder {folder} cannot be made ({reason}); choose another.") from error
        if not os.access(self.folder, os.W_OK):
            raise InputError(f"The checkpoint folder {folder} cannot be written: permission denied; choose another.")

    def save(self, stage: str, rng: np.random.Generator, arrays: State, plain: Any = None) -> None:
        """Keep a stage: arrays, plain values, and the state of the generator after it."""
        said = json.dumps({"rng": rng.bit_generator.state, "plain": plain})
        header = json.dumps({"said": said, "seal": _seal(said, arrays)})
        held: dict[str, Any] = {"_header": np.array(header), **arrays}
        with written_whole(self._path(stage)) as path:
            np.savez(path, **held)
        if stage != UNFINISHED:  # the stage that an unfinished pass was part of is done
            with suppress(OSError):
                self._path(UNFINISHED).unlink()

    def load(self, stage: str, rng: np.random.Generator) -> Packed | None:
        """What was kept of a stage, the generator set to its state after it; None where there is nothing of use."""
        try:
            with np.load(self._path(stage), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(str(arrays.pop("_header")))
            if header["seal"] != _seal(header["said"], arrays):
                return None
            said = json.loads(header["said"])
            rng.bit_generator.state = said["rng"]
        except Exception:  # numpy, zipfile and json complain of a damaged file in many ways
            return None  # not there, or changed since: the stage is done again
        return arrays, said["plain"]

    def clear(self) -> None:
        """Remove the files of this run; those of other runs stay."""
        for path in self.folder.glob(f"veclink-{self.name}-*"):
            with suppress(OSError):
                path.unlink()

    def _path(self, stage: str) -> Path:
        return self.folder / f"veclink-{self.name}-{stage}.npz"


class UnfinishedPass:
    """The lists of an unfinished pass over all rows, saved now and then."""

    def __init__(self, checkpoint: Checkpoint, told: Callable[[int, int], None] | None = None) -> None:
        self._checkpoint = checkpoint
        self._told = told
        self._rng = np.random.default_rng(0)  # a pass draws nothing
        self._due = time.monotonic() + SAVE_EVERY

    def load(self) -> State | None:
        """The lists saved last."""
        held = self._checkpoint.load(UNFINISHED, self._rng)
        return None if held is None else held[0]

    def keep(self, done: int, of: int, lists: Callable[[], State]) -> None:
        """Hear that so many of the rows are done, and save the lists if it is time to."""
        began = time.monotonic()
        if began >= self._due and done < of:
            self._checkpoint.save(UNFINISHED, self._rng, lists())
            took = time.monotonic() - began
            self._due = began + took + max(SAVE_EVERY, 20 * took)  # at most a twentieth of the time
        if self._told is not None:
            self._told(done, of)


def _seal(said: str, arrays: State) -> str:
    """A digest of all that a file holds: one that was changed since, though it can be read, is not gone on from."""
    names = sorted(arrays)
    return digest(said, names, *(np.asarray(arrays[name]) for name in names))


def fingerprint(a: Cloud, b: Cloud, anchors: Anchors | None, options: dict[str, Any]) -> str:
    """A name that differs where inputs, anchors, options or version do."""
    parts: list[Any] = [__version__, options]
    for cloud in (a, b):
        vectors = cloud.collection.vectors
        parts += [len(cloud), vectors.dtype.str, vectors_fingerprint(cloud.collection), cloud.mean]
    if anchors is not None:
        parts += [anchors.left, anchors.right, anchors.pairs]
    return digest(*parts)


@dataclass(frozen=True, eq=False)
class Watch:
    """Who hears of a run, and where it is kept, if anybody and anywhere."""

    progress: ProgressListener | None = None
    checkpoint: Checkpoint | None = None

    def tell(self, now: Progress) -> None:
        """Say how far the run is."""
        if self.progress is not None:
            self.progress(now)

    def unfinished(self, told: Callable[[int, int], None]) -> UnfinishedPass | None:
        """Where a pass over all rows keeps what it has so far; `told` hears of (rows done, rows)."""
        return None if self.checkpoint is None else UnfinishedPass(self.checkpoint, told)


NOBODY = Watch()
