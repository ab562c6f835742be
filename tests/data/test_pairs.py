"""Known pairs: good ones are used, though others among them contradict one another."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.data.pairs import resolve_rows, resolve_seeds
from veclink.errors import InputError

VECTORS = np.eye(10)
PLAIN = Collection.from_array(VECTORS)
NAMED = Collection.from_array(VECTORS, ids=np.array([f"id{row}" for row in range(10)], object))


def test_a_row_with_two_partners_costs_only_its_own_pairs() -> None:
    found = resolve_seeds([(5, 5), (0, 0), (0, 1), (2, 2), (3, 2), (4, 4)], PLAIN, PLAIN)
    assert found.rows.tolist() == [[5, 5], [4, 4]]
    assert found.contradicting.tolist() == [[0, 0], [0, 1], [2, 2], [3, 2]]


def test_a_pair_given_twice_counts_once() -> None:
    found = resolve_seeds([(5, 5), (0, 1), (5, 5)], PLAIN, PLAIN)
    assert found.rows.tolist() == [[5, 5], [0, 1]] and not len(found.contradicting)


def test_of_a_repeated_pair_that_is_contradicted_neither_is_used() -> None:
    found = resolve_seeds([("id1", 1), ("id1", 1), ("id1", 2), ("id3", 3)], NAMED, PLAIN)
    assert found.rows.tolist() == [[3, 3]]
    assert found.contradicting.tolist() == [[1, 1], [1, 2]]


@pytest.mark.parametrize("pairs", [[(0, 0), (0, 1), (3, 3)], [(0, 0), (1, 1), (0, 0)]])
def test_whoever_is_strict_has_them_refused(pairs: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match=r"contradict themselves|more than once"):
        resolve_seeds(pairs, PLAIN, PLAIN, strict=True)
    assert resolve_seeds([(0, 0), (3, 3)], PLAIN, PLAIN, strict=True).rows.tolist() == [[0, 0], [3, 3]]


def test_seeds_of_which_none_is_left_are_refused() -> None:
    with pytest.raises(InputError, match=r"All of the 2 seeds contradict one another: \('id0', 5\), \('id1', 5\);"):
        resolve_seeds([("id0", 5), ("id1", 5)], NAMED, PLAIN)


def test_rows_can_be_had_as_they_were_given() -> None:
    assert resolve_rows([(0, 1), (0, 2), (0, 1)], PLAIN, PLAIN).tolist() == [[0, 1], [0, 2], [0, 1]]
