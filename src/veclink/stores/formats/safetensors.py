"""safetensors, memory-mapped: eight bytes of header length, a JSON header, then the tensors as they are.

The format is simple enough to map it with numpy alone, which keeps the vectors on disk; no package is needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.stores.fields import id_field, vector_field

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip


def read(path: Path) -> Collection:
    """The vectors (the tensor `vectors` or `embeddings`, or the only matrix) with the tensors `ids` and `scale`."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise InputError(f"{path} has {size:,} bytes but its header says it needs {length + 8:,}; it was cut off.")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    name = vector_field(list(header), [key for key, value in header.items() if len(value["shape"]) == 2], str(path))
    ids = id_field([key for key in header if key != name])
    return Collection.from_array(
        _tensor(path, header[name], 8 + length),
        ids=None if ids is None else _tensor(path, header[ids], 8 + length),
        scale=_tensor(path, header["scale"], 8 + length) if "scale" in header else None,
        name=str(path),
    )


def _tensor(path: Path, entry: dict[str, Any], start: int) -> np.ndarray:
    begin, end = entry["data_offsets"]
    if entry["dtype"] not in _DTYPES:
        raise InputError(
            f"{path} holds {entry['dtype']} numbers, which cannot be read here; convert them to F16 or F32."
        )
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    if start + end > path.stat().st_size or end - begin != dtype.itemsize * int(np.prod(shape)):
        raise InputError(
            f"{path} has {path.stat().st_size:,} bytes and its header names {start + end:,}; it was cut off."
        )
    if begin == end:
        return np.empty(shape, dtype)
    stored = np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)
    if entry["dtype"] == "BF16":  # numpy has no bfloat16: it is the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored
