"""What runs have left in a scratch folder, for the tests that stop them."""

from __future__ import annotations

from pathlib import Path


def left_in(scratch: Path) -> list[Path]:
    """What lies in $VECLINK_SCRATCH beside the folder of all scratch space."""
    return sorted(path for path in scratch.rglob("*") if path != scratch / "veclink")
