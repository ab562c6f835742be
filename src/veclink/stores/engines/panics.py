"""Engines in Rust print where they panicked, beside the error that they raise: here that is kept from the terminal.

What else is printed meanwhile is passed on afterwards. Stderr is one for the whole process: where several threads ask
engines at once, the first one turns it away and the last one turns it back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

PANIC = b"panicked at"
STDERR = 2


class _HeldBack:
    """What is printed to stderr, in a file, for as long as somebody asks an engine."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._askers = 0
        self._stderr: int | None = None
        self._file: IO[bytes] | None = None

    def begin(self) -> None:
        with self._lock:
            self._askers += 1
            if self._askers == 1:
                self._turn_away()

    def end(self) -> None:
        with self._lock:
            self._askers -= 1
            if self._askers == 0:
                self._turn_back()

    def _turn_away(self) -> None:
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.flush()
        with suppress(OSError):  # there is no stderr, so nothing to keep clean
            self._stderr = os.dup(STDERR)
            self._file = TemporaryFile()
            os.dup2(self._file.fileno(), STDERR)

    def _turn_back(self) -> None:
        printed = b""
        if self._stderr is not None:
            os.dup2(self._stderr, STDERR)
            os.close(self._stderr)
        if self._file is not None:
            self._file.seek(0)
            printed = self._file.read()
            self._file.close()
        self._stderr = self._file = None
        if printed and PANIC not in printed:
            os.write(STDERR, printed)


_held_back = _HeldBack()


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what native code prints to stderr, and leave it out if it tells of a panic."""
    _held_back.begin()
    try:
        yield
    finally:
        _held_back.end()


def quiet_steps(begin: Callable[..., Any], **options: Any) -> Iterator[Any]:
    """Each item of what `begin(**options)` iterates over, all steps of it without panics on stderr."""
    end = object()
    with without_panics():
        steps = iter(begin(**options))
    while True:
        with without_panics():
            item = next(steps, end)
        if item is end:
            return
        yield item
