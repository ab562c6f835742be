"""Growing: a pool of mostly right links from few, none that votes for itself, and an end."""

from __future__ import annotations

import numpy as np

from span_papers import cloud_pair, pool, some_papers
from veclink import Collection
from veclink.backends import CloudPair, placed_clouds
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.span.attempt import means_near
from veclink.linkers.span.constants import CONVERGED
from veclink.linkers.span.growing import Views, grow, promote


def test_a_pool_grows_from_fifteen_seeds_to_most_true_pairs() -> None:
    papers = some_papers()
    right = papers.right(pool().pairs)
    assert right.sum() >= 0.9 * len(papers.truth) and right.mean() > 0.75
    assert pool().agreed >= CONVERGED * len(papers.a)


def test_a_pool_is_one_to_one_and_its_best_links_are_the_rightest() -> None:
    pairs = pool().pairs
    assert len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == len(pairs)
    right = some_papers().right(pairs)
    assert right[: len(right) // 2].mean() > right[len(right) // 2 :].mean()


def test_outside_anchors_grow_the_same_pool_as_pairs_of_the_same_objects() -> None:
    papers, pair = some_papers(), cloud_pair()
    rows_a, rows_b = papers.truth[:30].T
    grown = grow(pair, Anchors(pair.a.array[rows_a], pair.b.array[rows_b]), np.random.default_rng(0))
    assert papers.right(grown.pairs).sum() >= 0.9 * len(papers.truth)


def test_noise_does_not_take_off() -> None:
    noise = np.random.default_rng(0).standard_normal((500, 64)).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    clouds = CloudPair(cloud_pair().a.array, noise)
    grown = grow(clouds, anchors_from_rows(clouds, some_papers().seeds), np.random.default_rng(0))
    assert grown.agreed < CONVERGED * 500


def test_a_pair_held_by_all_views_but_one_is_judged_by_that_one() -> None:
    """Views that hold a pair as an anchor do not vote on it, so their silence does not count against it."""
    members = np.array([[0, 0], [1, 1]])
    proposals = [(np.array([[row, row]]), np.array([0.5])) for row in (0, 1, 2, 2)]
    grown = promote(Views([], proposals, members, np.array([3.0, 0.0])), n_b=10, votes=0.5, limit=10)
    shares = dict(zip(map(tuple, grown.pairs.tolist()), grown.share, strict=True))
    assert shares == {(0, 0): 1.0, (2, 2): 0.5}  # (1, 1) has 1 of 4 votes


def test_clouds_are_centred_on_what_is_near_the_pairs_on_either_side() -> None:
    around = np.repeat(np.eye(8, dtype=np.float32)[:2], 600, axis=0)
    around += np.random.default_rng(0).normal(0, 0.05, around.shape).astype(np.float32)
    a, b = (prepare(Collection.from_array(each)) for each in (around, around[::-1]))
    clouds = placed_clouds(a, b, "cpu", None, k=10, ridge=0.1)
    means = means_near(clouds, np.column_stack([np.arange(5), np.arange(600, 605)]))  # the first place of A and of B
    assert means is not None and all(mean[0] > 0.9 > 0.1 > abs(mean[1]) for mean in means)
