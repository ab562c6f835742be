"""Decoys: wrong by the truth, as frequent as wrong links, and scored as if the partner were gone."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import candidates, cloud_pair, neighbourhoods, pool, some_papers
from veclink.confidence.candidates import Candidates, cross_fitted_score, scored_candidates
from veclink.confidence.decoys import Decoys, decoy_pairs, remove_partners
from veclink.confidence.evidence import feature_matrix
from veclink.confidence.features import candidate_pairs
from veclink.confidence.folds import Folds
from veclink.geometry.canonical import JOINED_RULES, MapRule, joined_projections

K = 10


def is_right(found: Candidates, positions: np.ndarray) -> np.ndarray:
    return some_papers().right(np.column_stack([found.rows_a[positions], found.rows_b[positions]]))


def right_links() -> np.ndarray:
    """Positions of the mutual candidates that are right: what takes their partner's place is wrong."""
    mutual = candidates().mutual()
    return mutual[is_right(candidates(), mutual)]


def made(side: str) -> Decoys:
    return remove_partners(candidates(), right_links(), K, side)


@pytest.mark.parametrize("side", ["a", "b"])
def test_decoys_are_wrong_pairs_by_the_truth(side: str) -> None:
    decoys = made(side)
    assert not is_right(candidates(), decoys.replacement).any()
    assert len(decoys.source) > 30
    assert np.array_equal(right_links()[decoys.source], decoys.removed)
    rows = candidates().rows_a if side == "a" else candidates().rows_b
    assert np.array_equal(rows[decoys.removed], rows[decoys.replacement])
    assert 0 < decoys.rate(np.ones(decoys.n_removed)) < 0.6


def test_the_rate_of_decoys_is_near_that_of_rows_without_a_partner() -> None:
    found, papers = candidates(), some_papers()
    mutual = found.mutual()
    wrong = mutual[~is_right(found, mutual)]
    alone = np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])
    rate = np.isin(found.rows_a[wrong], alone).sum() / len(alone)
    decoys = made("a")
    assert decoys.rate(np.ones(decoys.n_removed)) == pytest.approx(rate, abs=0.15)


def test_a_link_that_is_likely_wrong_makes_decoys_that_count_little() -> None:
    decoys = made("a")
    probability = np.ones(decoys.n_removed)
    probability[decoys.source[0]] = 0.0
    weights = decoys.weights(probability)
    assert 0 < weights[0] < 0.3 * weights[1]
    assert decoys.rate(probability) < decoys.rate(np.ones(decoys.n_removed))


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_decoy_scores_what_csls_gives_without_the_partner(side: str) -> None:
    """The mean over the k nearest without the partner is (k·density − cosine)/(k − 1)."""
    found, decoys = candidates(), made(side)
    pairs = decoy_pairs(found, neighbourhoods(), decoys, K)
    new, gone = decoys.replacement, decoys.removed
    density_a = found.density_a[found.rows_a[new]].astype(float)
    density_b = found.density_b[found.rows_b[new]].astype(float)
    # A partner that is not among the k nearest was no part of the mean: such links keep their density.
    was_near = found.cosine[gone] > (density_a if side == "a" else density_b)
    if side == "a":
        density_a = (K * density_a - found.cosine[gone]) / (K - 1)
    else:
        density_b = (K * density_b - found.cosine[gone]) / (K - 1)
    expected = 2 * found.cosine[new] - density_a - density_b
    assert was_near.mean() > 0.9
    assert np.allclose(pairs.score[was_near], expected[was_near], atol=1e-5)


@pytest.mark.parametrize("side", ["a", "b"])
def test_decoys_are_mutual_and_have_the_features_of_candidates(side: str) -> None:
    decoys = made(side)
    pairs = decoy_pairs(candidates(), neighbourhoods(), decoys, K)
    assert np.all((pairs.rival_in_a if side == "a" else pairs.rival_in_b) < pairs.score)
    features = feature_matrix(pairs)
    as_they_are = feature_matrix(candidate_pairs(candidates(), neighbourhoods(), decoys.replacement))
    assert features.shape == as_they_are.shape
    assert np.array_equal(features[:, 3:7], as_they_are[:, 3:7])  # the neighbourhood stays
    assert np.all(features[:, [0, 7, 8, 9]] >= as_they_are[:, [0, 7, 8, 9]])  # the scores gain


