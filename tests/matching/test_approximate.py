"""The approximate pass: it finds what the exact one finds, nearly always, and says truthfully how often."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest

from span_papers import all_papers, cloud_pair, linked_cut, pool, some_papers
from veclink.confidence import candidates
from veclink.data.scores import score
from veclink.errors import InputError, MissingExtra
from veclink.geometry.signatures import canonical_projections, unit_rows
from veclink.linkers.linking import link
from veclink.matching import Matches, approximate, match
from veclink.matching.approximate import Approximation, match_approximately

DEPTH = 3


@cache
def _signatures() -> tuple[np.ndarray, np.ndarray]:
    """Of the whole sample, 1,950 × 1,950, along the axes of its first true pairs."""
    papers = all_papers()
    centred = [unit_rows(side - side.mean(axis=0)) for side in (papers.a, papers.b)]
    known = papers.truth[:300]
    axes = canonical_projections(centred[0][known[:, 0]], centred[1][known[:, 1]])
    return unit_rows(centred[0] @ axes[0]), unit_rows(centred[1] @ axes[1])


@cache
def _found() -> tuple[Matches, Approximation]:
    return match(*_signatures(), depth=DEPTH), match_approximately(*_signatures(), depth=DEPTH)


def _shared(exact: Matches, found: Matches) -> float:
    """The share of rows of both sides that have the same best partner."""
    sides = ((exact.forward, found.forward), (exact.backward, found.backward))
    return float(np.mean(np.concatenate([one.index[:, 0] == other.index[:, 0] for one, other in sides])))


def test_nearly_every_row_has_the_partner_of_the_exact_pass_from_a_part_of_the_cells() -> None:
    exact, found = _found()
    assert _shared(exact, found.matches) >= 0.95
    assert all(looked < cells for looked, cells in zip(found.looked_into, found.cells, strict=True))
    assert np.abs(exact.forward.density - found.matches.forward.density).mean() < 0.005
    assert found.matches.forward.index.shape == (1950, DEPTH)


def test_the_recall_it_reports_is_the_one_it_has() -> None:
    exact, found = _found()
    assert found.sampled == 512
    assert found.recall == pytest.approx(_shared(exact, found.matches), abs=0.02)


def test_a_bad_search_is_reported_as_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking into too few cells must show in the recall, or nobody could rely on it."""
    monkeypatch.setattr(approximate, "WANTED", 0.0)
    monkeypatch.setattr(approximate, "FEWEST_LOOKED_INTO", 1)
    bad = match_approximately(*_signatures(), depth=DEPTH)
    truly = _shared(_found()[0], bad.matches)
    assert bad.looked_into == (1, 1) and truly < 0.8
    assert bad.recall == pytest.approx(truly, abs=0.06)


def test_scores_and_ranks_are_csls_of_the_pairs_named() -> None:
    left, right = _signatures()
    ranking = _found()[1].matches.forward
    other = _found()[1].matches.backward
    rows = np.arange(0, 1950, 50)
    for place in range(DEPTH):
        partner = ranking.index[rows, place]
        cosine = np.einsum("ij,ij->i", left[rows], right[partner])
        expected = 2 * cosine - ranking.density[rows] - other.density[partner]
        assert np.allclose(ranking.score[rows, place], expected, atol=1e-4)
    assert np.all(np.diff(ranking.score, axis=1) <= 1e-6)


def test_the_same_random_state_repeats_and_rows_may_come_in_blocks() -> None:
    clouds, links = cloud_pair(), pool().pairs
    axes = canonical_projections(*clouds.vectors(links))
    left, right = (np.asarray(clouds.signature(side, along)) for side, along in zip("ab", axes, strict=True))
    clouds_by_block = type(clouds)(clouds.a, clouds.b, memory=100_000)
    blocks = [clouds_by_block.signature(side, along) for side, along in zip("ab", axes, strict=True)]
    one, same, streamed = (match_approximately(*both) for both in ((left, right), (left, right), blocks))
    assert np.array_equal(one.matches.forward.index, same.matches.forward.index) and one.recall == same.recall
    assert _shared(one.matches, streamed.matches) > 0.98


def test_very_few_rows_are_searched_completely() -> None:
    left, right = _signatures()
    found, exact = match_approximately(left[:5], right[:3], k=2, depth=4), match(left[:5], right[:3], k=2, depth=4)
    assert np.array_equal(found.matches.forward.index, exact.forward.index)
    assert np.array_equal(found.matches.backward.index, exact.backward.index)
    assert found.recall == 1.0


def test_link_says_how_approximate_it_was_and_links_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FULL_FOLDS", 100)  # one pass over all rows, as for large collections
    papers = some_papers()
    links, exact = (link(papers.a, papers.b, seeds=papers.seeds, approximate=on, device="cpu") for on in (True, False))
    assert "approximate" in links.summary.reasons[-1] and "of 512 sampled rows" in links.summary.reasons[-1]
    assert not any("approximate" in reason for reason in exact.summary.reasons)
    assert score(links.pairs, papers.truth).f1 >= score(exact.pairs, papers.truth).f1 - 0.02


def test_few_rows_are_matched_exactly_whatever_is_asked() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, seeds=papers.seeds, approximate=True, device="cpu")
    assert np.array_equal(links.pairs, linked_cut().pairs) and "was exact" in links.summary.reasons[-1]


def test_geh_has_no_approximate_pass() -> None:
    papers = some_papers()
    with pytest.raises(InputError, match="has no option 'approximate'"):
        link(papers.a, papers.b, seeds=papers.seeds, method="geh", approximate=True, device="cpu")


def test_rows_of_different_width_are_refused() -> None:
    left, right = _signatures()
    with pytest.raises(InputError, match="dimensions"):
        match_approximately(left, right[:, :-1])


def test_without_faiss_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"veclink\[faiss\]"):
        match_approximately(*_signatures())
