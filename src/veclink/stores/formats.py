"""Files of vectors as collections, memory-mapped where the format allows it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.files.memory import check_fits
from veclink.files.safetensors import read_header, read_tensor
from veclink.files.tables import unpacked_size
from veclink.stores.arrow import id_values, is_list, matrix, table_of
from veclink.stores.columns import choose_vector, id_field, vector_field


def read_npy(path: Path) -> Collection:
    """The array in `path`; nothing of it is in memory until it is asked for."""
    return Collection.from_array(np.load(path, mmap_mode="r", allow_pickle=False), name=str(path))


def read_safetensors(path: Path) -> Collection:
    """The vectors (the tensor `vectors` or `embeddings`, or the only matrix) with the tensors `ids` and `scale`."""
    tensors, _ = read_header(path)
    matrices = [name for name, entry in tensors.items() if len(entry["shape"]) == 2]
    vectors = vector_field(list(tensors), matrices, str(path))
    ids = id_field([name for name in tensors if name != vectors])
    return Collection.from_array(
        read_tensor(path, tensors[vectors]),
        ids=None if ids is None else read_tensor(path, tensors[ids]),
        scale=read_tensor(path, tensors["scale"]) if "scale" in tensors else None,
        name=str(path),
    )


def read_npz(path: Path, most: int | None = None) -> Collection:
    """The vectors with their ids and scale; memory-mapped where they are stored uncompressed, as np.savez does."""
    with np.load(path, allow_pickle=False) as arrays, zipfile.ZipFile(path) as archive:
        shapes = {name: _npz_header(archive, name)[0] for name in arrays.files}
        name = vector_field(arrays.files, [name for name in shapes if len(shapes[name]) == 2], str(path))
        vectors = _mapped_in(path, archive, name)
        packed = (each for each in archive.infolist() if each.compress_type != zipfile.ZIP_STORED)
        check_fits(path, sum(each.file_size for each in packed), most)
        ids = id_field([field for field in arrays.files if field != name])
        return Collection.from_array(
            arrays[name] if vectors is None else vectors,
            ids=None if ids is None else arrays[ids],
            scale=arrays["scale"] if "scale" in arrays.files else None,
            name=str(path),
        )


def _mapped_in(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray | None:
    """The array inside the zip file as a memory map, or None where it is compressed or empty."""
    entry = _entry(archive, name)
    shape, fortran, dtype, header_size = _npz_header(archive, name)
    if entry.compress_type != zipfile.ZIP_STORED or 0 in shape or dtype.hasobject:
        return None
    with path.open("rb") as file:  # the local header has lengths of its own, which the central one does not repeat
        file.seek(entry.header_offset + 26)
        lengths = np.frombuffer(file.read(4), dtype="<u2")
    start = entry.header_offset + 30 + int(lengths.sum()) + header_size
    return np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order="F" if fortran else "C")


def _npz_header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    with archive.open(_entry(archive, name)) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return *read(file), file.tell()


def _entry(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    return archive.getinfo(name if name in archive.namelist() else f"{name}.npy")


def read_parquet(path: Path, vector: str | None = None, most: int | None = None) -> Collection:
    """The vectors in `vector`, `embedding` or the only list column; ids in `id`; scales of int8 vectors in `scale`."""
    with pq.ParquetFile(path, memory_map=True) as file:
        schema = file.schema_arrow
        lists = [field.name for field in schema if is_list(field.type)]
        if vector is None:
            name = vector_field(schema.names, lists, str(path))
        else:
            name = choose_vector(vector, schema.names, lists, str(path))
        if name not in lists:
            raise InputError(f"{path} has {schema.field(name).type} in `{name}`; vectors are lists of numbers.")
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
                    vector_field(list(record), lists, f"{path}, line {number},"),
                    id_field(list(record)),
                )
            rows.append(_vector(record.pop(vector_name, None), vector_name, number, path))
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


def _vector(values: Any, name: str, number: int, path: Path) -> np.ndarray:
    try:
        vector = np.asarray(values)
    except ValueError:
        vector = np.asarray(None)
    if vector.ndim != 1 or vector.dtype.kind not in "fiu":
        raise InputError(f"{path} has no list of numbers in `{name}` of line {number:,}; repair or remove that line.")
    return vector.astype(np.float32)
