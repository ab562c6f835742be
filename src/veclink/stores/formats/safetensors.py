"""Vectors in safetensors files, memory-mapped; no package is needed."""

from __future__ import annotations

from pathlib import Path

from veclink.data.collection import Collection
from veclink.files.safetensors import read_header, read_tensor
from veclink.stores.fields import id_field, vector_field


def read(path: Path) -> Collection:
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
