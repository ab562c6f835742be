"""Cloud: a collection made ready for geometry (float32, unit length, centred if asked), and its validation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.pairs import lookup
from veclink.data.words import ROWS_TO_JUDGE
from veclink.errors import SHOWN, InputError, named, plural
from veclink.files.memory import forget_pages
from veclink.geometry.arrays import DEVICE_NUMBERS, Array, namespace, tiles, to_numpy

LEAST_ROWS = 3
LARGE = 12_000  # rows above which a cloud is large: what takes all rows against all is then done on a sample, or once
NO_DIRECTION = 1e-6  # a centred row shorter than this is rounding noise
Look = Callable[[Collection, slice], tuple[Array, Array]]
"""How rows of a collection are read: the unit vectors (n, d) and their lengths (n,), zero rows staying zero."""


class Cloud:
    """The rows of a collection as unit vectors x/|x|, or centred: (x/|x| - mean) divided by its own length.

    Rows are read from the source when asked for; block, take and dense give the same bits for the same row. A row that
    lies on the mean has no direction once centred, and is a zero vector.

    collection: where the rows come from.
    rows:       (n,) int64, the source row of each row here: all of them, unless zero vectors were skipped.
    mean:       (d,) float32, the mean of the unit vectors; None where the cloud is not centred.
    """

    def __init__(self, collection: Collection, rows: np.ndarray, mean: np.ndarray | None = None) -> None:
        self.collection = collection
        self.rows = rows
        self.mean = mean
        self.shape = len(rows), collection.dimension
        self.whole = len(rows) == len(collection)
        self._dense: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop`, float32; a read-only view once the cloud is dense."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self.take(range(start, stop)) if self._dense is None else self._dense[start:stop]

    def take(self, rows: np.ndarray | range) -> np.ndarray:
        """The given rows of the cloud (positions here, not in the source), float32, in that order."""
        if self._dense is not None:
            return self._dense[rows]
        source = rows if self.whole and isinstance(rows, range) else self.rows[rows]
        out = np.empty((len(source), self.shape[1]), np.float32)
        for low, high in tiles(len(out), max(1, (1 << 19) // self.shape[1])):  # float64 work that fits the cache
            part = source[low:high]
            where = slice(part.start, part.stop) if isinstance(part, range) else part
            here = out[low:high]
            here[:], _ = _unit(numbers(self.collection, where))
            if self.mean is not None:
                here -= self.mean
                here[:], _ = _unit(here, shortest=NO_DIRECTION)
        return out

    def dense(self) -> np.ndarray:
        """All rows, float32; made once, kept, and read-only."""
        if self._dense is None:
            whole = self.block(0, len(self))
            whole.flags.writeable = False
            self._dense = whole
        return self._dense

    def centred_on(self, mean: np.ndarray) -> Cloud:
        """The same rows, with another mean subtracted."""
        return Cloud(self.collection, self.rows, mean)

    def project(self, vectors: np.ndarray | Collection, *, what: str = "The given array") -> np.ndarray:
        """Outside vectors treated as the rows are: same scale (of int8), same mean, unit length; float32.

        A collection of int8 vectors has its own scale. `what` is how errors call the vectors.
        """
        outside = vectors if isinstance(vectors, Collection) else Collection.from_array(vectors, name=what)
        if outside.dimension != self.shape[1]:
            raise InputError(
                f"{what} has vectors of {plural(outside.dimension, 'number')} and {self.collection.name} of "
                f"{self.shape[1]:,}; give vectors of the same model."
            )
        scale = self.collection.scale
        if (
            outside.vectors.dtype == np.int8
            and outside.scale is None
            and isinstance(scale, np.ndarray)
            and len(scale) == 1
        ):
            # one scale per row, or for all, changes no direction; one per dimension does
            outside = Collection.from_array(outside.vectors, scale=scale, name=outside.name)
        zero, _ = inspected(outside, what)
        if len(zero):
            raise InputError(f"{what} has zero vectors, which have no direction, in row {named(zero)}; remove them.")
        return Cloud(outside, np.arange(len(outside)), self.mean).block(0, len(outside))

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Where the given source rows are in this cloud; an error names those that were skipped."""
        rows = np.asarray(rows, dtype=np.int64)
        if self.whole:
            return rows
        found = lookup(self.rows, rows)
        skipped = found < 0
        if skipped.any():
            raise InputError(
                f"{self.collection.name} has zero vectors, which were skipped, in row {named(rows[skipped])}; "
                "remove the pairs that name them."
            )
        return found


def prepare(
    collection: Collection, *, centre: bool = True, skip_zero: bool = False, side: str = "A", look: Look | None = None
) -> Cloud:
    """The cloud of a collection, after one pass over it that refuses what has no geometry.

    centre: subtract the mean of the unit vectors and make the rest unit length again.
    look: how that pass is made, by default here in numpy (a GPU has its own).
    skip_zero: leave zero vectors out instead of refusing them; `Cloud.rows` says which rows are left.
    side: how errors call the collection.
    """
    label = f"{side} ({collection.name})"
    if collection.dimension < 2:
        raise InputError(f"{label} has vectors of 1 number; directions need at least 2.")
    zero, mean = inspected(collection, label, look)
    if len(zero) and not skip_zero:
        raise InputError(
            f"{label} has zero vectors, which have no direction, in row {named(zero)}; remove them, or skip them with "
            "skip_zero (--skip-zero)."
        )
    rows = np.delete(np.arange(len(collection), dtype=np.int64), zero)
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"{label} has {plural(len(rows), 'usable row')}; linking needs at least {LEAST_ROWS}, and links are judged "
            f"from {ROWS_TO_JUDGE} rows on."
        )
    if centre and 1.0 - float(mean @ mean) < NO_DIRECTION:
        raise InputError(
            f"All {len(rows):,} vectors of {label} point the same way, so nothing tells them apart; check the model."
        )
    return Cloud(collection, rows, mean.astype(np.float32) if centre else None)


