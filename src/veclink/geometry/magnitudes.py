"""Lengths of vectors of any size: scaled before they are squared, so that nothing leaves the range of its type."""

from __future__ import annotations

import numpy as np

# Lengths between these are divided by as they are: their squares, and the numbers beside them, stay normal in float32.
SHORT, LONG = 2.0**-60, 2.0**60


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


def in_range(rows: np.ndarray, length: np.ndarray | None = None) -> np.ndarray:
    """Rows of floats; those that are very long or very short are scaled by a power of two to a length near 1.

    length (n,): of the rows, where it is known. Powers of two change no digit, so directions stay as they are, and rows
    of ordinary length are not touched.
    """
    length = lengths(rows) if length is None else length
    outside = np.isfinite(length) & (length > 0) & ((length < SHORT) | (length > LONG))
    if not outside.any():
        return rows
    exponent = np.frexp(length[outside])[1]
    scaled = rows.copy()
    scaled[outside] = np.ldexp(rows[outside], -exponent[:, None])
    return scaled


def fitted(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rows as `dtype`; one that is too large or too small for it is scaled by a power of two: its direction stays."""
    limits = np.finfo(dtype)
    peak = np.abs(rows).max(axis=1, initial=0.0)
    outside = (peak > limits.max) | ((peak > 0) & (peak < limits.tiny) & (rows.dtype.itemsize > dtype.itemsize))
    outside &= np.isfinite(peak)
    if outside.any():
        rows = rows.copy()
        rows[outside] = np.ldexp(rows[outside], -np.frexp(peak[outside])[1][:, None])
    return rows.astype(dtype, copy=False)
