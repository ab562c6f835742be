"""Connected components of a graph that is given by its edges."""

from __future__ import annotations

import numpy as np


def components(n: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A label (n,), the lowest node, for the connected component of each of n nodes.

    source, target (m,): the ends of the edges. Labels sink along edges until none moves.
    """
    label = np.arange(n)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, source, label[target])
        np.minimum.at(lowest, target, label[source])
        # a label points at a node that may have sunk itself: following it spares many rounds
        lowest = lowest[lowest]
        if np.array_equal(lowest, label):
            return label
        label = lowest
