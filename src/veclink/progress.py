"""What a linker tells while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One step of a run.

    `step` counts from 1; `of` is the most steps there can be, None when unknown; `links` is the size of the current
    result and `confidence` the mean confidence in it (None when there is none yet); `stage` names what is done.
    While a store is read, the steps are rows, and `rows_per_second` says how fast they come.
    """

    step: int
    of: int | None
    links: int
    confidence: float | None
    stage: str
    rows_per_second: float | None = None


ProgressListener = Callable[[Progress], None]
