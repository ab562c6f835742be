"""What a probe tries without seeds: whether a start from nothing converges, asked of a sample of the rows.

A random part of both sides would lose nearly all partners. So the start that linking itself would make is made: of
large collections it aligns samples, and asks some rows of the smaller side for partners among all of the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from veclink.backends import chosen_device
from veclink.backends.cloud_pair import placed_clouds
from veclink.geometry.clouds import Cloud
from veclink.linkers.span.starts import DEFAULT_OPTIONS, best_pool
from veclink.progress import Progress, ProgressListener


@dataclass(frozen=True)
class StartTrial:
    """How the start from nothing went.

    Attributes
    ----------
    converged : bool
        Whether the views agree on enough to have found the map.
    share : float
        Of the rows asked, those in pairs that the views agree on.
    asked : int
        Rows of the smaller side that were asked for a partner.
    tried : int
        Starts that were tried.
    seconds : float
        How long it took.
    """

    converged: bool
    share: float
    asked: int
    tried: int
    seconds: float

    @property
    def sentence(self) -> str:
        """What was tried, and what came of it."""
        were = "1 start was" if self.tried == 1 else f"{self.tried} starts were"
        return (
            f"Without seeds, {were} tried on {self.asked:,} rows of the smaller collection: views agree on pairs for "
            f"{self.share:.0%} of them."
        )


def try_start(
    a: Cloud,
    b: Cloud,
    *,
    device: str,
    random_state: int,
    progress: ProgressListener | None = None,
) -> StartTrial:
    """Make the start that linking two clouds without seeds would make, and no more."""
    began = time.perf_counter()
    options = DEFAULT_OPTIONS
    clouds = placed_clouds(a, b, chosen_device(device), None, k=options.k, ridge=options.ridge)

    begun: list[str] = []

    def tell(step: int, links: int, agreement: float) -> None:
        if progress is not None:
            progress(Progress(step, None, links, agreement, f"trying a start ({begun[-1]})"))

    found = best_pool(
        clouds,
        None,
        np.random.default_rng(random_state),
        options=options,
        listener=tell,
        attempt_listener=begun.append,
    )
    return StartTrial(
        converged=found.converged,
        share=found.share,
        asked=found.pool.extent,
        tried=len(found.tried),
        seconds=time.perf_counter() - began,
    )
