"""Candidates: what is scored, by which maps, and what is listed as best."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import candidates, cloud_pair, neighbourhoods, pool, some_papers
from veclink.confidence import candidates as module
from veclink.confidence.candidates import best_other, candidate_pairs, crossfit
from veclink.geometry.signatures import PooledAnchors, rules_of, side_by_side, unit_rows


def test_nearly_all_true_pairs_are_mutual_candidates() -> None:
    found, papers = candidates(), some_papers()
    mutual = found.mutual()
    right = papers.right(np.column_stack([found.rows_a[mutual], found.rows_b[mutual]]))
    assert right.sum() >= 0.95 * len(papers.truth)


def test_mutual_candidates_hold_each_row_once() -> None:
    found = candidates()
    mutual = found.mutual()
    assert len(np.unique(found.rows_a[mutual])) == len(np.unique(found.rows_b[mutual])) == len(mutual)


def test_a_link_has_the_score_it_has_in_maps_fitted_without_it() -> None:
    """Cross-fitting: no pair's score comes from a map that has it as an anchor."""
    found, clouds, links = candidates(), cloud_pair(), pool().pairs
    fold = np.random.default_rng(1).permutation(len(links)) % module.FOLDS  # as in `candidates`
    of_pool = clouds.a.array[links[:, 0]], clouds.b.array[links[:, 1]]
    anchors = PooledAnchors(*of_pool, np.ones(len(links)), rules_of(np.ones(len(links))))
    for place in (0, 100, 150):
        others = np.flatnonzero(fold != fold[place])
        assert place not in others
        axes_a, axes_b = side_by_side(anchors.fitted(others))
        of_a, of_b = unit_rows(clouds.a.array @ axes_a), unit_rows(clouds.b.array @ axes_b)
        row_a, row_b = links[place]
        cosines = of_a @ of_b.T
        nearest_a, nearest_b = (np.sort(row)[-clouds.k :].mean() for row in (cosines[row_a], cosines[:, row_b]))
        here = np.flatnonzero((found.rows_a == row_a) & (found.rows_b == row_b))
        assert len(here) == 1
        assert found.score[here[0]] == pytest.approx(2 * cosines[row_a, row_b] - nearest_a - nearest_b, abs=1e-4)


def test_wrong_links_in_the_pool_do_not_confirm_themselves() -> None:
    """In a map that was fitted to it, a wrong link would be mutual."""
    papers, n_b = some_papers(), len(some_papers().b)
    wrong = papers.truth[:40].copy()
    wrong[:, 1] = np.roll(wrong[:, 1], 1)
    mixed = crossfit(cloud_pair(), np.concatenate([wrong, papers.truth[40:150]]), np.random.default_rng(3)).candidates
    mutual = (mixed.rows_a * n_b + mixed.rows_b)[mixed.mutual()]
    assert np.isin(wrong[:, 0] * n_b + wrong[:, 1], mutual).mean() < 0.05
    assert np.isin(papers.truth[40:, 0] * n_b + papers.truth[40:, 1], mutual).mean() > 0.85


def test_without_cross_fitting_wrong_links_in_the_pool_confirm_themselves() -> None:
    """One fold is one map of all links, for comparison: it is fitted to the links that it scores."""
    papers, n_b = some_papers(), len(some_papers().b)
    wrong = papers.truth[:40].copy()
    wrong[:, 1] = np.roll(wrong[:, 1], 1)
    links = np.concatenate([wrong, papers.truth[40:150]])
    one = crossfit(cloud_pair(), links, np.random.default_rng(3), folds=1).candidates
    mutual = (one.rows_a * n_b + one.rows_b)[one.mutual()]
    assert np.isin(wrong[:, 0] * n_b + wrong[:, 1], mutual).mean() > 0.3


def test_large_clouds_matched_once_give_nearly_the_same_mutual_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL_FOLDS", 100)
    once, full = crossfit(cloud_pair(), pool().pairs, np.random.default_rng(1)).candidates, candidates()
    pairs = [{(int(c.rows_a[i]), int(c.rows_b[i])) for i in c.mutual()} for c in (once, full)]
    assert len(pairs[0] & pairs[1]) >= 0.9 * max(map(len, pairs))


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