def uncentred(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The unit vectors (n, d) that centred rows were, before the mean was subtracted and they were made unit length.

    A unit vector u was `ℓ·c + mean` with c the row as it is now; ℓ follows from the length of u being 1.
    """
    along = rows @ mean
    length = np.sqrt(np.maximum(along**2 + 1.0 - float(mean @ mean), 0.0)) - along
    return length[:, None] * rows + mean


def inspected(collection: Collection, label: str, look: Look | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are zero, and the mean (float64) of the unit vectors of the others; refuses NaN and infinity."""
    zero: list[np.ndarray] = [np.empty(0, np.int64)]
    broken: list[int] = []
    n_broken = 0
    total = np.zeros(collection.dimension, np.float64)
    at_once = DEVICE_NUMBERS // 2 if look else 1 << 19  # numbers whose float64 work fits the cache
    for low, high in tiles(len(collection), max(1, at_once // collection.dimension)):
        where = slice(low, high)
        unit, length = look(collection, where) if look else _unit(numbers(collection, where))
        length = to_numpy(length)
        bad = np.flatnonzero(~np.isfinite(length))
        n_broken += len(bad)
        broken += (bad[: SHOWN - len(broken)] + low).tolist()
        zero.append(np.flatnonzero(length == 0) + low)
        total += to_numpy(unit.sum(axis=0, dtype=namespace(unit).float64))
        if low >> 16 != high >> 16:  # now and then: one look at a mapped file should not hold all of it
            forget_pages(collection.vectors)
    if n_broken:
        raise InputError(
            f"{label} cannot be used: NaN or infinite numbers in row {named(broken, n_broken)}; repair or remove them."
        )
    none = np.concatenate(zero)
    return none, total / max(1, len(collection) - len(none))


def _unit(numbers: np.ndarray, shortest: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows divided by their length (float32), and the lengths; rows no longer than `shortest` become zero.

    The squares are summed in float64 along each row of a C-ordered array, so that a row's result does not depend on
    the rows around it.
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        if numbers.dtype == np.float64:  # squares of very large or small numbers would leave the range of float64
            peak = np.abs(numbers).max(axis=1, keepdims=True)
            numbers = numbers / np.where(peak > 0, peak, 1.0)
        length = _length(numbers)
        scaled = in_range(numbers, length)
        # of a row that was scaled, the length is near 1: the true one may be none that float32 has
        divisor = length if scaled is numbers else _length(scaled)
        divisor = np.where(length > shortest, divisor, np.inf)
        return (scaled / divisor[:, None].astype(numbers.dtype)).astype(np.float32, copy=False), length


def _length(numbers: np.ndarray) -> np.ndarray:
    return np.sqrt(np.multiply(numbers, numbers, dtype=np.float64).sum(axis=1))


def lengths(rows: np.ndarray) -> np.ndarray:
    """The Euclidean length of each row (n, d), float64; NaN where a row has NaN or infinity."""
    rows = rows.astype(np.float64)
    peak = np.abs(rows).max(axis=1, initial=0.0)
    exponent = np.frexp(peak)[1]
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        scaled = np.ldexp(rows, -exponent[:, None])
        length = np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponent)
    # a length can be larger than any number in its row, and so than any that float64 has
    return np.where(np.isfinite(peak), np.minimum(length, np.finfo(np.float64).max), np.nan)


def in_range(rows: np.ndarray, length: np.ndarray | None = None, outside: np.ndarray | None = None) -> np.ndarray:
    """Rows of floats; those that are very long or very short are scaled by a power of two to a length near 1.

    length (n,): of the rows, where it is known. outside (n,): which rows are scaled, where that is known. Powers of two
    change no digit, so directions stay as they are, and rows of ordinary length are not touched.
    """
    length = lengths(rows) if length is None else length
    if outside is None:  # between these, squares and the numbers beside them stay normal in float32
        outside = np.isfinite(length) & (length > 0) & ((length < 2.0**-60) | (length > 2.0**60))
    if not outside.any():
        return rows
    scaled = rows.copy()
    scaled[outside] = np.ldexp(rows[outside], -np.frexp(length[outside])[1][:, None])
    return scaled


def fitted(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rows as `dtype`; one that is too large or too small for it is scaled by a power of two: its direction stays."""
    limits = np.finfo(dtype)
    peak = np.abs(rows).max(axis=1, initial=0.0)
    outside = (peak > limits.max) | ((peak > 0) & (peak < limits.tiny) & (rows.dtype.itemsize > dtype.itemsize))
    return in_range(rows, peak, outside & np.isfinite(peak)).astype(dtype, copy=False)
