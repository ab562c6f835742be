"""Single files as stores: .npy .npz .parquet .safetensors .jsonl, memory-mapped where they can be, written whole."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from veclink.data.collection import Collection, as_ids, numbers
from veclink.errors import InputError, named
from veclink.files.atomic import flush, unchanged, written_whole
from veclink.files.fingerprints import file_digest
from veclink.files.memory import check_fits
from veclink.files.safetensors import read_header, read_tensor, write_tensors
from veclink.files.tables import metadata_of, read_csv, readable, unpacked_size, with_metadata
from veclink.stores.arrow import (
    choose_vector,
    id_field,
    id_values,
    is_list,
    matching,
    matrix,
    records_of,
    table_of,
)
from veclink.stores.protocol import BATCH, Batch, Store
from veclink.stores.urls import FILE_ENDINGS, Address, known_endings


def read_parquet(path: Path, vector: str | None, most: int | None) -> Collection:
    """The vectors in `vector`, `embedding` or the only list column; ids in `id`; scales of int8 vectors in `scale`."""
    with pq.ParquetFile(path, memory_map=True) as file:
        schema = file.schema_arrow
        lists = [field.name for field in schema if is_list(field.type)]
        name = choose_vector(vector, schema.names, lists, str(path))
        check_fits(path, unpacked_size(file.metadata), most)
        vectors = _parquet_vectors(file, name, str(path))
        rest = file.read(columns=[column for column in schema.names if column != name])
        rest.validate(full=True)  # Arrow reads text that is none, and complains where it is looked at
    ids = scale = None
    if (id_name := id_field(rest.column_names)) is not None:
        ids, rest = id_values(rest.column(id_name)), rest.drop_columns([id_name])
    if vectors.dtype == np.int8 and "scale" in rest.column_names:
        # one row would read as one number for all, which is the same thing
        scale, rest = rest.column("scale").to_numpy().reshape(-1, 1), rest.drop_columns(["scale"])
    return Collection.from_array(
        vectors, ids=ids, payload=rest if rest.num_columns else None, scale=scale, name=str(path)
    )


def _parquet_vectors(file: Any, name: str, source: str) -> np.ndarray:
    """The column as one array: a view of what Arrow decoded where that is one piece, else filled batch by batch."""
    total, vectors, start = file.metadata.num_rows, None, 0
    for batch in file.iter_batches(batch_size=max(1, min(total, 65_536)), columns=[name]):
        block = matrix(batch.column(0), start, None if vectors is None else vectors.shape[1], source)
        if len(block) == total:
            return block
        if vectors is None:
            vectors = np.empty((total, block.shape[1]), block.dtype)
        vectors[start : start + len(block)] = block
        start += len(block)
    if vectors is None:
        kind = file.schema_arrow.field(name).type
        width = getattr(kind, "list_size", 1)
        return np.empty((0, width), kind.value_type.to_pandas_dtype())
    return vectors


def read_jsonl(path: Path) -> Collection:
    """The vectors as float32. The first line decides how the fields are called and how long the vectors are."""
    rows: list[np.ndarray] = []
    ids: list[Any] = []
    payload: list[dict[str, Any]] = []
    vector_name = id_name = None
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, path)
            if vector_name is None:
                lists = [key for key, value in record.items() if isinstance(value, list)]
                vector_name, id_name = (
                    choose_vector(None, list(record), lists, f"{path}, line {number},"),
                    id_field(list(record)),
                )
            values = record.pop(vector_name, None)
            with suppress(ValueError):  # lists in the list, of several lengths
                values = np.asarray(values)
            if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "fiu":
                raise InputError(
                    f"{path} has no list of numbers in `{vector_name}` of line {number:,}; repair or remove that line."
                )
            rows.append(values.astype(np.float32))
            if len(rows[-1]) != len(rows[0]):
                raise InputError(
                    f"{path} has {len(rows[-1]):,} numbers in line {number:,} and {len(rows[0]):,} in the first; "
                    "give all vectors the same length."
                )
            if id_name is not None:
                if id_name not in record:
                    raise InputError(
                        f"{path} has no `{id_name}` in line {number:,}, but has in the first; give all lines one."
                    )
                ids.append(record.pop(id_name))
            payload.append(record)
    if not rows:
        raise InputError(f"{path} is empty; write one JSON object with a `vector` per line.")
    return Collection.from_array(
        np.stack(rows), ids=ids if id_name is not None else None, payload=table_of(payload), name=str(path)
    )


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON in line {number:,} ({error.msg}, column {error.colno}); repair it."
        ) from error
    if not isinstance(record, dict):
        raise InputError(f"{path} has no JSON object in line {number:,}; write one object with a `vector` per line.")
    return record


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
        collection = replace(collection, ids=id_values(collection.payload.column(address.id)))
    if address.where:
        rows = np.flatnonzero(matching(collection.payload, address.where, str(path)))
        assert collection.payload is not None
        scale = collection.scale
        collection = Collection.from_array(
            collection.vectors[rows],
            collection.ids_at(rows),
            collection.payload.take(rows),
            scale[rows] if isinstance(scale, np.ndarray) and len(scale) > 1 else scale,
            address.shown,
        )
    return collection


def _read(path: Path, vector: str | None, most: int | None) -> Collection:
    ending = path.suffix.lower()
    if ending not in FILE_ENDINGS:
        raise InputError(f"{path} is not a kind of file that is known; known are {known_endings()}.")
    if vector is not None and ending != ".parquet":
        raise InputError(f"{path} takes no ?vector=…; only a Parquet file has several columns of vectors.")
    with readable(f"{path} cannot be read as {ending}", "check or write it again"):
        if not path.is_file():
            wrong = "is not a file; name one file of vectors" if path.exists() else "does not exist; check the name"
            raise InputError(f"{path} {wrong}.")
        if ending == ".parquet":
            return read_parquet(path, vector, most)
        if ending == ".jsonl":
            return read_jsonl(path)
        if ending == ".npy":  # nothing of it is in memory until it is asked for
            return Collection.from_array(np.load(path, mmap_mode="r", allow_pickle=False), name=str(path))
        if ending == ".npz":
            with zipfile.ZipFile(path) as archive, np.load(path, allow_pickle=False) as stored:
                check_fits(path, sum(each.file_size for each in archive.infolist()), most)
                arrays = dict(stored)
        else:
            arrays = {name: read_tensor(path, entry) for name, entry in read_header(path)[0].items()}
        matrices = [name for name, values in arrays.items() if values.ndim == 2]
        chosen = choose_vector(None, list(arrays), matrices, str(path))
        ids = arrays.get(id_field([name for name in arrays if name != chosen]) or "")
        return Collection.from_array(arrays[chosen], ids, scale=arrays.get("scale"), name=str(path))


class FileStore(Store):
    """A file of vectors. It is read as a whole, which is no cost where it is memory-mapped."""

    keeps_links = False

    def __init__(self, address: Address, *, writable: bool = False) -> None:
        super().__init__(address, writable=writable)
        self._ending = self._path.suffix.lower()
        if self._ending not in FILE_ENDINGS:
            raise InputError(f"{self._path} is not a kind of file that is known; known are {known_endings()}.")
        self.keeps_payload = self._ending in (".parquet", ".jsonl")

    @cached_property
    def _collection(self) -> Collection:
        collection = read_file(self.address)
        if collection.scale is None:
            return collection
        return replace(collection, vectors=numbers(collection, slice(None)), scale=None)  # what the numbers mean

    def in_the_way(self) -> str | None:
        return super().in_the_way() or (ids_in_the_way(self._path) if self._ending == ".npy" else None)

    def count(self) -> int:
        return len(self._collection)

    def dimension(self) -> int:
        return self._collection.dimension

    @property
    def dtype(self) -> np.dtype:
        return self._collection.vectors.dtype

    def metadata(self) -> dict[str, Any]:
        if self._ending != ".parquet":
            return {}
        return metadata_of(pq.read_schema(self._path))

    def batches(self, size: int = BATCH, *, payload: bool = True) -> Iterator[Batch]:
        whole = self._collection
        for start in range(0, len(whole), size):
            rows = slice(start, min(start + size, len(whole)))
            taken = whole.payload.slice(start, rows.stop - start) if payload and whole.payload is not None else None
            yield Batch(np.asarray(whole.vectors[rows]), whole.ids_at(rows), taken)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        if self._ending == ".npy":
            with written_with_ids(self._path) as (path, keep):
                keep(_write_npy(path, first, batches))
            return
        with written_whole(self._path) as path:
            if self._ending == ".parquet":
                schema = with_metadata(records_of(first).schema, metadata)
                with pq.ParquetWriter(path, schema) as writer:
                    for batch in batches:
                        writer.write_table(records_of(batch, schema))
            elif self._ending == ".jsonl":
                with path.open("w", encoding="utf-8") as file:
                    for batch in batches:
                        for record in records_of(batch).to_pylist():
                            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            else:
                _write_whole(path, batches, metadata)


def _write_npy(path: Path, first: Batch, batches: Iterator[Batch]) -> list[str] | None:
    """Write the vectors as they come, and give the ids, if there are any."""
    dtype, dimension = first.vectors.dtype, first.vectors.shape[1]
    rows = 0
    ids: list[str] = []
    with path.open("wb+") as file:

        def header() -> None:
            file.seek(0)
            described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
            np.lib.format.write_array_header_2_0(file, {**described, "shape": (rows, dimension)})

        header()  # numpy pads it so that a greater count fits in later
        start = file.tell()
        for batch in batches:
            file.write(np.ascontiguousarray(batch.vectors, dtype=dtype).data)
            ids += [] if batch.ids is None else map(str, batch.ids.tolist())
            rows += len(batch)
        header()
        if file.tell() != start:
            raise InputError(f"{rows:,} rows need a longer header than .npy was given; write Parquet instead.")
    return None if first.ids is None else ids


def _write_whole(path: Path, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
    """.npz and .safetensors begin with the sizes of what follows, so all of it has to be there first."""
    parts = list(batches)
    arrays: dict[str, Any] = {"vectors": np.concatenate([part.vectors for part in parts])}
    if parts[0].ids is not None:
        ids = np.concatenate([part.ids for part in parts if part.ids is not None])
        arrays["ids"] = ids.astype(str) if ids.dtype == object else ids  # no pickled objects
    if path.suffix.lower() == ".npz":
        with path.open("wb") as file:
            np.savez(file, **arrays)
        return
    if arrays.get("ids", np.empty(0, np.int64)).dtype.kind == "U":
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
            raise InputError(
                f"{path} and {ids} were not written together, as {file} shows; write both again, or remove that file "
                "if the ids do belong to the vectors."
            )
    return read_ids(ids)


def ids_in_the_way(path: Path) -> str | None:
    """The ids beside a place without vectors that are not what a killed run left; None where there are none."""
    ids = ids_file(path)
    of_others = _record_of(path)[1] is None or any(path.with_suffix(each).exists() for each in (".npy", ".faiss"))
    return str(ids) if ids.is_file() and of_others else None


@contextmanager
def written_with_ids(path: Path) -> Iterator[tuple[Path, Callable[[Sequence[str] | None], None]]]:
    """Where to write vectors that are to be at `path`, and what keeps their ids beside them, or says they have none.

    Put in place are first the record of their fingerprints, then the ids, and at last the vectors.
    """
    file = ids_file(path)
    kept: list[bool] = []
    with ExitStack() as stack:
        vectors = stack.enter_context(written_whole(path))

        def keep(ids: Sequence[str] | None) -> None:
            kept.append(ids is not None)
            if ids is None and not file.is_file():
                return
            if any(not each or "\n" in each or each.endswith("\r") for each in ids or ()):
                raise InputError(f"{path} cannot keep empty ids or line breaks; write Parquet instead.")
            fingerprints = {"vectors": file_digest(vectors), "ids": None}
            if ids is not None:
                written = stack.enter_context(written_whole(file))
                written.write_text("".join(f"{each}\n" for each in ids), encoding="utf-8")
                fingerprints["ids"] = _text_digest(written)
            place, record = _record_of(path)
            if place.exists() and record is None:
                raise InputError(f"{place} is there already and is about something else; choose another name.")
            stack.enter_context(written_whole(place)).write_text(json.dumps(fingerprints) + "\n", encoding="utf-8")

        yield vectors, keep
    if not any(kept):  # the record goes last, as it says that the ids are not theirs
        file.unlink(missing_ok=True)
        flush(path.parent)
        place, record = _record_of(path)
        if record is not None:
            place.unlink()


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
