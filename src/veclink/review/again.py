"""Linking again with what was accepted: in a thread, so that the page can show how far it is, and stop it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.summary import judged_anew, summary_of_first
from veclink.errors import InputError, VeclinkError, named, without_secrets
from veclink.linkers.linking import link
from veclink.linkers.options import OPTIONS, SpanOptions
from veclink.progress import Progress
from veclink.review import Review
from veclink.review.journal import Pair


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
        self._stop = threading.Event()
        self.status = Status()  # replaced as a whole, so that it can be read from any thread

    def start(self) -> None:
        """Begin a run, unless one is under way or there is nothing to begin with."""
        seeds, left_out = self._review.seed_pairs()
        if not seeds:
            raise InputError("No link was accepted yet, so there is nothing to link again with; accept some first.")
        if self.status.phase == "running":
            raise InputError("Linking is under way already; wait for it, or stop it.")
        self._stop.clear()
        self.status = Status("running", stage="reading")
        self.thread = threading.Thread(target=self._run, args=(seeds, left_out), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Ask a run to end; it does so at its next step."""
        self._stop.set()

    def take(self) -> None:
        """Review the links that the last run found."""
        if self.status.phase != "done":
            raise InputError("There are no new links to review; link again first.")
        self._review.use(self._found, self._output.name)
        self.status = Status()

    def _run(self, seeds: list[Pair], left_out: int) -> None:
        old, began = self._review.links, time.monotonic()

        def listen(now: Progress) -> None:
            if self._stop.is_set():
                raise _Stopped
            self.status = Status("running", now.stage, now.step, now.links, time.monotonic() - began)

        # A links file comes from anywhere. It may say how the method works, and nothing else: where a run connects to,
        # what it writes, and what it runs on is the user's to say.
        known = {"random_state", *(each.name for each in fields(OPTIONS.get(old.summary.method, SpanOptions)))}
        options = {name: value for name, value in old.options.items() if name in known}
        end = Status("failed", message="Linking broke off; the terminal says more.")  # a bug, whose traceback is there
        try:
            found = link(
                self._review.a,
                self._review.b,
                seeds=[self._review.journal.names(pair) for pair in seeds],
                method=old.summary.method,
                progress=listen,
                **{**options, **self._options},
            )
            kept = without(found, self._review.journal.rejected())
            kept.save(self._output)
            told = _compared(old, kept, len(seeds), left_out, len(found) - len(kept))
            if ignored := [name for name in old.options if name not in known and name != "approximate"]:  # of 0.1, gone
                told += f" The links file names {named(ignored)}, which no links file decides; ignored."
            self._found = kept
            end = Status("done", links=len(kept), message=f"{told} Written to {self._output.name}.")
        except _Stopped:
            end = Status("stopped", message="Stopped; nothing was written.")
        except (VeclinkError, OSError, MemoryError) as error:
            end = Status("failed", message=without_secrets(str(error)) or "There is not enough memory.")
        finally:  # the page must not wait for ever
            self.status = replace(end, seconds=time.monotonic() - began)


def without(links: Links, pairs: list[Pair]) -> Links:
    """The links but for those that are known to be wrong."""
    wrong = set(pairs)
    kept = np.array([(x, y) not in wrong for x, y in links.pairs.tolist()], dtype=bool)
    return links.some(kept, judged_anew(summary_of_first(links.summary, links.probability[kept])))


def _compared(old: Links, new: Links, seeds: int, left_out: int, vetoed: int) -> str:
    before, after = set(map(tuple, old.pairs.tolist())), set(map(tuple, new.pairs.tolist()))
    told = (
        f"{len(new):,} links from {seeds:,} seeds ({new.summary.verdict}): {len(after & before):,} as before, "
        f"{len(after - before):,} new, {len(before - after):,} gone."
    )
    if vetoed:
        told += f" {vetoed:,} that you had rejected came up again and were left out."
    if left_out:
        told += f" {left_out:,} accepted pairs contradict one another and were not used."
    return told
