"""A store's vectors, read once into a memory-mapped scratch file with the ids beside it.

The file lies in a scratch folder (see `scratch_folders`), is readable by its owner only, and has no name
any more once it is read: the system takes it away with the last use. A read that was interrupted leaves its files, and
the next read of the same URL goes on there, where the store has places to go on from and has not changed.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.ids import as_ids
from veclink.errors import InputError, OutputError, StoreError, needed, plural, readable_size
from veclink.files.atomic import flush
from veclink.files.fingerprints import digest
from veclink.files.memory import size_of
from veclink.files.scratch_folders import check_room, hold
from veclink.progress import Progress, ProgressListener
from veclink.stores.arrow import one_table
from veclink.stores.protocol import BATCH, RATIO, SUSPECT, Batch, Store

BATCH_BYTES = 16 << 20  # of vectors, at most: a batch is held a few times over while it is read
WAITING = 3
"""Batches that were read and are not yet written, at most."""
SAVED_SECONDS = 0.5
"""How much of a read a killed process loses, at most."""


def read_store(
    store: Store, *, payload: bool = True, progress: ProgressListener | None = None, size: int | None = None
) -> Collection:
    """The whole collection: vectors memory-mapped, ids in memory, payload (if wanted) memory-mapped too."""
    with store.errors():
        rough, dimension, dtype, version = store.at_most(), store.dimension(), store.dtype, store.version()
        most = store.count() if rough is None else rough
    if dtype == np.float64:
        dtype = np.dtype(np.float32)
    if not most:
        return Collection.from_array(np.empty((0, max(dimension, 1)), dtype), name=store.name)
    if dimension < 1:
        raise InputError(f"{store.name} has {plural(most, 'row')} of {dimension} numbers; a vector needs at least 2.")
    width = dimension * dtype.itemsize
    _check_ratio(store, most * width)
    state = {
        "most": most,
        "dimension": dimension,
        "dtype": dtype.str,
        "payload": payload,
        "version": version,
        "boot": _boot(),
    }
    with _folder(store, payload) as folder:
        scratch = _Scratch(folder, state)
        check_room(folder, most * width - scratch.bytes, f"vectors of {store.name}")
        _fill(scratch, store, size or max(1, min(BATCH, BATCH_BYTES // width)), progress)
        expected = most if rough is None or scratch.rows == most else store.count()
        if scratch.rows != expected:
            scratch.forget()
            raise StoreError(
                f"{store.name} changed while it was read: of {expected:,} rows {scratch.rows:,} came; read again."
            )
        return scratch.collection(store.name)


def _check_ratio(store: Store, size: int) -> None:
    """Refuse vectors that are far more than the files that they are in: real ones hardly get smaller when packed."""
    path = store.address.path
    if path is None or size <= SUSPECT:
        return
    held = size_of(path)
    if size > RATIO * held:
        raise InputError(
            f"{store.name} has {readable_size(held)} and would unpack to {readable_size(size)} of vectors; no real "
            "ones do. Check where it comes from, or write its vectors as .npy."
        )


def _fill(scratch: _Scratch, store: Store, size: int, progress: ProgressListener | None) -> None:
    """Write batches of `size` rows while the next ones are read; a few may wait, as a disk stalls now and then."""
    began, already = time.monotonic(), scratch.rows

    def done(step: Future[None]) -> None:
        step.result()
        if progress is not None:
            rate = (scratch.rows - already) / max(time.monotonic() - began, 1e-9)
            progress(Progress(scratch.rows, scratch.most, 0, None, f"reading {store.name}", rows_per_second=rate))

    steps: deque[Future[None]] = deque()
    try:
        with ThreadPoolExecutor(1) as writer:
            for batch in _guarded(scratch, store, size):
                if len(steps) == WAITING:
                    done(steps.popleft())
                steps.append(writer.submit(scratch.append, batch, store.name))
            while steps:
                done(steps.popleft())
    except BaseException:
        scratch.keep()
        raise


def _guarded(scratch: _Scratch, store: Store, size: int) -> Iterator[Batch]:
    """The batches that are missing; what the store complains of becomes a sentence, what the reader does not."""
    with store.errors():
        yield from scratch.missing(store, size)


class _Scratch:
    """The growing files: vectors as they are, ids as a line of JSON per batch, payload as a stream of Arrow each."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self._folder, self._expected = folder, state
        self._dtype, self._dimension = np.dtype(state["dtype"]), state["dimension"]
        self._ids: list[np.ndarray] = []
        self.rows = 0
        self._state: dict[str, Any] = {}
        self._saved = time.monotonic()
        if not self._load():
            self.restart()

    @property
    def most(self) -> int:
        """How many rows there can be."""
        return int(self._expected["most"])

    @property
    def bytes(self) -> int:
        """How many bytes of vectors are there."""
        return self.rows * self._dimension * self._dtype.itemsize

    def missing(self, store: Store, size: int) -> Iterator[Batch]:
        """The batches that are not here yet: all of them, unless the last one here is still the same in the store."""
        steps = self._state["steps"]
        payload = self._expected["payload"]
        if not steps:
            return store.batches(size, payload=payload)
        before: dict[str, Any] = steps[-2] if len(steps) > 1 else {"place": None, "rows": 0, "ids": 0, "payload": 0}
        again = next(iter(store.batches(self.rows - before["rows"], after=before["place"], payload=payload)), None)
        if again is None or not self._ends_with(again, before["rows"]):
            self.restart()
            return store.batches(size, payload=payload)
        # a store that gives fewer rows at once than it is asked for has its own size: take those steps again
        self._cut(before)
        self._ids = [as_ids(part) for part in self._read_ids()]
        return store.batches(size, after=before["place"], payload=payload)

    def _ends_with(self, batch: Batch, start: int) -> bool:
        """Whether a batch that was read again is what is here from the row `start` on."""
        vectors = self._mapped()[start:]
        if not 0 < len(batch) <= len(vectors) or not np.array_equal(vectors[: len(batch)], batch.vectors):
            return False
        return batch.ids is None or self._last_ids()[: len(batch)] == batch.ids.tolist()

    def _mapped(self) -> np.ndarray:
        """The vectors that are here, (rows, d)."""
        return np.memmap(self._folder / "vectors", self._dtype, "r", shape=(self.rows, self._dimension))

    def append(self, batch: Batch, name: str) -> None:
        """Add a batch to all files, and now and then say so in the state: what is not said there does not count."""
        if batch.vectors.shape[1] != self._dimension:
            raise InputError(
                f"{name} has vectors of {self._dimension:,} numbers, but of {batch.vectors.shape[1]:,} from row "
                f"{self.rows:,} on; give all the same length."
            )
        if self.rows + len(batch) > self._expected["most"]:
            self.rows += len(batch)
            return  # more than was counted: read_store says so at the end
        try:
            self._write(batch)
        except OSError as error:
            raise OutputError(
                f"{self._folder} is full or gone ({error.strerror}) after {self.rows:,} rows; "
                "make room, or name another folder in VECLINK_SCRATCH."
            ) from error
        self.rows += len(batch)
        self._state["rows"] = self.rows
        steps = self._state["steps"]
        ends = {name: (self._folder / name).stat().st_size for name in ("ids", "payload")}
        steps.append({"rows": self.rows, "place": batch.place, **ends})
        del steps[:-2]
        if time.monotonic() - self._saved > SAVED_SECONDS:
            self.keep()

    def _write(self, batch: Batch) -> None:
        with (self._folder / "vectors").open("ab") as file:
            file.write(np.ascontiguousarray(batch.vectors, dtype=self._dtype).data)
        if batch.ids is not None:
            self._ids.append(batch.ids.copy())  # a view of an Arrow column would keep the batch's vectors as well
            with (self._folder / "ids").open("a", encoding="utf-8") as text:
                text.write(json.dumps(batch.ids.tolist()) + "\n")
        if batch.payload is not None:
            _append_table(self._folder / "payload", batch.payload)

    def keep(self) -> None:
        """Say in the state what is there, for a later read; a store without places cannot go on."""
        steps = self._state["steps"]
        if steps and steps[-1]["place"] is not None:
            if not self._expected["boot"]:  # nothing would tell that the machine lost its power since
                for each in ("vectors", "ids", "payload"):
                    flush(self._folder / each)
            temporary = self._folder / "state.new"
            temporary.write_text(json.dumps(self._state), encoding="utf-8")
            os.replace(temporary, self._folder / "state.json")
        self._saved = time.monotonic()

    def collection(self, name: str) -> Collection:
        """What was read, mapped; its folder may go, as the maps hold the files."""
        return Collection.from_array(self._mapped(), _one_kind(self._ids), _tables(self._folder / "payload"), name=name)

    def restart(self) -> None:
        """Begin again with empty files."""
        self.forget()
        for each in ("vectors", "ids", "payload"):
            (self._folder / each).write_bytes(b"")
        self._state = {**self._expected, "rows": 0, "steps": []}
        self._ids, self.rows = [], 0

    def forget(self) -> None:
        """Let nobody go on from here."""
        (self._folder / "state.json").unlink(missing_ok=True)

    def _load(self) -> bool:
        """Whether an interrupted read of the same rows was found; its files are cut back to what its state says."""
        try:
            state = json.loads((self._folder / "state.json").read_text(encoding="utf-8"))
            if any(state.get(key) != value for key, value in self._expected.items()) or not state["steps"]:
                return False
            self._state, self.rows = state, state["rows"]
            if (self._folder / "vectors").stat().st_size < self.bytes:
                return False
            self._cut(state["steps"][-1])
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return True

    def _cut(self, step: dict[str, Any]) -> None:
        os.truncate(self._folder / "vectors", step["rows"] * self._dimension * self._dtype.itemsize)
        for name in ("ids", "payload"):
            os.truncate(self._folder / name, step[name])
        self.rows = self._state["rows"] = step["rows"]
        self._state["steps"] = [each for each in self._state["steps"] if each["rows"] <= step["rows"]]

    def _read_ids(self) -> Iterator[list[Any]]:
        with (self._folder / "ids").open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def _last_ids(self) -> list[Any]:
        return list(self._read_ids())[-1] if (self._folder / "ids").stat().st_size else []


