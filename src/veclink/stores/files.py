"""Single files as stores: .npy .npz .parquet .safetensors .jsonl, memory-mapped where they can be, written whole."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection, as_ids, numbers
from veclink.errors import InputError, named
from veclink.files.atomic import flush, unchanged, written_whole
from veclink.files.memory import check_fits
from veclink.files.safetensors import read_tensors, write_tensors
from veclink.files.tables import read_csv, readable
from veclink.stores.arrow import (
    ID,
    choose_vector,
    filter_of,
    id_field,
    ids_of,
    table_of,
    vectors_of,
)
from veclink.stores.protocol import BATCH, Batch, Store
from veclink.stores.urls import FILE_ENDINGS, Address, known_endings

ROW = "\0row"


def read_jsonl(path: Path) -> Collection:
    """The vectors as float32. The first line decides how the fields are called and how long the vectors are."""
    rows: list[np.ndarray] = []
    ids: list[Any] = []
    payload: list[dict[str, Any]] = []
    names: list[str] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("it is no object")
                if not rows:
                    lists = [key for key, value in record.items() if isinstance(value, list)]
                    names = [choose_vector(None, list(record), lists, f"{path}, line {number},")]
                    names += filter(None, [id_field(list(record))])
                if not record.keys() >= set(names):
                    raise ValueError(f"it has no {named([each for each in names if each not in record])}")
                values, *key = (record.pop(name) for name in names)
                vector = np.asarray(values)  # lists in the list, of several lengths, are none
                if vector.ndim != 1 or vector.dtype.kind not in "fiu" or (rows and len(vector) != len(rows[0])):
                    raise ValueError(f"{names[0]!r} is not a list of as many numbers as the first")
            except InputError:
                raise
            except ValueError as error:
                reason = getattr(error, "msg", error)
                raise InputError(f"{path} cannot be read in line {number:,} ({reason}); repair that line.") from error
            rows.append(vector.astype(np.float32))
            ids += key
            payload.append(record)
    if not rows:
        raise InputError(f"{path} is empty; write one JSON object with a `vector` per line.")
    return Collection.from_array(np.stack(rows), ids or None, table_of(payload), name=str(path))


def read_file(address: Address, most: int | None = None, *, ids: bool = True) -> Collection:
    """The collection in a file, by its ending; with the fields and the filter of its URL.

    most: bytes of memory that it may unpack to; without it, what the machine has. ids: whether those of a file beside
    it are read, where it has none of its own.
    """
    assert address.path is not None
    path = address.path
    with unchanged(path, ids_file(path)):
        collection = _read(path, address.vector, most)
        if ids and address.id is None and collection.ids is None:
            collection = replace(collection, ids=read_ids_beside(path))
    if address.id is not None:
        if collection.payload is None or address.id not in collection.payload.column_names:
            raise InputError(f"{path} has no field {address.id!r} for its ids.")
        collection = replace(collection, ids=ids_of(collection.payload.column(address.id), str(path)))
    if address.where:
        payload, scale = collection.payload, collection.scale
        payload = pa.table({}) if payload is None else payload
        wanted = filter_of(address.where, payload.column_names, str(path))
        with readable(f"{path} cannot be filtered", "give values of the kind that the fields have"):
            numbered = payload.append_column(ROW, pa.array(np.arange(len(collection)))).filter(wanted)
        rows = numbered.column(ROW).to_numpy()
        collection = Collection.from_array(
            collection.vectors[rows],
            collection.ids_at(rows),
            numbered.drop_columns([ROW]),
            scale[rows] if isinstance(scale, np.ndarray) and len(scale) > 1 else scale,
            address.shown,
        )
    return collection


def _read(path: Path, vector: str | None, most: int | None) -> Collection:
    ending = _ending(path)
    if vector is not None:
        raise InputError(f"{path} takes no ?vector=…; only a Parquet file has several columns of vectors.")
    with readable(f"{path} cannot be read as {ending}", "check or write it again"):
        if not path.exists():
            raise InputError(f"{path} does not exist; check the name.")
        if ending == ".jsonl":
            return read_jsonl(path)
        if ending == ".npy":  # nothing of it is in memory until it is asked for
            return Collection.from_array(np.load(path, mmap_mode="r", allow_pickle=False), name=str(path))
        if ending == ".npz":
            with zipfile.ZipFile(path) as archive, np.load(path, allow_pickle=False) as stored:
                check_fits(path, sum(each.file_size for each in archive.infolist()), most)
                arrays = dict(stored)
        else:
            arrays = read_tensors(path)[0]
        matrices = [name for name, values in arrays.items() if values.ndim == 2]
        chosen = choose_vector(None, list(arrays), matrices, str(path))
        ids = arrays.get(id_field([name for name in arrays if name != chosen]) or "")
        return Collection.from_array(arrays[chosen], ids, scale=arrays.get("scale"), name=str(path))


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in FILE_ENDINGS:
        raise InputError(f"{path} is not a kind of file that is known; known are {known_endings()}.")
    return ending


class FileStore(Store):
    """A file of vectors. It is read as a whole, which is no cost where it is memory-mapped."""

    keeps_links = False

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        super().__init__(address, writable=writable)
        self._ending = _ending(self._path)
        self.keeps_payload = self._ending == ".jsonl"

    @cached_property
    def _collection(self) -> Collection:
        return read_file(self.address)

    def in_the_way(self) -> str | None:
        return super().in_the_way() or (ids_in_the_way(self._path) if self._ending == ".npy" else None)

    def _count(self) -> int:
        return len(self._collection)

    def _dimension(self) -> int:
        return self._collection.dimension

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Generator[Batch]:
        whole = self._collection
        for start in range(0, len(whole), size):
            rows = slice(start, start + size)
            kept = whole.payload.slice(start, size) if payload and whole.payload is not None else None
            yield Batch(numbers(whole, rows), whole.ids_at(rows), kept)

    def _create(self, first: pa.Table, tables: Iterator[pa.Table], metadata: dict[str, Any]) -> None:
        if self._ending == ".npy":
            return write_with_ids(self._path, lambda path: _write_npy(path, first, tables))
        with written_whole(self._path) as path:
            if self._ending == ".jsonl":
                with path.open("w", encoding="utf-8") as file:
                    for table in tables:
                        for record in table.to_pylist():
                            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            else:
                _write_whole(path, pa.concat_tables(tables), metadata)


def _write_npy(path: Path, first: pa.Table, tables: Iterator[pa.Table]) -> list[str] | None:
    """Write the vectors as they come, and give the ids, if there are any."""
    like, rows = vectors_of(first), 0
    ids: list[str] | None = [] if ID in first.column_names else None
    with path.open("wb+") as file:

        def header() -> None:  # numpy pads it so that a greater count fits in later
            file.seek(0)
            described = {"descr": np.lib.format.dtype_to_descr(like.dtype), "fortran_order": False}
            np.lib.format.write_array_header_2_0(file, {**described, "shape": (rows, like.shape[1])})

        header()
        for table in tables:
            file.write(vectors_of(table).data)
            rows += len(table)
            if ids is not None:
                ids += map(str, table.column(ID).to_pylist())
        header()
    return ids


def _write_whole(path: Path, whole: pa.Table, metadata: dict[str, Any]) -> None:
    """.npz and .safetensors begin with the sizes of what follows, so all of it has to be there first."""
    arrays: dict[str, Any] = {"vectors": vectors_of(whole)}
    if ID in whole.column_names:
        ids = ids_of(whole.column(ID), str(path))
        arrays["ids"] = ids.astype(str) if ids.dtype == object else ids  # no pickled objects
    if path.suffix.lower() == ".npz":
        with path.open("wb") as file:
            np.savez(file, **arrays)
        return
    if ID in whole.column_names and arrays["ids"].dtype.kind == "U":
        raise InputError("safetensors files keep integer ids only, and these are text; write Parquet instead.")
    write_tensors(path, arrays, {"veclink": json.dumps(metadata)})


def ids_file(path: Path) -> Path:
    """The file `X.ids.txt` beside `X.npy`."""
    return path.with_name(f"{path.stem}.ids.txt")


def read_ids_beside(path: Path) -> np.ndarray | None:
    """The ids in `X.ids.txt` beside `X.npy`, None where there is no such file; refused are those of other vectors."""
    ids, (file, record) = ids_file(path), _record_of(path)
    if not ids.is_file():
        return None
    if record is not None:
        same_ids = record["ids"] == _text_digest(ids)
        same_vectors = record["vectors"] == file_digest(path)
        if same_vectors and record["ids"] is None:  # left by a run that was killed before it removed them
            return None
        # where both are others, somebody wrote both anew, or a run was killed before it replaced either
        if same_ids != same_vectors:
            shown = f"{path} and {ids} were not written together, as {file} shows"
            raise InputError(f"{shown}; write both again, or remove that file if they do belong together.")
    return read_ids(ids)


def ids_in_the_way(path: Path) -> str | None:
    """The ids beside a place without vectors that are not what a killed run left; None where there are none."""
    ids = ids_file(path)
    of_others = _record_of(path)[1] is None or any(path.with_suffix(each).exists() for each in (".npy", ".faiss"))
    return str(ids) if ids.is_file() and of_others else None


def write_with_ids(path: Path, write: Callable[[Path], Sequence[str] | None]) -> None:
    """Have `write` make the vectors that are to be at `path`, and keep the ids that it gives beside them.

    Put in place are first the record of their fingerprints, then the ids, and at last the vectors.
    """
    file = ids_file(path)
    place, record = _record_of(path)
    with ExitStack() as stack:
        vectors = stack.enter_context(written_whole(path))
        ids = write(vectors)
        if ids is None and not file.is_file():
            return
        if any(not each or "\n" in each or each.endswith("\r") for each in ids or ()):
            raise InputError(f"{path} cannot keep empty ids or line breaks; write Parquet instead.")
        if place.exists() and record is None:
            raise InputError(f"{place} is there already and is about something else; choose another name.")
        fingerprints = {"vectors": file_digest(vectors), "ids": None}
        if ids is not None:
            written = stack.enter_context(written_whole(file))
            written.write_text("".join(f"{each}\n" for each in ids), encoding="utf-8")
            fingerprints["ids"] = _text_digest(written)
        stack.enter_context(written_whole(place)).write_text(json.dumps(fingerprints) + "\n", encoding="utf-8")
    if ids is None:  # the record goes last, as it says that the ids are not theirs
        file.unlink()
        flush(path.parent)
        place.unlink()


def file_digest(path: Path) -> str:
    """Letters that differ where the size or the content of a file does.

    All of a file of up to 64 MB counts, and 256 evenly spread blocks of a larger one, its first and last among them: a
    collection larger than memory is not read once more for its fingerprint.
    """
    size, block = path.stat().st_size, 64 << 10
    starts: Any = range(0, size, block)
    if size > 64 << 20:
        starts = np.linspace(0, size - block, 256).astype(np.int64).tolist()
    made = hashlib.sha256(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            made.update(file.read(block))
    return made.hexdigest()[:16]


def table_path(path: Path) -> Path:
    """The table `X.rows.parquet` beside `X.npy`, which says what the rows of a merge are."""
    return path.with_name(f"{path.stem}.rows.parquet")


def _record_of(path: Path) -> tuple[Path, dict[str, Any] | None]:
    """The file with the fingerprints of vectors and ids, and those, None where it is something else or not there."""
    file = path.with_name(f"{path.stem}.ids.json")
    with suppress(OSError, ValueError, RecursionError):
        record = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(record, dict) and record.keys() >= {"vectors", "ids"}:
            return file, record
    return file, None


def _text_digest(path: Path) -> str:
    """Letters that differ where the lines of a text do; how a system ends its lines does not count."""
    with path.open("rb") as file:
        return hashlib.sha256(b"".join(line.rstrip(b"\r\n") + b"\n" for line in file)).hexdigest()[:16]


def read_ids(path: str | Path) -> np.ndarray:
    """The ids in a file: .txt with one a line, .csv with a column `id`, or .npy. What is read from text stays text."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".txt", ".csv", ".npy"):
        raise InputError(f"{path} does not end in .txt, .csv or .npy, so its ids cannot be read; convert it.")
    with readable(f"The ids in {path} cannot be read", "give a .txt, .csv or .npy file"):
        if ending == ".npy":
            return as_ids(np.load(path, allow_pickle=False), str(path))
        places: Sequence[int]
        if ending == ".txt":
            # not splitlines(): it would also split at rarer separators that an id may hold
            text = path.read_text(encoding="utf-8-sig")
            ids = text.removesuffix("\n").split("\n") if text else []
            places = range(1, len(ids) + 1)
        else:
            table = read_csv(path, ["id"])
            if "id" not in table.names:
                raise InputError(f"{path} has the columns {named(table.names)}; ids are in a column `id`.")
            ids, places = table.values["id"], table.places
        # a row without a name could not be found again
        empty = [place for each, place in zip(ids, places, strict=True) if not each]
        if empty:
            raise InputError(
                f"{path} has an empty id in line {named(empty)}; give every row an id, or remove the line."
            )
        return as_ids(ids, str(path))
