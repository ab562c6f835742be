"""How vectors come over PostgreSQL's wire: binary, straight into numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.errors import needed


def register_loaders(connection: Any) -> None:
    """Have this connection read `vector`, `halfvec`, `real[]` and `double precision[]` as numpy arrays."""
    loader: Any = needed("psycopg.adapt", "PostgreSQL").Loader
    kinds: Any = needed("psycopg.types", "PostgreSQL").TypeInfo
    binary: Any = needed("psycopg.pq", "PostgreSQL").Format.BINARY

    def made(read: Any) -> Any:
        # not an annotation-free lambda: psycopg wants a class with these two
        return type("VectorLoader", (loader,), {"format": binary, "load": staticmethod(read)})

    for name, read in (("vector", _vector), ("halfvec", _half_vector)):
        info = kinds.fetch(connection, name)
        if info is not None:
            connection.adapters.register_loader(info.oid, made(read))
    for oid, number in ((1021, ">f4"), (1022, ">f8")):
        connection.adapters.register_loader(oid, made(_array_of(number)))
    connection.rollback()  # fetching began a transaction


def _vector(data: Any) -> np.ndarray:
    """int16 dimension, int16 unused, then big-endian float32."""
    return np.frombuffer(data, ">f4", offset=4)


def _half_vector(data: Any) -> np.ndarray:
    return np.frombuffer(data, ">f2", offset=4)


def _array_of(number: str) -> Any:
    width = np.dtype(number).itemsize

    def read(data: Any) -> np.ndarray:
        header = np.frombuffer(data, ">i4", count=3)
        if header[0] == 0:
            return np.empty(0, np.float32)
        if header[0] != 1 or header[1]:
            raise ValueError("an array of vectors has missing numbers or more than one dimension")
        # 12 bytes of header, 8 of bounds, then for each number its length and itself
        packed = np.dtype([("length", ">i4"), ("number", number)])
        assert packed.itemsize == 4 + width
        return np.frombuffer(data, packed, offset=20)["number"].astype(np.float32)

    return read
