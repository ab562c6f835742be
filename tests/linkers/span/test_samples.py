"""The samples of two clouds that are searched."""

from __future__ import annotations

import numpy as np

from span_papers import whole_cloud_pair
from veclink.linkers.span.samples import sample


def test_a_sample_keeps_all_of_a_small_cloud_and_more_of_the_other() -> None:
    clouds = whole_cloud_pair()
    a, b = clouds.a.array, clouds.b.array
    sampled = sample((a[:100], b), 50_000, np.random.default_rng(0))
    assert len(sampled.rows[0]) == 100 and len(sampled.rows[1]) == 500
    assert np.isclose((sampled.rows[1] ** 2).mean(), 1.0, atol=1e-3)
