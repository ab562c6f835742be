"""One case at a time in this process: a command is run as its user would run it, and what it says is judged.

Whatever a library prints lands in the same place: the descriptors of stdout and stderr lead into a file, which is
looked through after each case.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

CODES = (0, 1, 2, 3)
"""Done, an error, wrong usage, not linkable: what a command that nobody stops ends with."""
LEAKED = re.compile(r"Traceback \(most recent call last\)|u:p@|terminate called|Assertion.*failed|\bFatal\b")
"""What a program prints when something went wrong that nobody had thought of; and the password of the URLs here."""
SENTENCE = re.compile(r"^(veclink|Usage|Error|Aborted)", re.MULTILINE)


class Fault(Exception):
    """A case that ended in a way in which none may end."""


class Said:
    """The file that all output of this process goes to."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(self._file, descriptor)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)

    def take(self) -> str:
        """What was said since the last call."""
        sys.stdout.flush()
        sys.stderr.flush()
        size = os.fstat(self._file).st_size
        text = os.pread(self._file, size, 0).decode("utf-8", "replace")
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return text


_said: list[Said] = []


def begin(path: Path) -> None:
    """Send all output of this process to a file, and make the command line ready."""
    import typer

    from veclink.cli import app as line

    _said.append(Said(path))
    # built once, instead of at each call: it is the same command
    built: Any = typer.main.get_command(line.app)
    line.app = built


def said() -> str:
    """What was printed since the last call; a fault where it is something that no user should see."""
    text = _said[0].take()
    if LEAKED.search(text):
        raise Fault(f"printed: {text[-3000:]}")
    return text


def forget() -> None:
    """Leave out what was printed since the last call: the case that printed it has ended in a fault already."""
    _said[0].take()


def command(*arguments: Any) -> str:
    """Run a veclink command here; its exit code, a fault where it ends in a way in which none may end."""
    from veclink.cli.app import main

    sys.argv = ["veclink", *map(str, arguments)]
    code: Any = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    text = said()
    if code not in CODES:
        raise Fault(f"exit code {code}: {text[-3000:]}")
    if code in (1, 2) and not SENTENCE.search(text):
        raise Fault(f"exit code {code} without a sentence: {text[-3000:]!r}")
    return f"exit {code}"
