"""The safetensors format: eight bytes of header length, a JSON header, then the tensors as they are.

It is simple enough to read and write with numpy alone, which keeps tensors on disk until they are used. Nothing in such
a file is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
BFLOAT = "BF16"
"""numpy has no bfloat16: it is the upper half of a float32."""


@dataclass(frozen=True)
class TensorFile:
    """The header of a file, and its tensors when they are asked for.

    Attributes
    ----------
    path : Path
        The file.
    shapes : dict of str to tuple of int
        The shape of each tensor.
    metadata : dict of str to str
        The texts in the header.
    """

    path: Path
    shapes: dict[str, tuple[int, ...]]
    metadata: dict[str, str]
    _entries: dict[str, Any]
    _start: int

    def tensor(self, name: str) -> np.ndarray:
        """A tensor, memory-mapped; bfloat16 becomes float32 in memory."""
        entry, shape = self._entries[name], self.shapes[name]
        begin, end = entry["data_offsets"]
        dtype = self._dtype(entry["dtype"])
        size = self.path.stat().st_size
        if self._start + end > size or end - begin != dtype.itemsize * int(np.prod(shape)):
            needs = self._start + end
            raise InputError(f"{self.path} has {size:,} bytes and its header names {needs:,}; it was cut off.")
        if begin == end:
            return np.empty(shape, dtype)
        stored = np.memmap(self.path, dtype=dtype, mode="r", offset=self._start + begin, shape=shape)
        if entry["dtype"] == BFLOAT:
            return (stored.astype(np.uint32) << 16).view(np.float32)
        return stored

    def _dtype(self, name: str) -> np.dtype:
        if name == BFLOAT:
            return np.dtype("<u2")
        if name not in DTYPES:
            raise InputError(
                f"{self.path} holds {name} numbers, which cannot be read here; convert them to F16 or F32."
            )
        return np.dtype(DTYPES[name])


def open_tensors(path: Path) -> TensorFile:
    """Read the header of a file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise InputError(f"{path} has {size:,} bytes but its header says it needs {length + 8:,}; it was cut off.")
        entries = json.loads(file.read(length))
    metadata = entries.pop("__metadata__", {})
    shapes = {name: tuple(entry["shape"]) for name, entry in entries.items()}
    return TensorFile(path, shapes, metadata, entries, 8 + length)


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write tensors of numpy's plain numbers one after the other, and texts into the header."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    little = {name: np.ascontiguousarray(each, each.dtype.newbyteorder("<")) for name, each in tensors.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    start = 0
    for name, tensor in little.items():
        end = start + tensor.nbytes
        header[name] = {
            "dtype": names[tensor.dtype.str],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of eight
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in little.values():
            file.write(tensor.data)
