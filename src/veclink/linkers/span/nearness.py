"""How near all rows of two clouds are to one another, where all pairs can be held, and which are nearest both ways."""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Sides
from veclink.geometry.nearest import largest_values
from veclink.linkers.span.constants import NEIGHBOURS
from veclink.threads import multiply


def csls_of_all(signatures: Sides, part: float = 1.0) -> np.ndarray:
    """csls of all pairs (n1, n2).

    part: share of the rows of the first side that are here; the density of the second side's rows is taken over as
    many fewer neighbours.
    """
    left, right = signatures
    cosine = multiply(left, right.T)
    own = largest_values(cosine, NEIGHBOURS).mean(axis=1)
    fewer = max(1, round(NEIGHBOURS * part))
    other = largest_values(cosine.T, fewer).mean(axis=1)
    cosine *= 2
    cosine -= own[:, None]
    cosine -= other
    return cosine


def mutual_pairs(csls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that are each other's best (p, 2), and their csls, the best first."""
    best = csls.argmax(axis=1)
    best_back = csls.argmax(axis=0)
    every_row = np.arange(len(csls))
    rows = np.flatnonzero(best_back[best] == every_row)
    partners = best[rows]
    pairs = np.column_stack([rows, partners])
    score = csls[rows, partners]
    order = np.argsort(-score, kind="stable")
    return pairs[order], score[order]
