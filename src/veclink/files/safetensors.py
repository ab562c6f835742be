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


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors of a file, memory-mapped (bfloat16 becomes float32 in memory), and the texts in its header."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        _check_size(path, size, start)
        header = json.loads(file.read(start - 8))
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        if entry["dtype"] not in DTYPES:
            raise InputError(
                f"{path} holds {entry['dtype']} numbers, which are not known here; convert them to F16 or F32."
            )
        dtype, shape = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"])
        begin, end = (start + offset for offset in entry["data_offsets"])
        _check_size(path, size, max(end, begin + dtype.itemsize * int(np.prod(shape))))
        stored = np.memmap(path, dtype, "r", begin, shape) if begin < end else np.empty(shape, dtype)
        tensors[name] = (stored.astype(np.uint32) << 16).view(np.float32) if entry["dtype"] == BFLOAT else stored
    return tensors, metadata


def _check_size(path: Path, size: int, needed: int) -> None:
    if needed > size:
        raise InputError(f"{path} has {size:,} bytes but its header says it needs {needed:,}; it was cut off.")


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write tensors of numpy's plain numbers one after the other, and texts into the header."""
    names = {dtype: name for name, dtype in DTYPES.items()}  # of two names the later one: U16, not BF16
    little = {name: np.ascontiguousarray(each, each.dtype.newbyteorder("<")) for name, each in tensors.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, tensor in little.items():
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": names[tensor.dtype.str], "shape": tensor.shape, "data_offsets": (start, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of eight
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in little.values():
            file.write(tensor.data)
