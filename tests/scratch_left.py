"""What runs have left in a scratch folder, for the tests that stop them."""

from __future__ import annotations

from pathlib import Path


def left_in(scratch: Path) -> list[Path]:
    """What lies in $VECLINK_SCRATCH."""
    return sorted(scratch.rglob("*"))
