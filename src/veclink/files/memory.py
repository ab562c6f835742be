"""How much memory a call may use, as people write it."""

from __future__ import annotations

import os
import re

from veclink.errors import InputError

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS[_letter] = _UNITS[f"{_letter}B"] = 1000**_power
    _UNITS[f"{_letter}IB"] = 1024**_power


LEAST = 1_000_000
"""Bytes below which linking would go row by row."""


def parse_memory(memory: int | float | str, *, least: int = 1) -> int:
    """Bytes meant by `memory`: a number of bytes, or text such as "500MB", "1.5 GB" or "2GiB"; at least `least`."""
    if isinstance(memory, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", memory)
        unit = _UNITS.get(parts[2].upper()) if parts else None
        if parts is None or unit is None:
            raise InputError(f'Memory {memory!r} is not a size; write it like "500MB", "4GB" or "2GiB".')
        size = int(float(parts[1]) * unit)
    else:
        size = int(memory)
    if size < least:
        raise InputError(f"Memory {memory!r} leaves nothing to work with; give at least {LEAST // 10**6}MB.")
    return size


def available() -> int:
    """Bytes of memory that are free now; where the system does not say, a modest guess."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4_000_000_000
