"""Starts: wrong seeds are found out, a bad seed file is no worse than none, and random vectors do not take off."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from small_papers import small_papers
from span_papers import (
    all_papers,
    more_cloud_pair,
    more_papers,
    whole_cloud_pair,
)
from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.data.words import FROM_NOTHING
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.attempt import Attempt, Search
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.starts import Bootstrap, _aligned, _come_back, _rated, _soft_pairs, best_pool

N_SEEDS = 30


@cache
def _few() -> CloudPair:
    """200 papers of either side, 150 of them shared: a start that fails takes a second."""
    a, b, _ = small_papers()
    return CloudPair(*(prepare(Collection.from_array(each)).dense() for each in (a, b)))


def _f1(found: Bootstrap) -> float:
    papers = all_papers()
    return 2 * papers.right(found.pool.pairs).sum() / (len(found.pool.pairs) + len(papers.truth))


def _seeds(n_wrong: int) -> Anchors:
    """Thirty pairs of the sample; the first `n_wrong` have the partner of another paper."""
    rng = np.random.default_rng(1)
    seeds = rng.permutation(all_papers().truth)[:N_SEEDS].copy()
    seeds[:n_wrong, 1] = np.roll(seeds[:n_wrong, 1], 1)
    return anchors_from_rows(whole_cloud_pair(), seeds)


def test_half_the_seeds_wrong_link_like_right_ones_and_are_named() -> None:
    found = best_pool(whole_cloud_pair(), _seeds(15), np.random.default_rng(0))
    right = best_pool(whole_cloud_pair(), _seeds(0), np.random.default_rng(0))
    assert _f1(found) > _f1(right) - 0.02
    assert len(right.outlier_seeds) == 0
    assert set(found.outlier_seeds.tolist()) <= set(range(15)) and len(found.outlier_seeds) >= 13


def test_given_pairs_come_back_from_what_grew_from_their_other_half_where_they_are_right() -> None:
    """A pool that agrees on too little is believed all the same; of wrong pairs, or too few, it is not."""
    clouds, truth = _few(), small_papers()[2]
    search = Search(clouds, np.random.default_rng(0), SpanOptions(), None)
    right, wrong = truth[:15], np.column_stack([truth[:15, 0], np.roll(truth[:15, 1], 1)])
    assert _come_back(search, anchors_from_rows(clouds, right), _soft_pairs)
    assert not _come_back(search, anchors_from_rows(clouds, wrong), _soft_pairs)
    assert not _come_back(search, anchors_from_rows(clouds, right[:7]), _soft_pairs)
    search = Search(whole_cloud_pair(), np.random.default_rng(0), SpanOptions(), None)
    for n_wrong in (0, N_SEEDS):  # as of large clouds
        found = _come_back(search, _seeds(n_wrong), lambda *half: _aligned(*half).pool.pairs)
        assert found == (n_wrong == 0)


def test_a_start_that_given_pairs_bear_out_is_taken_before_one_that_agrees_on_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two shops, half of the goods of one removed, were "not linkable" from 200 known pairs and linked from 15."""
    clouds, truth = _few(), small_papers()[2]
    search = Search(clouds, np.random.default_rng(0), SpanOptions(), None)
    anchors = anchors_from_rows(clouds, truth[:15])
    ones = np.ones(60)
    pools = [Pool(truth[15:75], ones, ones, agreed=agreed, views=6, extent=200) for agreed in (64, 62)]
    tried = Attempt("seeds", pools[0], search), Attempt("seeds, softly", pools[1], search, vouched=True)
    monkeypatch.setattr("veclink.linkers.span.starts.attempts", lambda search, anchors: iter(tried))
    found = best_pool(clouds, anchors, np.random.default_rng(0))
    assert found.converged and found.started_from == "seeds, softly"


def test_a_seed_file_without_a_right_pair_is_not_worse_than_none() -> None:
    clouds, papers = more_cloud_pair(), more_papers()
    wrong = papers.truth[:12].copy()
    wrong[:, 1] = np.roll(wrong[:, 1], 1)
    found = best_pool(clouds, anchors_from_rows(clouds, wrong), np.random.default_rng(0))
    assert found.converged and papers.right(found.pool.pairs).mean() > 0.7
    assert found.started_from == FROM_NOTHING and len(found.outlier_seeds) >= 11


@cache
def _pool_of_more() -> Pool:
    """What grows on the larger cut from its seeds."""
    clouds = more_cloud_pair()
    return best_pool(clouds, anchors_from_rows(clouds, more_papers().seeds), np.random.default_rng(0)).pool


def _outliers(n_right: int, n_wrong: int) -> np.ndarray:
    """Positions of given pairs that look wrong, the true ones first, from what was found without them."""
    papers, rng, clouds = more_papers(), np.random.default_rng(0), more_cloud_pair()
    right = papers.truth[-n_right:] if n_right else papers.truth[:0]
    others = (np.setdiff1d(np.arange(len(rows)), of) for rows, of in zip((papers.a, papers.b), right.T, strict=True))
    wrong = np.column_stack([rng.permutation(each)[:n_wrong] for each in others])
    found = Attempt(FROM_NOTHING, _pool_of_more(), Search(clouds, rng, SpanOptions(), None))
    return _rated(found, anchors_from_rows(clouds, np.concatenate([right, wrong]))).outlier_seeds


def test_what_is_left_of_a_file_of_wrong_pairs_is_called_wrong_too() -> None:
    """Of so many pairs at random one or two do not look wrong; taken as true ones they spoiled the estimates."""
    assert len(_outliers(0, 100)) == 100


def test_right_pairs_among_many_wrong_ones_are_not_called_wrong() -> None:
    outliers = _outliers(12, 48)
    assert len(outliers) > 42
    assert not np.isin(np.arange(12), outliers).any()


@pytest.mark.parametrize("seeded", [True, False])
def test_random_vectors_do_not_take_off_and_each_attempt_is_named(seeded: bool) -> None:
    rng = np.random.default_rng(0)
    noise = CloudPair(*(unit_rows(rng.normal(size=(60, d)).astype(np.float32)) for d in (64, 96)))
    start = anchors_from_rows(noise, np.stack([np.arange(15)] * 2, axis=1)) if seeded else None
    begun: list[str] = []
    found = best_pool(noise, start, rng, attempt_listener=begun.append)
    assert not found.converged and len(begun) == len(found.tried)
    assert begun == (["seeds", "seeds, aligned", "seeds, searched"] if seeded else ["no seeds, searching"])
