"""Features: rivals are the best others, and what is worth measuring is measured."""

from __future__ import annotations

import numpy as np

from span_papers import candidates, neighbourhoods
from veclink.confidence.features import best_other, candidate_pairs, worth_measuring


def test_the_best_other_is_the_first_of_a_list_that_is_not_excluded() -> None:
    listed = np.array([[4, 7, 9], [4, 7, 9], [4, 7, -1], [4, -1, -1]])
    assert best_other(listed, np.array([4, 7, 9, 4])).tolist() == [7, 4, 4, -1]
    assert best_other(listed, np.array([4, 4, 4, 4]), np.array([7, 9, 7, 4])).tolist() == [9, 7, -1, -1]


def test_the_rival_of_a_mutual_candidate_is_the_best_of_all_others_of_its_row() -> None:
    found = candidates()
    mutual = found.mutual()[::25]
    pairs = candidate_pairs(found, neighbourhoods(), mutual)
    for line, position in enumerate(mutual):
        others_of_a = (found.rows_a == found.rows_a[position]) & (np.arange(len(found.rows_a)) != position)
        others_of_b = (found.rows_b == found.rows_b[position]) & (np.arange(len(found.rows_b)) != position)
        assert pairs.rival_in_b[line] == max(found.score[others_of_a], default=-1.0)
        assert pairs.rival_in_a[line] == max(found.score[others_of_b], default=-1.0)


def test_the_neighbourhoods_of_links_and_of_their_rivals_are_measured_and_no_others() -> None:
    found = candidates()
    mutual = found.mutual()
    few = worth_measuring(found, mutual[:10])
    every = worth_measuring(found, None)
    assert set(mutual) <= set(few) <= set(every)
    assert len(few) <= len(mutual) + 20 < len(every)
    unmeasured = np.setdiff1d(np.arange(len(found.rows_a)), every)
    assert np.all(neighbourhoods()[unmeasured, :2] == 0)
