"""Tensors that are written are read by the format's own package, and the other way round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from veclink.files.safetensors import read_tensors, write_tensors

TENSORS = {
    "single": np.arange(6, dtype=np.float32).reshape(2, 3),
    "swapped": np.arange(4, dtype=">f8"),
    "small": np.array([[1, -2]], np.int8),
    "unsigned": np.array([65535], np.uint16),
    "flags": np.array([True, False]),
    "none": np.empty((0, 5), np.float16),
}


def test_the_package_reads_what_is_written(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", TENSORS, {"veclink": "{}"})
    loaded = load_file(tmp_path / "x.safetensors")
    for name, tensor in TENSORS.items():
        assert loaded[name].dtype == tensor.dtype.newbyteorder("=") and np.array_equal(loaded[name], tensor)


def test_what_the_package_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    native = {name: tensor.astype(tensor.dtype.newbyteorder("=")) for name, tensor in TENSORS.items()}
    save_file(native, path, metadata={"about": "papers"})
    tensors, metadata = read_tensors(path)
    assert metadata == {"about": "papers"}
    for name, tensor in TENSORS.items():
        assert np.array_equal(tensors[name], tensor)
