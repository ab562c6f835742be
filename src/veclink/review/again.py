"""Linking again with what was accepted: in a thread, so that the page can show how far it is, and stop it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.judged import judged_anew, with_ranges, with_shares
from veclink.data.links import Links
from veclink.errors import InputError, VeclinkError, without_secrets
from veclink.linkers.linking import link
from veclink.progress import Progress
from veclink.review.recalled import recalled
from veclink.review.session import Review


@dataclass(frozen=True)
class Status:
    """How a run stands. phase: idle, running, done, failed or stopped; links, step, stage: as `Progress` tells them."""

    phase: str = "idle"
    stage: str = ""
    step: int = 0
    links: int = 0
    seconds: float = 0.0
    message: str = ""


class _Stopped(Exception):
    """Raised inside the linker's progress listener, to leave it."""


class LinkAgain:
    """One run at a time of `veclink.link` with the accepted pairs as seeds; the result goes to `output`."""

    def __init__(self, review: Review, output: Path, **options: Any) -> None:
        """options: more arguments of `link`, such as device, memory and skip_zero."""
        self._review, self._output, self._options = review, output, options
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._status = Status()
        self._began = 0.0
        self._thread: threading.Thread | None = None
        self._found: Links | None = None

    def status(self) -> Status:
        """How the last run stands."""
        with self._lock:
            if self._status.phase == "running":
                return replace(self._status, seconds=time.monotonic() - self._began)
            return self._status

    def start(self) -> None:
        """Begin a run, unless one is under way or there is nothing to begin with."""
        seeds, left_out = self._review.seed_pairs()
        if not seeds:
            raise InputError("No link was accepted yet, so there is nothing to link again with; accept some first.")
        with self._lock:
            if self._status.phase == "running":
                raise InputError("Linking is under way already; wait for it, or stop it.")
            self._stop.clear()
            self._found = None
            self._began = time.monotonic()
            self._status = Status("running", stage="reading")
            self._thread = threading.Thread(target=self._run, args=(seeds, left_out), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ask a run to end; it does so at its next step."""
        self._stop.set()

    def wait(self) -> None:
        """Return when no run is under way."""
        if self._thread is not None:
            self._thread.join()

    def take(self) -> None:
        """Review the links that the last run found."""
        with self._lock:
            if self._found is None:
                raise InputError("There are no new links to review; link again first.")
            self._review.use(self._found, self._output.name)
            self._found = None
            self._status = Status()

    def _run(self, seeds: list[tuple[int, int]], left_out: int) -> None:
        old = self._review.links
        options, ignored = recalled(old.summary.method, old.options)
        try:
            found = link(
                self._review.a,
                self._review.b,
                seeds=self._named(seeds),
                method=old.summary.method,
                progress=self._listen,
                **{**options, **self._options},
            )
            vetoed = without(found, self._review.rejected())
            vetoed.save(self._output)
            message = _compared(old, vetoed, len(seeds), left_out, len(found) - len(vetoed), self._output)
            status = Status("done", links=len(vetoed), message=message)
            with self._lock:
                self._found = vetoed
        except _Stopped:
            status = Status("stopped", message="Stopped; nothing was written.")
        except (VeclinkError, OSError, MemoryError) as error:
            status = Status("failed", message=without_secrets(str(error)) or "There is not enough memory.")
        except BaseException as error:  # a bug: the page must not wait for ever, and the terminal gets the traceback
            self._end(Status("failed", message=f"Linking broke off ({type(error).__name__}); the terminal says more."))
            raise
        self._end(replace(status, message=f"{status.message} {ignored}".strip()))

    def _end(self, status: Status) -> None:
        with self._lock:
            self._status = replace(status, seconds=time.monotonic() - self._began)

    def _listen(self, now: Progress) -> None:
        if self._stop.is_set():
            raise _Stopped
        with self._lock:
            self._status = Status("running", stage=now.stage, step=now.step, links=now.links)

    def _named(self, pairs: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
        journal = self._review.journal
        return [(journal.name(0, x), journal.name(1, y)) for x, y in pairs]


def without(links: Links, pairs: list[tuple[int, int]]) -> Links:
    """The links but for those that are known to be wrong."""
    wrong = set(pairs)
    kept = np.array([(x, y) not in wrong for x, y in links.pairs.tolist()], dtype=bool)
    probability = links.probability[kept]
    summary = links.summary
    if summary.precision is not None:
        summary = judged_anew(with_ranges(with_shares(summary, probability), probability))
    return links.some(kept, replace(summary, n_links=len(probability), agreement=None), considered=None)


def _compared(old: Links, new: Links, seeds: int, left_out: int, vetoed: int, output: Path) -> str:
    before, after = set(map(tuple, old.pairs.tolist())), set(map(tuple, new.pairs.tolist()))
    parts = [
        f"{len(new):,} links from {seeds:,} seeds ({new.summary.verdict}): {len(after & before):,} as before, "
        f"{len(after - before):,} new, {len(before - after):,} gone."
    ]
    if vetoed:
        parts.append(f"{vetoed:,} that you had rejected came up again and were left out.")
    if left_out:
        parts.append(f"{left_out:,} accepted pairs contradict one another and were not used.")
    parts.append(f"Written to {output.name}.")
    return " ".join(parts)
