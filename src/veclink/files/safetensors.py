"""The safetensors format: eight bytes of header length, a JSON header, then the tensors as they are.

It is simple enough to read and write with numpy alone, which keeps tensors on disk until they are used. Nothing in such
a file is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError

BFLOAT = "BF16"
"""numpy has no bfloat16: it is the upper half of a float32."""
DTYPES = {
    BFLOAT: "<u2", "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry of each tensor, for `read_tensor`, and the texts in the header."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise InputError(f"{path} has {size:,} bytes but its header says it needs {length + 8:,}; it was cut off.")
        header = json.loads(file.read(length))
    metadata = header.pop("__metadata__", {})
    entries = {name: {**entry, "start": 8 + length} for name, entry in header.items()}
    return entries, metadata


def read_tensor(path: Path, entry: Mapping[str, Any]) -> np.ndarray:
    """A tensor, memory-mapped; bfloat16 becomes float32 in memory."""
    if entry["dtype"] not in DTYPES:
        raise InputError(
            f"{path} holds {entry['dtype']} numbers, which cannot be read here; convert them to F16 or F32."
        )
    dtype, shape = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"])
    begin, end = (entry["start"] + offset for offset in entry["data_offsets"])
    size = path.stat().st_size
    if end > size or end - begin != dtype.itemsize * int(np.prod(shape)):
        raise InputError(f"{path} has {size:,} bytes and its header names {end:,}; it was cut off.")
    if begin == end:
        return np.empty(shape, dtype)
    stored = np.memmap(path, dtype=dtype, mode="r", offset=begin, shape=shape)
    if entry["dtype"] == BFLOAT:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write tensors of numpy's plain numbers one after the other, and texts into the header."""
    names = {dtype: name for name, dtype in DTYPES.items()}  # of two names the later one: U16, not BF16
    little = {name: np.ascontiguousarray(each, each.dtype.newbyteorder("<")) for name, each in tensors.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    start = 0
    for name, tensor in little.items():
        end = start + tensor.nbytes
        kind = names[tensor.dtype.str]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of eight
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in little.values():
            file.write(tensor.data)
