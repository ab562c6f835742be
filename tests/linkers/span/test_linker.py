"""Span linking on real vectors: right links, honest estimates, and no answer where there is none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from span_papers import Papers, all_papers, cloud_pair, linked, linked_cut, outside_papers, some_papers
from veclink.backends.cloud_pair import CloudPair
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.geometry.canonical import PooledAnchors
from veclink.linkers.anchors import anchors_from_rows
from veclink.linkers.linking import link
from veclink.linkers.options import SpanOptions
from veclink.linkers.span import linker
from veclink.linkers.span.linker import span
from veclink.linkers.span.results import Estimated
from veclink.linkers.span.task import SpanTask
from veclink.linkers.stages import NOBODY


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
    assert f1(links, papers) >= f1(linked_cut(), papers) - 0.02


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
    assert f1(links, papers) >= f1(linked_cut(), papers) - 0.02


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


def test_one_to_one_false_estimates_its_precision() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, seeds=papers.seeds, one_to_one=False, device="cpu")
    assert links.summary.precision == pytest.approx(score(links.pairs, papers.truth).precision, abs=0.1)


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


def test_a_pool_that_did_not_take_off_gives_no_links_and_says_why() -> None:
    noise = np.random.default_rng(0).standard_normal((60, 40)).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    found = span(CloudPair(cloud_pair().a.array[:60], noise), None)
    assert (found.verdict.name, found.kept, len(found.pairs)) == ("not linkable", 0, 0)
    first, tried, few, following = found.verdict.reasons
    assert first == "No links found without seeds. That does not mean that nothing is shared."
    assert "has 60 rows only" in few
    assert "as few as between unrelated vectors" in tried and "--seeds-by" in following and "--anchors" in following


def test_ten_rows_are_too_few_whatever_is_given() -> None:
    papers = some_papers()
    shared = papers.truth[:10]
    for seeds in (None, [(row, row) for row in range(5)]):
        links = link(papers.a[shared[:, 0]], papers.b[shared[:, 1]], seeds=seeds, device="cpu")
        assert (links.summary.verdict, len(links)) == ("not linkable", 0)
        assert links.summary.reasons[0].startswith("Too few rows: the smaller collection has 10")


def test_where_wrong_seeds_lead_nowhere_the_advice_is_to_check_them() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((60, 80)), rng.standard_normal((60, 90))
    links = link(a, b, seeds=[(row, row) for row in range(8)], device="cpu")
    assert links.summary.reasons[0].startswith("No links found, neither from what was given nor without it.")
    assert "check what was given" in links.summary.reasons[-1]


def test_given_pairs_are_kept_as_certain_and_the_same_random_state_repeats() -> None:
    papers = some_papers()
    in_order = papers.seeds[np.lexsort((papers.seeds[:, 1], papers.seeds[:, 0]))]  # as `link` takes them
    found = span(cloud_pair(), anchors_from_rows(cloud_pair(), in_order))
    first = as_set(found.pairs[: len(papers.seeds)])
    assert first == as_set(papers.seeds) and np.all(found.probability[: len(papers.seeds)] == 1)
    assert as_set(found.pairs[: found.kept]) == as_set(linked_cut().pairs)
    assert np.array_equal(np.sort(found.probability[: found.kept]), np.sort(linked_cut().probability))


@cache
def _first_estimated() -> Estimated:
    """The cut of the sample, up to its first probabilities, which no number of refits changes."""
    task = _task(SpanOptions())
    return linker.estimate(task, linker.score(task, linker.match(task, linker.grow(task, None))))


def _task(options: SpanOptions) -> SpanTask:
    anchors = anchors_from_rows(cloud_pair(), some_papers().seeds)
    return SpanTask(cloud_pair(), anchors, options, np.random.default_rng(0), NOBODY)


def _estimated(options: SpanOptions) -> tuple[SpanTask, Estimated]:
    return _task(options), _first_estimated()


def test_how_many_candidates_are_right_is_the_mean_of_what_all_fits_say(monkeypatch: pytest.MonkeyPatch) -> None:
    task, first = _estimated(SpanOptions(refits=2))
    shares = [first.calibrated.share_right]
    fit_again = linker._refitted

    def noted(*args: Estimated) -> Estimated:
        again = fit_again(*args)
        shares.append(again.calibrated.share_right)
        return again

    monkeypatch.setattr(linker, "_refitted", noted)
    last = linker.refit(task, first)
    assert len(shares) == 3 and len(set(shares)) == 3
    assert last.calibrated.share_right == pytest.approx(np.prod(shares) ** (1 / 3), rel=1e-6)
    assert last.first is first


def test_a_refit_has_eight_maps_of_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    task, first = _estimated(SpanOptions(refits=1))
    fitted = PooledAnchors.fitted
    sizes: list[tuple[int, int]] = []

    def noted(anchors: PooledAnchors, places: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        sizes.append((len(anchors), len(places)))
        return fitted(anchors, places)

    monkeypatch.setattr(PooledAnchors, "fitted", noted)
    linker.refit(task, first)
    anchors = len(first.calibrated.positions)
    assert [of for of, _ in sizes] == [anchors] * 8
    assert sum(anchors - places for _, places in sizes) == anchors


def test_without_refits_the_first_probabilities_stay() -> None:
    task, first = _estimated(SpanOptions(refits=0))
    assert linker.refit(task, first) is first


def test_clouds_that_are_matched_along_one_map_are_not_refitted(monkeypatch: pytest.MonkeyPatch) -> None:
    task, first = _estimated(SpanOptions(refits=1))
    monkeypatch.setattr(linker, "FULL_FOLDS", 299)
    assert linker.refit(task, first) is first
