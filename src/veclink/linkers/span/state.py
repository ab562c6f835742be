"""What the stages of span linking are given (`Task`), what they know so far (`State`), and how that is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence.calibration import Calibrated
from veclink.confidence.candidates import Candidates
from veclink.geometry.arrays import Sides
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.checkpoint import Watch
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.starts import Bootstrap
from veclink.progress import Progress

LATER: Any = None  # what a later stage fills


@dataclass(frozen=True, eq=False)
class State:
    """What is known of a run, filled stage by stage."""

    # grow
    bootstrap: Bootstrap  # the best pool of all starts
    links: np.ndarray  # (m, 2) what the final maps are fitted to: the given pairs, then pool links that share no row
    given: np.ndarray  # (g, 2) the given pairs that do not look wrong
    # match
    candidates: Candidates = LATER  # c of them
    # score
    features: np.ndarray = LATER  # (c, 4) what their neighbourhoods say
    fitted: np.ndarray = LATER  # (f,) positions of those that the calibration is fitted to
    # estimate
    calibrated: Calibrated = LATER
    # refit: what the pool's own maps gave. Whether anything is shared is asked of that, since maps that are fitted to
    # near neighbours find near neighbours.
    unaided: State | None = None


KEPT = {kind.__name__: kind for kind in (State, Bootstrap, Pool, Candidates)}


@dataclass(frozen=True, eq=False)
class Task:
    """What every stage is given: two centred clouds, the anchors if any, the options, the generator, who listens."""

    clouds: CloudPair
    anchors: Anchors | None
    options: SpanOptions
    rng: np.random.Generator
    watch: Watch

    @property
    def given(self) -> np.ndarray:
        """The given pairs of rows, (m, 2)."""
        return no_pairs() if self.anchors is None or not self.anchors.marked else self.anchors.rows

    @property
    def smaller(self) -> int:
        """Rows of the smaller cloud."""
        return min(self.clouds.n_a, self.clouds.n_b)

    def outside(self, bootstrap: Bootstrap) -> Sides | None:
        """The vectors of outside anchors that maps are fitted to beside the links of this pool; None for none."""
        if not bootstrap.anchored or self.anchors is None:
            return None
        return self.anchors.left, self.anchors.right

    def tell(self, stage: str, step: int, links: int, of: int | None = None) -> None:
        """Say how far a stage is, and how many links there are."""
        self.watch.tell(Progress(step, of, links, None, stage))

    def kept(self, stage: str, run: Callable[[], State]) -> State:
        """What a long stage gives: from the checkpoint, or made now and kept there."""
        packed = self.watch.load(stage, self.rng)
        if packed is not None:
            arrays, plain = packed
            state = _unpacked(plain, arrays)
            assert isinstance(state, State), "that is what is packed"
            return state
        state, arrays = run(), {}
        self.watch.save(stage, self.rng, (arrays, _packed(state, arrays)))
        return state


def _packed(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON has it; arrays are put aside, by number."""
    if is_dataclass(value):
        held = {each.name: _packed(getattr(value, each.name), arrays) for each in fields(value)}
        return {"kind": type(value).__name__, "held": held}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        return [_packed(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(plain: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that was packed."""
    if isinstance(plain, list):
        return tuple(_unpacked(each, arrays) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]]
    return KEPT[plain["kind"]](**{name: _unpacked(each, arrays) for name, each in plain["held"].items()})


@dataclass
class Growing:
    """Tells whoever watches of the rounds of one start after another, by its name from the second start on."""

    watch: Watch
    attempts: int = 0
    stage: str = "growing"

    def begin(self, attempt: str) -> None:
        """Say which start is tried from now on."""
        self.attempts += 1
        if self.attempts > 1:
            self.stage = f"starting from {attempt}"
        self.tell(0, 0, None)

    def tell(self, step: int, links: int, agreement: float | None) -> None:
        """Say that a round is done."""
        self.watch.tell(Progress(step, None, links, agreement, self.stage))
