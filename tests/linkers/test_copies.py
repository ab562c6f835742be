"""Linking collections in which objects stand twice."""

from __future__ import annotations

from functools import cache

import numpy as np

from span_papers import some_papers
from veclink import Links, link
from veclink.data.words import Reason
from veclink.linkers.result import Decision, _estimates
from veclink.linkers.verdict import Verdict


@cache
def _linked(one_to_one: bool = True, group_copies: bool = True) -> tuple[Links, int]:
    """Papers of which a fifth of B stands twice, linked; and how many copies there are."""
    papers = some_papers()
    count = len(papers.b) // 5
    b = np.concatenate([papers.b, papers.b[:count]])
    seeds = papers.truth[:15]
    links = link(papers.a, b, seeds=seeds, device="cpu", one_to_one=one_to_one, group_copies=group_copies)
    return links, count


def _objects(links: Links) -> np.ndarray:
    """The pairs, a copy as the row that it is a copy of."""
    papers = some_papers()
    pairs = links.pairs.copy()
    copy = pairs[:, 1] >= len(papers.b)
    pairs[copy, 1] -= len(papers.b)
    return pairs


def test_copies_take_nothing_from_recall() -> None:
    links, count = _linked()
    papers = some_papers()
    right = papers.right(_objects(links))
    assert links.summary.copies == (0, count)
    assert right.sum() >= 0.9 * len(papers.truth) and right.mean() > 0.85


def test_one_to_one_gives_one_row_of_each_group() -> None:
    links, _ = _linked()
    assert links.pairs[:, 1].max() < len(some_papers().b)
    assert len(np.unique(links.pairs[:, 1])) == len(links)
    assert links.summary.why[-1] == Reason("copies", a=0, b=60, linked=False)


def test_otherwise_all_rows_of_a_group_are_linked() -> None:
    links, count = _linked(one_to_one=False)
    n_b = len(some_papers().b)
    pairs = set(map(tuple, links.pairs.tolist()))
    twice = [(a, b) for a, b in pairs if b < count]
    assert len(twice) > 20 and all((a, b + n_b) in pairs for a, b in twice)
    assert links.summary.why[-1] == Reason("copies", a=0, b=count, linked=True)


def test_rows_taken_for_copies_of_one_another_may_be_objects_of_their_own() -> None:
    """Of two shops with 1,076 goods each, at most 1,064 were said to be in both."""
    one = np.array([0.9])
    found = Decision("span", Verdict("linkable", ()), probability=one, kept=1, overlap=5.0, overlap_range=(3.0, 6.0))
    assert _estimates(found, (8, 6), (0, 2))["overlap_range"] == (3.0, 8.0)
    assert _estimates(found, (6, 8), (0, 2))["overlap_range"] == (3.0, 6.0)
