"""Connected components."""

from __future__ import annotations

import numpy as np

from veclink.geometry.components import components


def test_components_carry_the_lowest_node_of_theirs():
    assert components(6, np.array([4, 2, 5]), np.array([2, 1, 0])).tolist() == [0, 1, 1, 3, 1, 0]
    assert components(3, np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == [0, 1, 2]