def _boot() -> str:
    """Which start of the machine this is, where Linux says so; what an earlier one wrote may not be on disk."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@contextmanager
def _folder(store: Store, payload: bool) -> Iterator[Path]:
    """A folder of this URL's own, locked; gone at the end unless it is left for a read that goes on."""
    folder = hold(f"read-{digest(store.name, store.address.user, payload, letters=24)}")
    done = False
    try:
        yield folder.path
        done = True
    finally:
        if done or not folder.resumable or not (folder.path / "state.json").exists():
            folder.remove()
        folder.release()


def _append_table(path: Path, table: Any) -> None:
    ipc: Any = needed("pyarrow.ipc", "Keeping the payload")
    with path.open("ab") as file, ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def _tables(path: Path) -> Any:
    """The payload of all batches as one table, read where it lies."""
    if not path.stat().st_size:
        return None
    arrow: Any = needed("pyarrow", "Keeping the payload")
    ipc: Any = needed("pyarrow.ipc", "Keeping the payload")
    tables = []
    with arrow.memory_map(str(path)) as file:
        while file.tell() < file.size():
            tables.append(ipc.open_stream(file).read_all())
    return one_table(tables)


def _one_kind(parts: list[np.ndarray]) -> np.ndarray | None:
    """The ids of all batches: integers if all are, else text."""
    if not parts:
        return None
    if any(part.dtype == object for part in parts):
        return as_ids([each for part in parts for each in part.tolist()])
    return np.concatenate(parts)
