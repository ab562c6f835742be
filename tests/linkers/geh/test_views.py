"""GEH's views: how many, how large, with points far apart; what they propose is the same in numpy and in torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_papers import small_papers
from span_papers import some_papers
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh.linker import geh
from veclink.linkers.geh.views import GlobalPath, Proposal, Settings, furthest_points, plan
from veclink.linkers.options import GehOptions
from veclink_bench import geh_reference


def test_schedule_follows_the_formulas() -> None:
    scale = 1 + 0.3 * math.log(300 / 15)
    assert plan(300, 15, GehOptions()) == (math.ceil(5 * scale), math.ceil(0.4 * 300 / scale))
    assert plan(15, 15, GehOptions()) == (5, 6)
    assert plan(300, 15, GehOptions(schedule="frozen")) == (5, 120)
    assert plan(300, 15, GehOptions(views="single")) == (1, 300)
    assert plan(15, 15, GehOptions(base_views=12)) == (12, 6)


@given(st.integers(3, 25), st.integers(0, 1000))
def test_batched_furthest_points_agree_with_the_definition(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = small_papers()[0][rng.choice(200, n, replace=False)]
    starts, count = rng.integers(n, size=4), int(rng.integers(1, n + 1))
    drawn = furthest_points(vectors, starts, count)
    assert drawn.tolist() == [geh_reference.furthest_points(vectors, s, count).tolist() for s in starts]
    assert np.array_equal(furthest_points(vectors, starts, count, budget=8), drawn)


def test_furthest_points_never_repeat_among_duplicates() -> None:
    vectors = np.repeat(small_papers()[0][:3], 4, axis=0)
    assert sorted(furthest_points(vectors, np.array([5]), 12)[0].tolist()) == list(range(12))


def _clouds() -> tuple[Cloud, Cloud]:
    papers = some_papers()
    a, b = (prepare(Collection.from_array(each), centre=True) for each in (papers.a, papers.b))
    return a, b


def _views(device: str, links: int = 60, **options: Any) -> list[Proposal]:
    papers = some_papers()
    a, b = _clouds()
    settings = Settings(GehOptions(**({"view_choice": "random"} | options)), None, device)
    path = GlobalPath(a, b, anchors_from_pairs(a, b, papers.seeds), settings)
    return list(path.round(papers.truth[:links], np.random.default_rng(0)).proposals)


@pytest.mark.extras
@pytest.mark.parametrize("links", [0, 60])
@pytest.mark.parametrize("options", [{"k": 10}, {"k": 10, "encoding": "raw"}, {"k": 5000, "view_choice": "fps"}])
def test_views_on_a_torch_device_propose_what_they_do_in_numpy(links: int, options: dict[str, Any]) -> None:
    here, there = (_views(device, links, **options) for device in ("cpu", "torch:cpu"))
    assert len(here) == len(there) == (8 if links else 1)
    found = [
        {(view, *pair) for view, each in enumerate(proposals) for pair in each.pairs.tolist()}
        for proposals in (here, there)
    ]
    assert len(found[0] & found[1]) / len(found[0] | found[1]) > 0.99  # `exp` rounds otherwise there
    assert np.isclose(here[0].score.mean(), there[0].score.mean(), atol=1e-3)


@pytest.mark.extras
def test_links_grown_on_a_torch_device_are_as_good() -> None:
    papers = some_papers()
    a, b = _clouds()
    options = GehOptions(k=10, max_iterations=6, view_choice="random", own_votes=False)
    anchors = anchors_from_pairs(a, b, papers.seeds)
    here, there = (
        score(geh(a, b, anchors, options, device=device).pairs, papers.truth).f1 for device in ("cpu", "torch:cpu")
    )
    assert here > 0.6
    assert abs(here - there) < 0.03