@pytest.mark.parametrize("side", ["a", "b"])
def test_decoys_score_under_each_map_alone_what_that_map_says_of_them(side: str) -> None:
    decoys = made(side)
    single = decoy_pairs(candidates(), neighbourhoods(), decoys, K).single
    assert len(single) == len(JOINED_RULES)
    for pairs, found in zip(single, candidates().under_single_maps, strict=True):
        alone = decoy_pairs(found, neighbourhoods(), decoys, K)
        assert np.array_equal(pairs.score, alone.score)
        assert np.array_equal(pairs.rival_in_a, alone.rival_in_a)
        assert np.array_equal(pairs.rival_in_b, alone.rival_in_b)


def test_the_same_decoys_can_be_scored_by_another_map() -> None:
    """Several maps at once: decoys are made once, and each map says what they score."""
    clouds, found, links = cloud_pair(), candidates(), pool().pairs
    split = Folds.drawn(links, clouds, np.random.default_rng(1), 5)
    maps, densities = [], []
    for fold in range(5):
        ends = clouds.vectors(links[split.of_link != fold])
        maps.append(joined_projections(*ends, rules=(MapRule(ridge=1.0, power=1.0),)))
        matches = clouds.matches(maps[-1], 3)
        densities.append((matches.forward.density, matches.backward.density))
    score = cross_fitted_score(clouds, maps, densities, split, found.rows_a, found.rows_b)
    other = scored_candidates(clouds, found.rows_a, found.rows_b, score, densities)
    decoys = made("a")
    features = [feature_matrix(decoy_pairs(each, neighbourhoods(), decoys, K)) for each in (found, other)]
    assert features[0].shape == features[1].shape and np.isfinite(features[1]).all()
    scores = [each[:, 0] for each in features]
    assert 0.5 < np.corrcoef(*scores)[0, 1] < 0.9999
    # Most are best partners by the other map too, but not all: it did not choose them.
    ahead = features[1][:, 1] > 0
    assert 0.5 < ahead.mean() < 1


def three_partners(of_first: float, of_last: float) -> Candidates:
    """Row 0 of A has the partner 1, in second place, and two more; row 1 has one that is alike and scores low."""
    score = np.array([of_first, 0.9, of_last, -0.99], np.float32)
    cosine = np.array([0.5, 0.8, 0.5, 1.0], np.float32)
    order = [1, 0, 2] if of_first > of_last else [1, 2, 0]
    return Candidates(
        np.array([0, 0, 0, 1]), np.array([0, 1, 2, 3]), score, cosine, np.array([0.3, 0.0]), np.zeros(4),
        np.array([order, [3, -1, -1]]), np.array([[0, -1, -1], [1, -1, -1], [2, -1, -1], [3, -1, -1]]),
    )  # fmt: skip


@pytest.mark.parametrize(("scores", "replacement", "rival"), [((0.6, 0.4), 0, 0.4), ((0.4, 0.6), 2, 0.4)])
def test_the_next_best_replaces_a_partner_wherever_it_stands(
    scores: tuple[float, float], replacement: int, rival: float
) -> None:
    few = three_partners(*scores)
    decoys = remove_partners(few, few.mutual()[few.rows_a[few.mutual()] == 0][:1], 3, "a")
    assert decoys.replacement.tolist() == [replacement]
    pairs = decoy_pairs(few, np.zeros((4, 4)), decoys, 3)
    lift = (0.8 - 0.3) / 2
    assert pairs.score[0] == pytest.approx(0.6 + lift)
    assert pairs.rival_in_b[0] == pytest.approx(rival + lift) and pairs.rival_in_a[0] == -1.0


def test_a_row_without_a_second_candidate_makes_no_decoy() -> None:
    decoys = remove_partners(three_partners(0.6, 0.4), np.array([1, 3]), 2, "a")
    assert decoys.replacement.tolist() == [0] and decoys.n_removed == 2


def test_with_one_neighbour_a_row_is_lifted_as_with_two() -> None:
    """The mean over no neighbours is not known; that over one is taken."""
    few = three_partners(0.6, 0.4)
    scores = [decoy_pairs(few, np.zeros((4, 4)), remove_partners(few, np.array([1]), k, "a"), k).score for k in (1, 2)]
    assert scores[0] == scores[1] == pytest.approx(0.6 + 0.5)
