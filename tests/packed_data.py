"""What `report.content.pack` wrote, read as the browser reads it."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np


def unpacked(packed: str) -> dict[str, Any]:
    """The texts and facts of a page, and under "column" its columns, those of numbers in steps of their factor."""
    data = zlib.decompress(base64.b64decode(packed))
    length = int.from_bytes(data[:4], "little")
    told = json.loads(data[4 : 4 + length])
    first = -(-(4 + length) // 8) * 8
    told["column"] = {
        name: np.frombuffer(data, each["type"], each["length"], first + each["at"])
        for name, each in told["columns"].items()
    }
    return told
