"""Running the stages of a linker: what is kept, told and traced stands around them, not in them.

A stage is a function from the task and the frozen result before it to the next frozen result. `run_stages` goes through
a list of them; `run_rounds` repeats one step until it is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from veclink.linkers.checkpoint import Checkpoint, Packed, UnfinishedPass
from veclink.linkers.result import Decision
from veclink.progress import Progress, ProgressListener


@dataclass(frozen=True, eq=False)
class Watch:
    """Who hears of a run, and where it is kept, if anybody and anywhere."""

    progress: ProgressListener | None = None
    checkpoint: Checkpoint | None = None

    def tell(self, now: Progress) -> None:
        """Say how far the run is."""
        if self.progress is not None:
            self.progress(now)

    def unfinished(self, told: Callable[[int, int], None]) -> UnfinishedPass | None:
        """Where a pass over all rows keeps what it has so far; `told` hears of (rows done, rows)."""
        return None if self.checkpoint is None else self.checkpoint.unfinished(told)

    def load(self, stage: str, rng: np.random.Generator) -> Packed | None:
        """What was kept of a stage, the generator set to its state after it."""
        return None if self.checkpoint is None else self.checkpoint.load(stage, rng)

    def save(self, stage: str, rng: np.random.Generator, packed: Packed) -> None:
        """Keep a stage, and the state of the generator after it."""
        if self.checkpoint is not None:
            self.checkpoint.save(stage, rng, *packed)
            self.checkpoint.forget_unfinished()


NOBODY = Watch()


class Task(Protocol):
    """What every stage of a run is given."""

    @property
    def rng(self) -> np.random.Generator:
        """Seed of the random generator."""

    @property
    def watch(self) -> Watch:
        """Who hears of the run."""


@dataclass(frozen=True, eq=False)
class Kept:
    """How the result of a stage is kept in a checkpoint.

    Attributes
    ----------
    name : str
        Of its file.
    pack : callable
        From the result to arrays and plain values.
    unpack : callable
        From the result before, and what was packed, to the result.
    """

    name: str
    pack: Callable[[Any], Packed]
    unpack: Callable[[Any, Packed], Any]


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a linker.

    Attributes
    ----------
    run : callable
        From the task and the result before to the result.
    kept : Kept, optional
        How it is kept, where making it takes long.
    opening : callable, optional
        What is told before it, from the result before.
    trace : callable, optional
        What the trace says about its result, as plain values.
    settles : callable, optional
        From the task and its result to the decision, where there is nothing to go on with.
    """

    run: Callable[[Any, Any], Any]
    kept: Kept | None = None
    opening: Callable[[Any], Progress] | None = None
    trace: Callable[[Any], dict[str, Any]] | None = None
    settles: Callable[[Any, Any], Decision | None] | None = None


def run_stages(stages: Sequence[Stage], task: Task) -> Decision:
    """Go through the stages, the last of which decides, unless one before it has settled the matter."""
    result: Any = None
    trace: dict[str, Any] = {}
    for stage in stages:
        if stage.opening is not None:
            task.watch.tell(stage.opening(result))
        result = _kept_or_made(stage, task, result)
        if stage.trace is not None:
            trace |= stage.trace(result)
        settled = None if stage.settles is None else stage.settles(task, result)
        if settled is not None:
            result = settled
            break
    assert isinstance(result, Decision), "the last stage decides"
    return replace(result, trace=trace)


def _kept_or_made(stage: Stage, task: Task, before: Any) -> Any:
    """The result of a stage: from the checkpoint, or made now and kept there."""
    if stage.kept is None:
        return stage.run(task, before)
    packed = task.watch.load(stage.kept.name, task.rng)
    if packed is not None:
        return stage.kept.unpack(before, packed)
    result = stage.run(task, before)
    packed = stage.kept.pack(result)
    task.watch.save(stage.kept.name, task.rng, packed)
    return result


class Rounds(Protocol):
    """A step that is repeated until it is finished."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""

    def advance(self, rng: np.random.Generator) -> None:
        """Do one step."""

    def pack(self) -> Packed:
        """What has to be kept to go on later."""

    def unpack(self, packed: Packed) -> None:
        """Go on from what was kept."""

    def progress(self) -> Progress:
        """How far it is."""


def run_rounds(name: str, rounds: Rounds, rng: np.random.Generator, watch: Watch) -> None:
    """Repeat a step until it is finished; what it has is kept and told after each."""
    packed = watch.load(name, rng)
    if packed is not None:
        rounds.unpack(packed)
    while not rounds.finished:
        rounds.advance(rng)
        watch.save(name, rng, rounds.pack())
        watch.tell(rounds.progress())
