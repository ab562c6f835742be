"""Stages: run in order, told and traced; what was kept is not made again; an early decision ends the list."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veclink.linkers.checkpoint import Checkpoint
from veclink.linkers.result import Decision
from veclink.linkers.stages import Kept, Packed, Stage, Watch, run_stages
from veclink.linkers.verdict import Verdict
from veclink.progress import Progress


@dataclass(frozen=True, eq=False)
class _Task:
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    watch: Watch = field(default_factory=Watch)
    made: list[str] = field(default_factory=list)


def _draw(task: _Task, _: None) -> float:
    task.made.append("draw")
    return task.rng.random()


def _decide(task: _Task, drawn: float) -> Decision:
    task.made.append("decide")
    return Decision("test", Verdict("linkable", (f"{drawn}", f"{task.rng.random()}")))


def _pack(drawn: float) -> Packed:
    return {}, drawn


def _unpack(_: Any, packed: Packed) -> float:
    return packed[1]


DRAW = Stage(_draw, kept=Kept("drawn", _pack, _unpack), trace=lambda drawn: {"drawn": drawn})
DECIDE = Stage(_decide, opening=lambda drawn: Progress(0, None, 0, drawn, "deciding"))


def test_stages_hand_on_their_results_and_are_told_and_traced() -> None:
    told: list[Progress] = []
    task = _Task(watch=Watch(told.append))
    decision = run_stages((DRAW, DECIDE), task)
    first, second = np.random.default_rng(0).random(2)
    assert decision.verdict.reasons == (f"{first}", f"{second}") and decision.trace == {"drawn": first}
    assert [(each.stage, each.confidence) for each in told] == [("deciding", first)]


def test_a_kept_stage_is_not_made_again_and_the_generator_goes_on_after_it(tmp_path: Path) -> None:
    first = _Task(watch=Watch(checkpoint=Checkpoint(tmp_path, "x")))
    again = _Task(np.random.default_rng(99), Watch(checkpoint=Checkpoint(tmp_path, "x")))
    expected, decision = run_stages((DRAW, DECIDE), first), run_stages((DRAW, DECIDE), again)
    assert first.made == ["draw", "decide"] and again.made == ["decide"]
    assert decision.verdict == expected.verdict and decision.trace == expected.trace


def test_a_stage_that_settles_the_matter_is_the_last() -> None:
    task = _Task()
    nothing = Decision("test", Verdict("not linkable", ("Nothing to go on with.",)))
    decision = run_stages((Stage(_draw, settles=lambda task, drawn: nothing), DECIDE), task)
    assert task.made == ["draw"] and decision.verdict == nothing.verdict


def test_a_list_of_stages_has_to_end_in_a_decision() -> None:
    with pytest.raises(AssertionError, match="the last stage decides"):
        run_stages((DRAW,), _Task())
