"""Collection: vectors with their ids and payload, as a user brings them, and how to open one."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.errors import InputError, named, plural
from veclink.files.memory import forget_pages
from veclink.threads import share

if TYPE_CHECKING:
    import pyarrow as pa


PART_BYTES = 1 << 20  # of numbers that a thread looks at, at a time
LARGEST_SCALE = 2.0**100  # int8 times this is far inside float32


@dataclass(frozen=True, eq=False)
class Collection:
    """`n` vectors of `d` numbers, and what belongs to each of them.

    Attributes
    ----------
    vectors : (n, d) array or memory map
        float16, float32, float64, or int8 with `vector = int8 * scale`.
    ids : (n,) array or None
        Unique int64 or str (as objects); where there are none, a row's number is its name.
    payload : pyarrow.Table or None
        A row for each vector.
    scale : float, (1, d) or (n, 1) array, or None
        Of int8 vectors only. Without one they count as they are, because only directions matter here.
    name : str
        What the collection is called in sentences.
    ids_from : str or None
        What gave the rows their ids, where the vectors came without: the payload, by its name.
    """

    vectors: np.ndarray
    ids: np.ndarray | None = None
    payload: pa.Table | None = None
    scale: float | np.ndarray | None = None
    name: str = "array"
    ids_from: str | None = None

    def __post_init__(self) -> None:
        vectors, name = self.vectors, self.name
        if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:
            shape = getattr(vectors, "shape", None)
            raise InputError(
                f"{name} has the shape {shape}; vectors come as a two-dimensional array, one row for each."
            )
        if vectors.shape[1] == 0:
            raise InputError(f"{name} has {plural(len(vectors), 'row')} of 0 numbers; a vector needs at least 2.")
        if np.ma.is_masked(vectors):
            rows = np.flatnonzero(np.ma.getmaskarray(vectors).any(axis=1))
            raise InputError(f"{name} has masked numbers in row {named(rows)}; fill them, or leave the rows out.")
        dtype = vectors.dtype
        if not (dtype.kind == "f" and dtype.itemsize in (2, 4, 8)) and dtype != np.int8:
            raise InputError(
                f"{name} holds {dtype} of shape {vectors.shape}; convert them to float16, float32, float64 or int8."
            )
        n = len(vectors)
        if self.ids is not None:
            ids = as_ids(self.ids, name)
            if len(ids) != n:
                raise InputError(
                    f"{name} has {plural(n, 'row')} but {plural(len(ids), 'id')}; give one id per row."
                )
            values = ids.tolist()
            if len(set(values)) < n:
                repeated = [value for value, count in Counter(values).items() if count > 1]
                raise InputError(
                    f"{name} has ids that stand for more than one row: {named(repeated)}; make every id unique."
                )
            object.__setattr__(self, "ids", ids)
        if self.payload is not None and not hasattr(self.payload, "num_rows"):
            kind = type(self.payload).__name__
            raise InputError(
                f"{name} has payload that is a {kind}, no Arrow table; give it to open_collection(…, payload=…)."
            )
        if self.payload is not None and self.payload.num_rows != n:
            raise InputError(
                f"{name} has {plural(n, 'row')} but {self.payload.num_rows:,} of payload; give one per vector."
            )
        object.__setattr__(self, "scale", _shaped_scale(self.scale, vectors, name))

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        fields = "" if self.payload is None else f", payload {', '.join(self.payload.column_names)}"
        ids = "" if self.ids is None else ", with ids"
        return f"Collection({self.name}: {len(self):,} × {self.dimension:,} {self.vectors.dtype}{ids}{fields})"

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        return int(self.vectors.shape[1])

    def ids_at(self, rows: np.ndarray | slice) -> np.ndarray | None:
        """The ids of some rows, where there are ids."""
        return None if self.ids is None else self.ids[rows]

    @classmethod
    def from_array(
        cls,
        vectors: Any,
        ids: Sequence[Any] | np.ndarray | None = None,
        payload: pa.Table | None = None,
        scale: float | np.ndarray | None = None,
        name: str = "array",
    ) -> Collection:
        """A collection of what numpy can read as an array; an array or a memory map is not copied."""
        try:
            # asanyarray, because a memory map should still say that it is one
            array = np.asanyarray(vectors)
        except (ValueError, TypeError) as error:  # rows of different lengths, a tensor on a GPU
            raise InputError(f"{name} cannot be read as one array ({error}); give vectors of one length.") from error
        given: Any = ids  # they take their form there
        return cls(array, given, payload, scale, name)


def numbers(collection: Collection, where: slice | np.ndarray) -> np.ndarray:
    """Rows as a new C-ordered array of what they mean: float64 where they are, else float32, int8 times its scale.

    int8 with a scale so large that float32 could not hold the product is float64 too.
    """
    source = collection.vectors
    wide = np.float64 if source.dtype.itemsize == 8 or scale_is_large(collection) else np.float32
    rows = np.array(source[where], dtype=wide, order="C", subok=False)
    scale = scale_of(collection, where)
    return rows if scale is None else np.multiply(rows, scale, out=rows)


def fingerprint(collection: Collection) -> str:
    """Letters that differ where any number does, and not where the same numbers are kept in another width."""
    step = max(1, PART_BYTES // (4 * collection.dimension))
    parts = [b""] * -(-len(collection) // step)

    def take_in(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):
            rows = numbers(collection, slice(start, stop)).astype(np.float32, copy=False)
        parts[start // step] = hashlib.sha256(rows.data).digest()
        forget_pages(collection.vectors)

    share(take_in, len(collection), step=step)
    return hashlib.sha256(repr(collection.vectors.shape).encode() + b"".join(parts)).hexdigest()[:16]


def digest(*parts: Any) -> str:
    """Hexadecimal letters that differ where one of the parts does.

    Parameters
    ----------
    *parts : Any
        Arrays count by their shape, type and numbers; everything else by its JSON, or by its `repr` where JSON has
        no word for it.
    """
    made = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            described = f"{part.shape} {part.dtype.str} ".encode() + np.ascontiguousarray(part).tobytes()
        else:
            described = json.dumps(part, sort_keys=True, default=repr).encode()
        made.update(len(described).to_bytes(8, "little"))
        made.update(described)
    return made.hexdigest()[:16]


def rows_digest(vectors: np.ndarray) -> str:
    """Hexadecimal letters that differ where any of the (n, d) numbers does; reads all of them, a few at a time."""
    made = hashlib.sha256(f"{vectors.shape} {vectors.dtype.str}".encode())
    width = max(1, vectors[:1].nbytes)
    step = max(1, 8 * PART_BYTES // width)
    for start in range(0, len(vectors), step):
        made.update(np.ascontiguousarray(vectors[start : start + step]).data)
        forget_pages(vectors)
    return made.hexdigest()[:16]


def scale_is_large(collection: Collection) -> bool:
    """Whether int8 times its scale can be beyond what float32 holds."""
    return collection.scale is not None and float(np.max(collection.scale, initial=0.0)) > LARGEST_SCALE


def scale_of(collection: Collection, where: slice | np.ndarray) -> np.ndarray | None:
    """What these rows are to be multiplied by, in a shape that does: one number, (1, d) or (n, 1); None for nothing."""
    scale = collection.scale
    if scale is None or isinstance(scale, float):
        return None if scale is None else np.asarray(scale, np.float32)
    return scale if len(scale) == 1 else scale[where]


def _shaped_scale(scale: Any, vectors: np.ndarray, name: str) -> float | np.ndarray | None:
    if scale is None:
        return None
    n, d = vectors.shape
    values = np.asarray(scale, dtype=np.float32)
    usable = vectors.dtype == np.int8 and np.isfinite(values).all() and not (values < 0).any()
    if usable and values.size == 1:
        return float(values.reshape(()))
    if usable and (values.ndim == 2 or n != d):
        for shape, meant in (((d,), (1, d)), ((n,), (n, 1))):
            if values.shape in (shape, meant):
                return values.reshape(meant)
    raise InputError(
        f"{name} has a scale that fits no int8 vectors; give a positive number, or some of shape (1, {d}) or ({n}, 1)."
    )


def as_ids(values: Sequence[Any] | np.ndarray, name: str = "ids") -> np.ndarray:
    """`values` as int64, or else as an object array of str.

    Integers stay integers. Strings and UUIDs become str, and so does every id where kinds are mixed or an integer does
    not fit into 64 bits. Missing values, floats and others are refused: they would not be found again.
    """
    if isinstance(values, (list, tuple)) and set(map(type, values)) == {int}:  # the usual case, in one step
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    # not np.asarray of a list: it would turn [1, "x"] and [1, None] into something else
    array = np.asarray(values) if hasattr(values, "__array__") else np.fromiter(values, dtype=object, count=len(values))
    if array.ndim != 1:
        raise InputError(f"The ids of {name} have the shape {array.shape}; give one id per row.")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8) or not len(array):
        return array.astype(np.int64, copy=False) if array.dtype.kind in "iu" else np.empty(0, dtype=object)
    ids = array.tolist()
    strange = [row for row, value in enumerate(ids) if isinstance(value, bool) or not isinstance(value, _KINDS)]
    if strange:
        kind = type(ids[strange[0]]).__name__
        raise InputError(
            f"{name} has ids that are neither integers nor strings ({kind}) in row {named(strange)}; fix them."
        )
    if all(isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63 for value in ids):
        return np.array(ids, dtype=np.int64)
    text = np.empty(len(ids), dtype=object)
    text[:] = [str(value) for value in ids]
    try:
        "".join(text).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} has an id that is not valid text ({error.reason}); repair the ids.") from error
    return text


_KINDS = (int, np.integer, str, uuid.UUID)
