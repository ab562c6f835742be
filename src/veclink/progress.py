"""What a linker tells while it works."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

COMPILING = "compiling"
"""The stage of the first run on a machine, before all others."""

LEAST_CONFIDENCE = 0.005
"""What is less is 0.00 to a reader: nothing bears the pairs out."""

LOG_EVERY = 10.0
"""Seconds between two lines of progress where stderr is not a terminal."""


@dataclass(frozen=True)
class Progress:
    """One step of a run.

    `step` counts from 1; `of` is the most steps there can be, None when unknown; `links` is the size of the current
    result and `confidence` the mean confidence in it (None when there is none yet; where it is 0, `links` are pairs
    that were tried and that nothing bears out); `stage` names what is done.
    While a store is read, the steps are rows, and `rows_per_second` says how fast they come.
    """

    step: int
    of: int | None
    links: int
    confidence: float | None
    stage: str
    rows_per_second: float | None = None


ProgressListener = Callable[[Progress], None]


def tell(listener: ProgressListener | None, stage: str, links: int = 0, step: int = 0, of: int | None = None) -> None:
    """Say what is being done, if anybody listens."""
    if listener is not None:
        listener(Progress(step, of, links, None, stage))


RoundListener = Callable[[int, int, float], None]
"""Hears of a round: which it is, how many links it has or rows it looked at, and the confidence in them, 0 of rows."""


Given = ParamSpec("Given")
Result = TypeVar("Result")


def shows_progress(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function take `progress=True`: whoever calls it then sees how far it is, while it works."""

    @functools.wraps(function)
    def watched(*args: Given.args, **keywords: Given.kwargs) -> Result:
        if not isinstance(keywords.get("progress"), bool):
            return function(*args, **keywords)
        with showing_progress(quiet=not keywords["progress"]) as listener:
            keywords["progress"] = listener
            return function(*args, **keywords)

    return watched


def heard(progress: ProgressListener | bool | None) -> ProgressListener | None:
    """The listener inside a function that `shows_progress`: there, True has become one."""
    return None if isinstance(progress, bool) else progress


@contextmanager
def showing_progress(*, quiet: bool) -> Iterator[ProgressListener | None]:
    """Give a listener that shows iteration, links, confidence and time left on stderr; None when `quiet`.

    A terminal gets one live line that goes away at the end, a notebook one line that is written over, anything else a
    plain line now and then.
    """
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_jupyter:
        with _live_line(console) as draw:
            yield draw
        return
    started = last = time.monotonic()
    width = 0

    def write(now: Progress) -> None:
        nonlocal last, width
        moment = time.monotonic()
        line = ": ".join(filter(None, [now.stage, describe(now, moment - started)]))
        if console.is_jupyter:
            sys.stderr.write(f"\r{line.ljust(width)}")  # what is shorter must hide what was longer
            sys.stderr.flush()
            width = len(line)
        elif moment - last >= LOG_EVERY:
            last = moment
            console.print(line, highlight=False, soft_wrap=True)

    yield write
    if console.is_jupyter:
        sys.stderr.write("\n")


def describe(now: Progress, elapsed: float) -> str:
    """One line about a step; the time left is an upper bound, for a linker stops when nothing changes any more."""
    if now.stage == COMPILING:
        return "once, for some seconds"
    rate = now.rows_per_second
    if rate is not None:
        of = "" if now.of is None else f" of {now.of:,}"
        parts = [f"{now.step:,}{of} rows", f"{rate:,.0f} a second"]
        return ", ".join(parts if now.of is None or not rate else [*parts, _left((now.of - now.step) / rate)])
    if not now.step:  # its stage says all that there is to say
        return ""
    parts = [f"iteration {now.step}"]
    if now.confidence is not None and now.confidence < LEAST_CONFIDENCE:
        parts.append(f"{now.links:,} pairs tried; links come at the end")
    else:
        parts.append(f"{now.links:,} links")
        parts += [] if now.confidence is None else [f"confidence {now.confidence:.2f}"]
    if now.of is not None:
        parts.append(f"at most {_left(elapsed / now.step * (now.of - now.step))}")
    return ", ".join(parts)


def _left(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d} left"


@contextmanager
def _live_line(console: Console) -> Iterator[ProgressListener]:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    texts = TextColumn("{task.fields[stage]}"), TextColumn("{task.fields[status]}")
    with Bar(SpinnerColumn(), texts[0], BarColumn(bar_width=None), texts[1], console=console, transient=True) as bar:
        task = bar.add_task("", total=None, stage="reading", status="")
        started = time.monotonic()

        def draw(now: Progress) -> None:
            status = describe(now, time.monotonic() - started)
            bar.update(task, completed=now.step, total=now.of, stage=now.stage, status=status)

        yield draw
