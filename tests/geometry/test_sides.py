"""What is done to both sides: the same to each, with its own arguments, A first."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.geometry.sides import both, rows_of


def test_each_side_gets_its_own_arguments_and_a_comes_first() -> None:
    rng = np.random.default_rng(0)
    drawn = both(lambda low, high: int(rng.integers(low, high)), (0, 1_000), (1_000, 2_000))
    again = np.random.default_rng(0)
    assert drawn == (again.integers(0, 1_000), again.integers(1_000, 2_000))


def test_what_is_of_one_side_only_is_refused() -> None:
    with pytest.raises(ValueError, match="unpack"):
        both(len, ("a", "b", "c"))


def test_rows_are_chosen_of_each_side() -> None:
    a, b = np.arange(6).reshape(3, 2), np.arange(8).reshape(4, 2)
    of_a, of_b = rows_of((a, b), (np.array([2, 0]), np.array([1])))
    assert of_a.tolist() == [[4, 5], [0, 1]] and of_b.tolist() == [[2, 3]]
