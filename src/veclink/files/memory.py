"""How much memory a call may use, as people write it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from veclink.errors import InputError, readable_size

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


def check_fits(path: Path, size: int) -> None:
    """Refuse a compressed file whose content needs more bytes than there is memory: a few megabytes can hold terabytes.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        The bytes of its content, as the file itself says.
    """
    most = most_memory()
    if size > most:
        raise InputError(
            f"{path} has {readable_size(path.stat().st_size)} and would need {readable_size(size)} of memory, where "
            f"{readable_size(most)} can be had; write it uncompressed (.npy), or in parts."
        )


def most_memory() -> int:
    """Bytes that a program can get now without pushing others out; where the system does not say, all there are."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(re.findall(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)[0]) * 1024
    except (OSError, IndexError, ValueError):
        return 16 * available()


def available() -> int:
    """Bytes of memory that are free now; where the system does not say, a modest guess."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4_000_000_000
