"""Span linking on real vectors: right links, honest estimates, and no answer where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from span_papers import Papers, all_papers, linked, linked_cut, outside_papers, some_papers
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.data.words import Reason
from veclink.linkers.linking import link


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in pairs}


def f1(links: Links, papers: Papers) -> float:
    return score(links.pairs, papers.truth).f1


def half_wrong(papers: Papers) -> np.ndarray:
    """30 seeds, of which the first 15 are wrong."""
    seeds = papers.truth[:30].copy()
    seeds[:15, 1] = np.roll(seeds[:15, 1], 1)
    return seeds


@pytest.mark.parametrize(("links", "papers"), [(linked, all_papers), (linked_cut, some_papers)])
def test_fifteen_seeds_link_real_papers_and_the_estimates_are_near_the_truth(
    links: Callable[[], Links], papers: Callable[[], Papers]
) -> None:
    found, true = links(), score(links().pairs, papers().truth)
    assert true.f1 >= 0.9
    assert found.summary.verdict == "linkable"
    assert found.summary.precision == pytest.approx(true.precision, abs=0.06)
    assert found.summary.recall == pytest.approx(true.recall, abs=0.1)
    assert found.summary.overlap == pytest.approx(len(papers().truth), rel=0.15)


def test_links_are_one_to_one_and_sorted_by_probability() -> None:
    links = linked()
    assert len(np.unique(links.pairs[:, 0])) == len(np.unique(links.pairs[:, 1])) == len(links)
    assert np.all(np.diff(links.probability) <= 0)


def test_sure_links_are_right_more_often_than_doubtful_ones() -> None:
    calibrated = linked().considered
    assert calibrated is not None
    right = all_papers().right(calibrated.pairs)
    for low, high in ((0.0, 0.3), (0.9, 1.0)):
        here = (calibrated.probability >= low) & (calibrated.probability <= high)
        assert here.sum() > 30
        assert right[here].mean() == pytest.approx(calibrated.probability[here].mean(), abs=0.15)


def test_a_wanted_precision_is_reached_and_a_lower_one_gives_more_links() -> None:
    links, papers = linked(), all_papers()
    sure, more = links.at(precision=0.95), links.at(precision=0.8)
    assert papers.right(sure.pairs).mean() >= 0.9
    assert len(more) > len(links) and as_set(links.pairs) < as_set(more.pairs)
    assert more.summary.precision is not None and more.summary.precision >= 0.8


def test_each_link_explains_itself() -> None:
    links, papers = linked(), all_papers()
    # A link that was not given, so that all of it was found.
    why = links.explain(int(np.flatnonzero(~links.evidence["given"])[0]))
    assert why["rank_a"] == why["rank_b"] == 1
    assert why["score"] > why["rival_a_score"] and why["score"] > why["rival_b_score"]
    assert why["rival_b"] != why["row_b"] and why["rival_a"] != why["row_a"]
    assert 0 <= why["votes"] <= why["views"]
    nearest = np.array([[why[f"near{i}_a"], why[f"near{i}_b"]] for i in (1, 2, 3)])
    assert why["near1_similarity"] >= why["near2_similarity"] >= why["near3_similarity"]
    assert [why["row_a"], why["row_b"]] not in nearest.tolist() and papers.right(nearest).any()


def test_permuting_rotating_and_rescaling_change_nothing_but_the_row_numbers() -> None:
    papers, rng = some_papers(), np.random.default_rng(1)
    order_a, order_b = rng.permutation(len(papers.a)), rng.permutation(len(papers.b))
    turn = np.linalg.qr(rng.standard_normal((papers.a.shape[1],) * 2))[0]
    lengths = rng.uniform(0.5, 20, size=(len(papers.a), 1))
    seeds = np.column_stack([np.argsort(order_a)[papers.seeds[:, 0]], np.argsort(order_b)[papers.seeds[:, 1]]])
    moved = link((lengths * (papers.a @ turn))[order_a], 3 * papers.b[order_b], seeds=seeds, device="cpu")
    again = as_set(np.column_stack([order_a[moved.pairs[:, 0]], order_b[moved.pairs[:, 1]]]))
    assert len(again & as_set(linked_cut().pairs)) >= 0.95 * max(len(again), len(linked_cut()))


def test_swapping_the_collections_swaps_the_columns() -> None:
    papers = some_papers()
    swapped = link(papers.b, papers.a, seeds=papers.seeds[:, ::-1], device="cpu")
    same = as_set(swapped.pairs[:, ::-1]) & as_set(linked_cut().pairs)
    assert len(same) >= 0.95 * max(len(swapped), len(linked_cut()))


def test_no_seeds_link_as_well_as_fifteen() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, device="cpu")
    assert links.summary.verdict == "linkable" and not links.evidence["given"].any()
    assert f1(links, papers) >= f1(linked_cut(), papers) - 0.03


def test_outside_anchors_link_as_well_as_seeds_and_are_no_links() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, anchors=outside_papers(), device="cpu")
    assert f1(links, papers) >= f1(linked_cut(), papers) - 0.02
    assert not links.evidence["given"].any()


def test_wrong_seeds_are_named_and_do_no_harm() -> None:
    papers = some_papers()
    seeds = half_wrong(papers)
    links = link(papers.a, papers.b, seeds=seeds, device="cpu")
    named = np.array(links.summary.wrong_seeds)
    assert len(named) >= 12 and as_set(named) <= as_set(seeds[:15])
    assert not as_set(named) & as_set(links.pairs)
    assert f1(links, papers) >= f1(linked_cut(), papers) - 0.03
    trusted = link(papers.a, papers.b, seeds=seeds, trust_seeds=True, device="cpu")
    assert not trusted.summary.wrong_seeds and as_set(seeds) <= as_set(trusted.pairs)


def test_one_to_one_false_finds_both_copies_of_most_duplicates() -> None:
    papers = some_papers()
    copied = papers.truth[100:130]
    a = np.concatenate([papers.a, papers.a[copied[:, 0]]])
    copies = np.column_stack([len(papers.a) + np.arange(len(copied)), copied[:, 1]])
    links = link(a, papers.b, seeds=papers.seeds, one_to_one=False, device="cpu")
    found = as_set(links.pairs)
    both = [
        tuple(one) in found and tuple(two) in found for one, two in zip(copied.tolist(), copies.tolist(), strict=True)
    ]
    assert np.mean(both) >= 0.8
    assert score(links.pairs, papers.truth).recall >= 0.95


def test_random_vectors_with_seeds_are_not_linkable() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((50, 32)), rng.standard_normal((50, 48))
    links = link(a, b, seeds=[(row, row) for row in range(5)], device="cpu")
    assert links.summary.verdict == "not linkable" and not len(links)


def test_random_vectors_without_seeds_are_not_linkable() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((100, 32)), rng.standard_normal((100, 48))
    assert link(a, b, device="cpu").summary.verdict == "not linkable"


def test_clouds_of_nothing_but_duplicates_do_not_crash() -> None:
    papers = some_papers()
    a, b = np.repeat(papers.a[:12], 5, axis=0), np.repeat(papers.b[:12], 5, axis=0)
    links = link(a, b, seeds=[(0, 0), (5, 5), (10, 10)], device="cpu")
    assert links.summary.verdict in ("linkable", "doubtful", "not linkable")
    assert len(np.unique(links.pairs[:, 0])) == len(links)


def test_ten_rows_are_too_few_whatever_is_given() -> None:
    papers = some_papers()
    shared = papers.truth[:10]
    for seeds in (None, [(row, row) for row in range(5)]):
        links = link(papers.a[shared[:, 0]], papers.b[shared[:, 1]], seeds=seeds, device="cpu")
        assert (links.summary.verdict, len(links)) == ("not linkable", 0)
        assert links.summary.why == (Reason("too_few_rows", rows=10, needed=30),)
