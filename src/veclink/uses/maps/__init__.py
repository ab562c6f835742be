"""Maps from one embedding space to another, fitted to pairs of unit vectors of the same objects.

Each kind turns rows of A's space into rows of B's: `map.apply(x)`, float32, not of unit length. Dimensions may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from veclink.errors import InputError, named
from veclink.uses.maps.affine import Affine, fit_blend, fit_lowrank, fit_procrustes, fit_ridge
from veclink.uses.maps.local import Local, fit_local
from veclink.uses.maps.moments import Moments, Paired, sum_of

__all__ = [
    "DEFAULT_MAP",
    "KINDS",
    "LEAST_LINKS",
    "Affine",
    "Local",
    "Map",
    "Moments",
    "Paired",
    "fit_map",
    "map_from_arrays",
]

KINDS = ("blend", "la2m", "procrustes", "ridge", "lowrank")
DEFAULT_MAP = "blend"
"""Chosen on SciFact by NDCG@100 of merged collections (`veclink bench merge-sure`); "la2m" is the paper's."""
LEAST_LINKS = 10
"""Links that a map is fitted to at least."""


class Map(Protocol):
    """What every kind of map can do."""

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Rows of A's space (n, d1) as rows of B's (n, d2), float32."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that `map_from_arrays` makes the map of again."""


def fit_map(kind: str, pairs: Paired, moments: list[Moments], *, random_state: int = 0) -> Map:
    """A map of one of the KINDS from paired rows.

    moments: those of the pairs in a few parts, so that strengths and ranks are chosen on pairs that did not take part;
    all that the affine kinds look at. `pairs` gives the rows themselves, for the local kind.
    """
    if kind not in KINDS:
        raise InputError(f"The map {kind!r} is unknown; it is one of {named(KINDS)}.")
    if kind == "la2m":
        return fit_local(pairs, sum_of(moments), np.random.default_rng(random_state))
    if kind == "procrustes":
        return fit_procrustes(sum_of(moments))
    return {"ridge": fit_ridge, "lowrank": fit_lowrank, "blend": fit_blend}[kind](moments)


def map_from_arrays(arrays: Mapping[str, Any]) -> Map:
    """The map that gave these arrays."""
    return Local(**arrays) if "centres" in arrays else Affine(**arrays)
