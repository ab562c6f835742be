"""`veclink bench catalogues`: which cells there are, and what it counts as a new link."""

import numpy as np

from veclink import Links
from veclink.data.summary import Summary
from veclink_bench.real_cases import Problem
from veclink_bench.studies.catalogues import cells, new_scores


def test_no_two_cells_share_a_result_and_parts_take_them_all() -> None:
    names = [cell.name for cell in cells(trials=2)]
    assert len(set(names)) == len(names) == sum(len(names[part::16]) for part in range(16))


def test_given_pairs_are_no_new_links() -> None:
    objects, pairs = np.arange(4), np.array([[0, 0], [1, 1], [2, 3]])
    problem = Problem(np.empty((4, 2)), np.empty((4, 2)), objects, objects, seeds=pairs[:1])
    links = Links(pairs, np.ones(3), Summary("span", 4, 4, 3))
    assert new_scores(problem, links) == {"precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5}
