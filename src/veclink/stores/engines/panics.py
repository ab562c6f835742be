"""Engines in Rust print where they panicked, beside the error that they raise: here that is kept from the terminal.

What else is printed meanwhile is passed on afterwards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import Any

PANIC = b"panicked at"
STDERR = 2


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what native code prints to stderr, and leave it out if it tells of a panic."""
    try:
        kept = os.dup(STDERR)
    except OSError:  # there is no stderr, so nothing to keep clean
        yield
        return
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    with TemporaryFile() as file:
        os.dup2(file.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(kept, STDERR)
            os.close(kept)
            file.seek(0)
            printed = file.read()
            if printed and PANIC not in printed:
                os.write(STDERR, printed)


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
