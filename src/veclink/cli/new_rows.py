"""What commands about new rows share: which file names the new rows, and which the other side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from veclink.cli.shared import Payloads, opened
from veclink.progress import ProgressListener

if TYPE_CHECKING:
    from veclink.data.collection import Collection


def payloads_of(payloads: Payloads, side: str, against: str | None) -> tuple[Path | None, Path | None]:
    """The file about the new rows, and the one about the other side, which is refused where that is not given."""
    other = "b" if side == "a" else "a"
    files = {"a": payloads.payload_a, "b": payloads.payload_b}
    if files[other] is not None and against is None:
        raise typer.BadParameter(
            f"The new rows are of {side.upper()} (--side), and --payload-{side} is their file; --payload-{other} names "
            f"the rows of {other.upper()} and needs --against with it."
        )
    return files[side], files[other]


def opened_other(
    against: str | None,
    payload: Path | None,
    progress: ProgressListener | None,
) -> str | Collection | None:
    """The other side, as a linker takes it: opened here only where a file names its rows."""
    return against if against is None or payload is None else opened(against, payload, progress=progress)
