"""Two names of the file system exchanged in one step, where Linux and the file system can."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two paths, so that neither name is ever missing; False, and nothing changed, where that cannot be."""
    rename = _renameat2()
    if rename is None:
        return False
    failed = rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    return not failed


@cache
def _renameat2() -> Callable[..., int] | None:
    """The call of the C library; older libraries and other systems have none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    rename.restype = ctypes.c_int
    return rename
