"""Vectors in safetensors files, memory-mapped; no package is needed."""

from __future__ import annotations

from pathlib import Path

from veclink.data.collection import Collection
from veclink.files.safetensors import open_tensors
from veclink.stores.fields import id_field, vector_field


def read(path: Path) -> Collection:
    """The vectors (the tensor `vectors` or `embeddings`, or the only matrix) with the tensors `ids` and `scale`."""
    file = open_tensors(path)
    names = list(file.shapes)
    matrices = [name for name, shape in file.shapes.items() if len(shape) == 2]
    vectors = vector_field(names, matrices, str(path))
    ids = id_field([name for name in names if name != vectors])
    return Collection.from_array(
        file.tensor(vectors),
        ids=None if ids is None else file.tensor(ids),
        scale=file.tensor("scale") if "scale" in names else None,
        name=str(path),
    )
