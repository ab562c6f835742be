"""Large fields, at a size a test can afford: a sample is asked, and the links are nearly those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers, linked
from veclink import backends
from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import span_projection
from veclink.linkers.linking import link


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clouds of more than 500 rows count as large."""
    monkeypatch.setattr(backends, "ALL_ASKED", 500)
    monkeypatch.setattr(backends, "ASKED", 600)


@pytest.fixture
def small_links() -> Links:
    """Those of the whole sample, made before anything counts as large."""
    return linked()


def test_links_of_a_large_field_are_nearly_those_of_a_small_one(small_links: Links, large: None) -> None:
    papers = all_papers()
    found = link(papers.a, papers.b, seeds=papers.seeds, device="cpu")
    assert found.summary.verdict == "linkable"
    assert score(found.pairs, papers.truth).f1 > score(small_links.pairs, papers.truth).f1 - 0.02
    assert abs(found.summary.precision - score(found.pairs, papers.truth).precision) < 0.05


def test_the_smaller_cloud_is_asked_whichever_side_it_is(large: None) -> None:
    papers = all_papers()
    sides = [prepare(Collection.from_array(each)).dense() for each in (papers.a, papers.b[:700])]
    for few in (1, 0):
        a, b = sides if few else sides[::-1]
        cloud_pair = CloudPair(a, b)
        sample = cloud_pair.sample_queries(np.random.default_rng(0))
        shared = papers.truth[papers.truth[:, 1] < 700][:, :: 1 if few else -1]
        axes = tuple(span_projection(side, 0.3) for side in cloud_pair.vectors(shared[:200]))
        pairs, _ = cloud_pair.propose(axes, sample)
        assert set(pairs[:, few]) <= set(sample.rows) and sample.extent == 600
        assert cloud_pair.confirmed(axes, pairs, sample, np.random.default_rng(0)).mean() > 0.3


def test_all_rows_of_small_clouds_are_asked_and_nothing_is_drawn() -> None:
    papers = all_papers()
    clouds, rng = CloudPair(papers.a, papers.b), np.random.default_rng(0)
    sample = clouds.sample_queries(rng, first=True)
    assert sample.rows is None and sample.extent == len(papers.a)
    assert rng.random() == np.random.default_rng(0).random()
