"""Decoys: wrong by the truth, as frequent as wrong links, and scored as if the partner were gone."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import candidates, neighbourhoods, some_papers
from veclink.confidence.candidates import Candidates
from veclink.confidence.decoys import Decoys, decoy_pairs, remove_partners

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
    decoys, every = made(side), np.ones(len(right_links()))
    assert not is_right(candidates(), decoys.replacement).any()
    assert len(decoys.source) > 30
    assert np.array_equal(right_links()[decoys.source], decoys.removed)
    rows = candidates().rows_a if side == "a" else candidates().rows_b
    assert np.array_equal(rows[decoys.removed], rows[decoys.replacement])
    assert 0 < decoys.rate(every) < 0.6


def test_the_rate_of_decoys_is_near_that_of_rows_without_a_partner() -> None:
    found, papers = candidates(), some_papers()
    mutual = found.mutual()
    wrong = mutual[~is_right(found, mutual)]
    alone = np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])
    rate = np.isin(found.rows_a[wrong], alone).sum() / len(alone)
    decoys = made("a")
    assert decoys.rate(np.ones(len(right_links()))) == pytest.approx(rate, abs=0.15)


def test_a_link_that_is_likely_wrong_makes_decoys_that_count_little() -> None:
    decoys = made("a")
    probability = np.ones(len(right_links()))
    probability[decoys.source[0]] = 0.0
    weights = decoys.weights(probability)
    assert 0 < weights[0] < 0.3 * weights[1]
    assert decoys.rate(probability) < decoys.rate(np.ones(len(right_links())))


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
