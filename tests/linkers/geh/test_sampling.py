"""How many views are drawn, how large they are, and that their points lie far apart."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from small_papers import small_papers
from veclink.linkers.geh.sampling import furthest_points, furthest_points_reference, plan
from veclink.linkers.options import GehOptions


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
    assert drawn.tolist() == [furthest_points_reference(vectors, int(s), count) for s in starts]
    assert np.array_equal(furthest_points(vectors, starts, count, budget=8), drawn)


def test_furthest_points_never_repeat_among_duplicates() -> None:
    vectors = np.repeat(small_papers()[0][:3], 4, axis=0)
    assert sorted(furthest_points(vectors, np.array([5]), 12)[0].tolist()) == list(range(12))
