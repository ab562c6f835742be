"""Copies of a folder to read from: some clients write to their files even where they are only asked for rows."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from veclink.files.scratch_folders import ScratchFolder, check_room, hold

COPY = "copy.db"
"""What a copy is called in its scratch folder; Milvus asks for the ending."""


def copied(folder: Path, kind: str, name: str, *leave_out: str) -> ScratchFolder:
    """A scratch folder with a copy of `folder` in it, called COPY.

    Parameters
    ----------
    folder : Path
        What is copied.
    kind : str
        What the scratch folder's name begins with.
    name : str
        What the store is called in the sentence of an error.
    leave_out : str
        Patterns of files that are not copied.
    """
    held = hold(f"{kind}-{secrets.token_hex(8)}")
    try:
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        check_room(held.path, size, f"copies of {name}")
        shutil.copytree(folder, held.path / COPY, ignore=shutil.ignore_patterns(*leave_out))
    except BaseException:
        discard(held)
        raise
    return held


def discard(held: ScratchFolder | None) -> None:
    """Remove a copy, if there is one."""
    if held is not None:
        held.remove()
        held.release()
