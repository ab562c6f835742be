"""Kill points: a process counts its calls that change the disk, and is killed just before one of them.

`kill_points.c`, preloaded, counts renames, removals, fsyncs, writes and files opened for writing, of Python and of the
stores' engines. Where there is no C compiler, an audit hook counts what Python itself does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("kill_points.c")
EVENTS = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "shutil.rmtree"}
FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def compiled(folder: Path) -> Path | None:
    """The library to preload, built in a folder; None where there is no C compiler, or no preloading."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "kill_points.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def arm(number: int) -> Callable[[], int]:
    """Kill this process before its call of this number, counted from 1; 0 kills never. Says how many there were."""
    library = ctypes.CDLL(None)
    if hasattr(library, "kill_before"):
        library.points_seen.restype = ctypes.c_long
        library.kill_before(ctypes.c_long(number))
        return lambda: int(library.points_seen())
    return _arm_python(number)


def _arm_python(number: int) -> Callable[[], int]:
    seen, fsync = 0, os.fsync

    def point() -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        exchange = event == "ctypes.dlsym" and arguments[1] == "renameat2"
        opening = event == "open" and isinstance(arguments[2], int) and arguments[2] & FOR_WRITING
        if exchange or opening or event in EVENTS:
            point()

    def counted_fsync(descriptor: Any) -> None:
        point()
        fsync(descriptor)

    sys.addaudithook(hook)
    instead: Any = counted_fsync
    os.fsync = instead
    return lambda: seen
