"""SQLite files whose writer was killed: the pages that it had changed are undone before the file is read.

Beside the file lies a journal with those pages as they were. Whoever opens the file next puts them back; who may only
read cannot, and gets an error.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

# How a journal ends that names another file, which SQLite would then read, and remove.
NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")


def undo_killed_write(file: Path) -> None:
    """Let SQLite put back what a killed writer had changed; nothing happens where there is no journal.

    Where that cannot be (a folder that may not be written), the file stays as it is, and reading it says so.
    """
    journal = file.with_name(f"{file.name}-journal")
    if not _is_harmless(journal):
        return
    with suppress(sqlite3.Error):
        address = f"file:{quote(str(file.absolute()))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            # the first read looks at the journal; a writer that is alive holds a lock, and nothing is undone
            connection.execute("select count(*) from sqlite_master").fetchone()


def _is_harmless(journal: Path) -> bool:
    """Whether there is a journal, and it is about its own file alone."""
    try:
        with journal.open("rb") as content:
            size = content.seek(0, os.SEEK_END)
            content.seek(max(0, size - len(NAMES_A_FILE)))
            return size > 0 and content.read() != NAMES_A_FILE
    except OSError:
        return False
