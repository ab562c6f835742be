"""What the stages of span linking are given: the two clouds and what was asked, and who hears of the rounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.geometry.arrays import Sides
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.centring import centred
from veclink.linkers.span.starts import Bootstrap
from veclink.linkers.stages import Watch
from veclink.progress import Progress


@dataclass(frozen=True, eq=False)
class SpanTask:
    """What every stage is given: two centred clouds, the anchors if any, the options, the generator, who listens."""

    clouds: CloudPair
    anchors: Anchors | None
    options: SpanOptions
    rng: np.random.Generator
    watch: Watch
    _moved: list[CloudPair] = field(default_factory=list, repr=False)  # made once, for all stages after growing

    @property
    def given(self) -> np.ndarray:
        """The given pairs of rows, (m, 2)."""
        if self.anchors is None or not self.anchors.marked:
            return no_pairs()
        return self.anchors.rows

    def on(self, bootstrap: Bootstrap) -> SpanTask:
        """The same on clouds that are centred where the pool grew."""
        if bootstrap.means is None:
            return self
        if not self._moved:
            self._moved.append(centred(self.clouds, bootstrap.means))
        return replace(self, clouds=self._moved[0])

    def outside(self, bootstrap: Bootstrap) -> Sides | None:
        """The vectors of outside anchors that maps are fitted to beside the links of this pool; None for none."""
        if not bootstrap.anchored or self.anchors is None:
            return None
        return self.anchors.left, self.anchors.right

    def tell_rows(self, links: int, done: int, of: int) -> None:
        """Say how many rows of the final pass are matched."""
        self.watch.tell(Progress(done, of, links, None, "matching"))


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
            self.stage = f"growing ({attempt})"
        self.tell(0, 0, None)

    def tell(self, step: int, links: int, agreement: float | None) -> None:
        """Say that a round is done."""
        self.watch.tell(Progress(step, None, links, agreement, self.stage))
