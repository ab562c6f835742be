"""What runs have left in a scratch folder, for the tests that stop them."""

from __future__ import annotations

import os
import time
from pathlib import Path

EIGHT_DAYS = 8 * 24 * 3600


def left_in(scratch: Path) -> list[Path]:
    """The folders of interrupted reads and merges in $VECLINK_SCRATCH; anything else there fails the test."""
    homes = list(scratch.iterdir())
    assert all(home.name.startswith("veclink-scratch-") for home in homes)
    return sorted(path for home in homes for path in home.iterdir() if path.name != ".veclink-scratch")


def make_old(folder: Path) -> None:
    """Let a folder and all in it look as if nobody had come back for more than a week."""
    then = time.time() - EIGHT_DAYS
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then), follow_symlinks=False)
