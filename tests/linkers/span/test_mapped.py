"""Many outside anchors: their own map links few rows among many, and tells how many of them are shared."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from span_papers import Papers, all_papers
from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import Anchors, anchors_from_vectors
from veclink.linkers.linking import link
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.attempt import Search
from veclink.linkers.span.starts import shared_share

N_A, N_B, N_ANCHORS = 120, 800, 250


@cache
def few_among_many(shared: int, n_b: int = N_B) -> tuple[Papers, np.ndarray, np.ndarray]:
    """120 rows, some of them among 800 or fewer, and both vectors of 250 papers that are in neither."""
    whole = all_papers()
    alone_a = np.setdiff1d(np.arange(len(whole.a)), whole.truth[:, 0])[: N_A - shared]
    alone_b = np.setdiff1d(np.arange(len(whole.b)), whole.truth[:, 1])[: n_b - shared]
    a = whole.a[np.r_[whole.truth[:shared, 0], alone_a]]
    b = whole.b[np.r_[whole.truth[:shared, 1], alone_b]]
    truth = np.column_stack([np.arange(shared)] * 2)
    outside = whole.truth[500 : 500 + N_ANCHORS]
    return Papers(a, b, truth, truth[:0]), whole.a[outside[:, 0]], whole.b[outside[:, 1]]


def linked(shared: int, n_b: int = N_B) -> tuple[Links, Papers]:
    papers, left, right = few_among_many(shared, n_b)
    return link(papers.a, papers.b, anchors=(left, right), device="cpu"), papers


def in_search(shared: int, count: int = N_ANCHORS) -> tuple[Search, Anchors]:
    papers, left, right = few_among_many(shared)
    a, b = (prepare(Collection.from_array(each)) for each in (papers.a, papers.b))
    search = Search(CloudPair(a.dense(), b.dense()), np.random.default_rng(0), SpanOptions(), None)
    return search, anchors_from_vectors(a, b, left[:count], right[:count])


@pytest.mark.parametrize("shared", [0, 48, 96])
def test_how_many_rows_are_shared_shows_by_anchors_that_are_left_out(shared: int) -> None:
    search, anchors = in_search(shared)
    assert shared_share(search.clouds, anchors) == pytest.approx(shared / N_A, abs=0.12)


def test_few_rows_among_many_are_linked_by_the_map_of_the_anchors() -> None:
    links, papers = linked(48)
    assert links.trace["starts"] == [["anchors, mapped", pytest.approx(0.4, abs=0.12)]]
    right = papers.right(links.pairs).sum()
    assert right >= 42 and right >= 0.85 * len(links)
    low, high = links.summary.precision_range
    assert low <= right / len(links) <= high


def test_where_nothing_is_shared_the_anchors_make_no_links() -> None:
    links, _ = linked(0, n_b=800)
    assert links.summary.verdict == "not linkable" and len(links) == 0
