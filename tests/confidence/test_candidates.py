"""Candidates: what is scored, by which maps, and what is listed as best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import golden_calibration
from span_papers import candidates, cloud_pair, pool, some_papers
from veclink.backends.cloud_pair import CloudPair
from veclink.confidence import candidates as module
from veclink.confidence.candidates import crossfit
from veclink.geometry import canonical
from veclink.geometry.canonical import JOINED_RULES, JOINED_RULES_OF_FEW, PooledAnchors, rules_of, side_by_side
from veclink.geometry.signatures import unit_rows


def test_nearly_all_true_pairs_are_mutual_candidates() -> None:
    found, papers = candidates(), some_papers()
    mutual = found.mutual()
    right = papers.right(np.column_stack([found.rows_a[mutual], found.rows_b[mutual]]))
    assert right.sum() >= 0.95 * len(papers.truth)


def test_mutual_candidates_hold_each_row_once() -> None:
    found = candidates()
    mutual = found.mutual()
    assert len(np.unique(found.rows_a[mutual])) == len(np.unique(found.rows_b[mutual])) == len(mutual)


def test_pairs_are_mutual_where_they_are_among_the_mutual_candidates() -> None:
    scored = candidates()
    every = np.column_stack([scored.rows_a, scored.rows_b])
    assert np.array_equal(np.flatnonzero(scored.are_mutual(every)), scored.mutual())
    no_candidate = np.column_stack([scored.rows_a[:9], (scored.rows_b[:9] + 1) % len(scored.best_b)])
    listed = set(map(tuple, every[scored.mutual()].tolist()))
    assert scored.are_mutual(no_candidate).tolist() == [tuple(pair) in listed for pair in no_candidate.tolist()]


def test_best_lists_hold_each_rows_candidates_by_falling_score() -> None:
    found = candidates()
    for best, rows in ((found.best_a, found.rows_a), (found.best_b, found.rows_b)):
        owners = np.repeat(np.arange(len(best))[:, None], best.shape[1], axis=1)
        assert np.array_equal(rows[best[best >= 0]], owners[best >= 0])
        assert np.all(np.diff(found.scores(best), axis=1) <= 0)
        for row in (0, 7, 250):
            assert found.scores(best[row, :1])[0] == found.score[rows == row].max()


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


def test_no_pair_scores_higher_under_all_maps_than_under_its_best_one() -> None:
    """The joined cosine is a mean of the single ones, with weights that sum to one at most."""
    found = candidates()
    assert found.single_scores.shape == (len(JOINED_RULES), len(found.rows_a))
    best = found.single_scores.max(axis=0)
    assert np.all(found.score[found.cosine > 0] <= best[found.cosine > 0] + 1e-4)
    assert np.all(best[found.mutual()] > found.score[found.mutual()] - 0.05)


def test_a_map_alone_lists_its_own_best() -> None:
    found = candidates()
    for alone, score in zip(found.under_single_maps, found.single_scores, strict=True):
        first = alone.best_a[alone.best_a[:, 0] >= 0, 0]
        rows = found.rows_a[first]
        assert np.array_equal(score[first], [score[found.rows_a == row].max() for row in rows])
        assert np.allclose(
            2 * alone.cosine - found.density_a[found.rows_a] - found.density_b[found.rows_b], score, atol=1e-5
        )


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


def test_a_score_below_all_stands_where_a_row_has_no_further_candidate() -> None:
    assert candidates().scores(np.array([-1, 0])).tolist() == [-1.0, candidates().score[0]]


def test_few_rows_have_fewer_candidates_than_the_lists_are_deep() -> None:
    clouds = cloud_pair()
    few = CloudPair(clouds.a.array[:40], clouds.b.array[:2], k=1)
    found = crossfit(few, np.array([[0, 0], [1, 1]]), np.random.default_rng(0), folds=2).candidates
    assert np.all(found.best_a[:, 2] == -1)


@pytest.mark.parametrize("turned", [False, True])
def test_clouds_of_which_one_is_large_are_matched_once(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clouds, links = golden_calibration.clouds_and_pool()  # 180 × 210 rows
    if turned:
        clouds, links = CloudPair(clouds.b.block(0, clouds.n_b), clouds.a.block(0, clouds.n_a)), links[:, ::-1]
    depths: list[int] = []

    def one_pass(projections: Any, depth: int) -> Any:
        depths.append(depth)
        return clouds.matches(projections, depth)

    monkeypatch.setattr(module, "FULL_FOLDS", 210)
    each_fold = crossfit(clouds, links, np.random.default_rng(1), one_pass=one_pass).candidates
    assert depths == [] and len(each_fold.single_scores) > 1
    monkeypatch.setattr(module, "FULL_FOLDS", 209)
    once = crossfit(clouds, links, np.random.default_rng(1), one_pass=one_pass).candidates
    assert depths == [module.BEST_LISTED] and len(once.single_scores) == 0
    assert len(once.mutual()) > 80


@pytest.mark.parametrize(("most_rows", "joined"), [(1000, 3), (100, 1)])
def test_unsure_links_have_the_maps_of_few_unless_outside_anchors_are_many(
    most_rows: int, joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clouds, links = golden_calibration.clouds_and_pool()  # 68 links, of which a map is fitted to 54 or 55
    used: list[Any] = []
    fitted = PooledAnchors.fitted

    def noted(anchors: PooledAnchors, places: np.ndarray) -> Any:
        used.append(anchors.rules)
        return fitted(anchors, places)

    monkeypatch.setattr(PooledAnchors, "fitted", noted)
    monkeypatch.setattr(module, "FULL_FOLDS", most_rows)
    monkeypatch.setattr(canonical, "FEW_ANCHORS", 50)
    unsure = np.full(len(links), 0.5)  # a quarter of a link each
    outside = clouds.a.array[-40:], clouds.b.array[-40:]
    for weights, anchors, rules in (
        (None, None, JOINED_RULES),
        (unsure, None, JOINED_RULES_OF_FEW),
        (unsure, outside, JOINED_RULES),
    ):
        used.clear()
        crossfit(clouds, links, np.random.default_rng(1), weights=weights, outside=anchors)
        assert len(used) >= module.FOLDS and set(used) == {rules[:joined]}
