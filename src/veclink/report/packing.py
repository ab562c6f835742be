"""Numbers and texts of a page in as few bytes as possible: typed columns and JSON, compressed, as base64.

The bytes are: length of the JSON (4 bytes, little-endian), the JSON, zeros up to a multiple of 8, then the columns,
each padded to a multiple of 8. The JSON lists the columns by name with type, place, length and factor.
`assets/data.js` reads it.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

MISSING = -32768  # of a scaled column


def scaled(values: np.ndarray, factor: float) -> np.ndarray:
    """Numbers as int16 in units of `factor`; NaN is MISSING, and what is out of range becomes the last in range."""
    with np.errstate(invalid="ignore"):
        units = np.clip(np.rint(np.asarray(values, float) / factor), -32767, 32767)
    return np.where(np.isfinite(units), units, MISSING).astype(np.int16)


def pack(texts: dict[str, Any], columns: dict[str, np.ndarray], factors: dict[str, float]) -> str:
    """Base64 of the compressed texts and columns. factors: of columns made by `scaled`, for turning them back."""
    described, parts, place = {}, [], 0
    for name, values in columns.items():
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        described[name] = {"type": values.dtype.name, "at": place, "length": len(values)}
        if name in factors:
            described[name]["factor"] = factors[name]
        data += b"\0" * (-len(data) % 8)
        parts.append(data)
        place += len(data)
    text = json.dumps({**texts, "columns": described}, ensure_ascii=False, separators=(",", ":")).encode()
    head = len(text).to_bytes(4, "little") + text
    head += b"\0" * (-len(head) % 8)
    return base64.b64encode(zlib.compress(head + b"".join(parts), 7)).decode()
