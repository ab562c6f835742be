"""The final pass over all rows of large clouds, searched in cells: everything about `approximate=True` is here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections, Seen
from veclink.matching import Matches

EXACT = "The final pass was exact: that takes little time for so few rows."


@dataclass(frozen=True, eq=False)
class ApproximatePass:
    """Matches all rows in cells, and notes how often that finds the partner that an exact search gives."""

    clouds: CloudPair
    rng: np.random.Generator
    _recall: list[str] = field(default_factory=list)

    def __call__(self, axes: Projections, depth: int) -> Matches:
        """All rows of both clouds matched along the axes."""
        from veclink.matching.approximate import match_approximately

        left, right = self._signatures(axes)
        state = int(self.rng.integers(1 << 31))
        found = match_approximately(
            left,
            right,
            k=self.clouds.k,
            depth=depth,
            random_state=state,
        )
        self._recall.append(
            f"The final pass was approximate: for {found.recall:.1%} of {found.sampled:,} sampled rows it gives the "
            "best partner that an exact search gives."
        )
        return found.matches

    def notes(self) -> tuple[str, ...]:
        """What the reasons say about the pass."""
        return tuple(self._recall) or (EXACT,)

    def _signatures(self, axes: Projections) -> tuple[np.ndarray | Seen, np.ndarray | Seen]:
        clouds = self.clouds
        if clouds.device == "cpu":
            return clouds.signature("a", axes[0]), clouds.signature("b", axes[1])
        # Where rows are on a device, they are brought here block by block.
        return Seen(clouds.a, axes[0]), Seen(clouds.b, axes[1])
