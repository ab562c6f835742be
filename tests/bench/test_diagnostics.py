"""Diagnostics: the measures behind the curves, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from small_papers import small_papers
from veclink.errors import InputError
from veclink_bench.diagnostics import (
    by_anchor_distance,
    distance_consistency,
    nearest_rows,
    neighbour_jaccard,
    vote_histogram,
)


def papers() -> tuple[np.ndarray, np.ndarray]:
    left, right, truth = small_papers()
    return left[: len(truth)], right[: len(truth)]


def test_a_rotated_copy_is_consistent_at_every_distance() -> None:
    left = papers()[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((left.shape[1],) * 2))[0]
    found = distance_consistency(left, left @ turn)
    known = ~np.isnan(found.within)
    assert known.sum() > 5 and np.allclose(found.within[known], 1, atol=1e-3)
    assert np.allclose(found.scale[known], 1, atol=1e-3) and found.pairs.sum() == len(left) * (len(left) - 1) / 2


def test_two_models_agree_and_unrelated_vectors_do_not() -> None:
    left, right = papers()
    noise = np.random.default_rng(1).standard_normal(right.shape)
    assert distance_consistency(left, right).up_to[-1] > 0.5
    assert abs(distance_consistency(left, noise).up_to[-1]) < 0.1


def test_correlation_is_pearson_s_and_bins_by_count_hold_as_many() -> None:
    left, right = papers()
    found = distance_consistency(left, right, bins=5, quantiles=True)
    assert found.pairs.max() - found.pairs.min() <= 2
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (left, right)]
    upper = np.triu_indices(len(left), 1)
    first, second = ((1 - x @ x.T)[upper] for x in unit)
    assert found.up_to[-1] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-4)


def test_jaccard_is_one_for_a_copy_and_by_chance_for_noise() -> None:
    left, right = papers()
    ks = np.array([1, 5, 20])
    assert np.allclose(neighbour_jaccard(left, 3 * left, ks), 1)
    noise = np.random.default_rng(2).standard_normal(right.shape)
    agree, chance = neighbour_jaccard(left, right, ks), neighbour_jaccard(left, noise, ks)
    assert np.all(agree > chance + 0.1)


def test_nearest_rows_are_those_of_a_full_sort_without_the_row_itself() -> None:
    left = papers()[0]
    unit = left / np.linalg.norm(left, axis=1, keepdims=True)
    for query, found in zip((3, 77), nearest_rows(left, np.array([3, 77]), 6), strict=True):
        order = [row for row in np.argsort(-(unit @ unit[query]), kind="stable") if row != query]
        assert found.tolist() == order[:6]


def test_votes_are_counted_once_each() -> None:
    share, right = np.array([0.0, 0.26, 0.26, 1.0]), np.array([False, True, False, True])
    edges, true, spurious = vote_histogram(share, right, bins=4)
    assert edges.tolist() == [0, 0.25, 0.5, 0.75, 1] and true.tolist() == [0, 1, 0, 1]
    assert spurious.tolist() == [1, 1, 0, 0]


def test_links_near_an_anchor_come_first_and_every_link_is_in_one_bin() -> None:
    left = papers()[0]
    right = np.arange(100) < 50
    found = by_anchor_distance(left[:100], left[:1], right, np.where(right, 0.9, 0.2), bins=7)
    assert found.distance[0] < 0.7 and np.all(np.diff(found.distance) >= 0) and found.links.sum() == 100
    assert (found.precision * found.links).sum() == pytest.approx(50)
    assert len(by_anchor_distance(left[:0], left[:1], right[:0], right[:0]).links) == 0


def test_spaces_that_do_not_belong_together_are_refused() -> None:
    left, right = papers()
    with pytest.raises(InputError, match="same"):
        distance_consistency(left, right[:-1])
    with pytest.raises(InputError, match="neighbours"):
        neighbour_jaccard(left, right, np.array([len(left)]))
