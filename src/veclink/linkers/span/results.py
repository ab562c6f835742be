"""What the stages of span linking hand on: each frozen, each with the one before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.confidence.calibration import Calibrated
from veclink.confidence.candidates import Candidates
from veclink.linkers.span.starts import Bootstrap


@dataclass(frozen=True, eq=False)
class Grown:
    """What growing ended with.

    Attributes
    ----------
    bootstrap : Bootstrap
        The best pool of all starts.
    links : ndarray of shape (m, 2)
        The links that the final maps are fitted to: the given pairs, and those of the pool that share no row with them.
    given : ndarray of shape (g, 2)
        The given pairs that do not look wrong.
    """

    bootstrap: Bootstrap
    links: np.ndarray
    given: np.ndarray


@dataclass(frozen=True, eq=False)
class Matched:
    """The candidates of the final pass."""

    grown: Grown
    candidates: Candidates


@dataclass(frozen=True, eq=False)
class Scored:
    """What the neighbourhoods say.

    Attributes
    ----------
    matched : Matched
        The candidates, c of them.
    features : ndarray of shape (c, 4)
        Their neighbourhood features.
    fitted : ndarray of shape (f,)
        Positions of those that the calibration is fitted to.
    """

    matched: Matched
    features: np.ndarray
    fitted: np.ndarray


@dataclass(frozen=True, eq=False)
class Estimated:
    """The candidates with their probabilities.

    Attributes
    ----------
    scored : Scored
        The candidates under the last maps.
    calibrated : Calibrated
        Their probabilities.
    unaided : Estimated, optional
        What the pool's own maps gave, before they were fitted again to the candidates: whether anything is shared is
        asked of that, since maps that are fitted to near neighbours find near neighbours.
    """

    scored: Scored
    calibrated: Calibrated
    unaided: Estimated | None = None

    @property
    def first(self) -> Estimated:
        """What the pool's own maps gave."""
        return self.unaided or self
