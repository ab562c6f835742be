"""The map puts the ends of right links close together, and nothing on it is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import span_papers
from veclink import Collection
from veclink.report.mapping import Mapped, map_links


def cut_map() -> Mapped:
    papers = span_papers.some_papers()
    mapped = map_links(span_papers.linked_cut(), *(Collection.from_array(each) for each in (papers.a, papers.b)))
    assert mapped is not None
    return mapped


def test_ends_of_right_links_lie_closer_than_points_by_chance() -> None:
    mapped, papers = cut_map(), span_papers.some_papers()
    n = mapped.n_links
    right = papers.right(span_papers.linked_cut().pairs[mapped.ranks])
    apart = np.linalg.norm(mapped.place_a[:n] - mapped.place_b[:n], axis=1)
    by_chance = np.linalg.norm(mapped.place_a[:n] - np.roll(mapped.place_b[:n], 7, axis=0), axis=1)
    assert np.median(apart[right]) < 0.15 * np.median(by_chance)


def test_every_row_of_a_small_collection_is_on_the_map_once() -> None:
    mapped = cut_map()
    for rows, place in ((mapped.rows_a, mapped.place_a), (mapped.rows_b, mapped.place_b)):
        assert sorted(rows.tolist()) == list(range(300))
        assert place.shape == (300, 2) and place.min() >= 0 and place.max() <= 1 and np.isfinite(place).all()


def test_the_map_is_the_same_every_time() -> None:
    one, two = cut_map(), cut_map()
    assert np.array_equal(one.place_a, two.place_a) and np.array_equal(one.place_b, two.place_b)


def test_too_few_links_make_no_map() -> None:
    papers = span_papers.some_papers()
    few = span_papers.linked_cut()
    few = replace(
        few,
        pairs=few.pairs[:5],
        probability=few.probability[:5],
        evidence={},
        considered=None,
        summary=replace(few.summary, n_links=5),
    )
    assert map_links(few, *(Collection.from_array(each) for each in (papers.a, papers.b))) is None
