"""Several NumPy arrays in one zip file: `vectors`, and perhaps `ids` and `scale`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.files.memory import check_fits
from veclink.stores.fields import id_field, vector_field


def read(path: Path, most: int | None = None) -> Collection:
    """The vectors with their ids and scale; memory-mapped where they are stored uncompressed, as np.savez does."""
    with np.load(path, allow_pickle=False) as arrays, zipfile.ZipFile(path) as archive:
        shapes = {name: _header(archive, name)[0] for name in arrays.files}
        name = vector_field(arrays.files, [name for name in shapes if len(shapes[name]) == 2], str(path))
        vectors = _mapped(path, archive, name)
        packed = (each for each in archive.infolist() if each.compress_type != zipfile.ZIP_STORED)
        check_fits(path, sum(each.file_size for each in packed), most)
        ids = id_field([field for field in arrays.files if field != name])
        return Collection.from_array(
            arrays[name] if vectors is None else vectors,
            ids=None if ids is None else arrays[ids],
            scale=arrays["scale"] if "scale" in arrays.files else None,
            name=str(path),
        )


def _mapped(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray | None:
    """The array inside the zip file as a memory map, or None where it is compressed or empty."""
    entry = _entry(archive, name)
    shape, fortran, dtype, header_size = _header(archive, name)
    if entry.compress_type != zipfile.ZIP_STORED or 0 in shape or dtype.hasobject:
        return None
    with path.open("rb") as file:  # the local header has lengths of its own, which the central one does not repeat
        file.seek(entry.header_offset + 26)
        lengths = np.frombuffer(file.read(4), dtype="<u2")
    start = entry.header_offset + 30 + int(lengths.sum()) + header_size
    return np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order="F" if fortran else "C")


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    with archive.open(_entry(archive, name)) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return *read(file), file.tell()


def _entry(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    return archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
