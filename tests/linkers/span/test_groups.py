"""Groups of rows: their means and masses say as much of a cloud as its rows."""

from __future__ import annotations

import numpy as np

from span_papers import whole_cloud_pair
from veclink.linkers.span.groups import grouped


def test_groups_keep_the_mean_and_most_of_what_tells_rows_apart() -> None:
    clouds = whole_cloud_pair()
    rows = clouds.a.array[:900], clouds.b.array[:700]
    found = grouped(rows, 100, np.random.default_rng(0))
    for cloud, means, masses in zip(rows, found.rows, found.masses, strict=True):
        assert len(means) == len(masses) <= 100 and masses.min() > 0
        assert np.isclose(masses.sum(), 1.0)
        assert np.allclose(masses @ means, cloud.mean(axis=0), atol=1e-5)
        kept = (masses @ means**2).sum()  # of the rows' 1; groups by lot keep a ninth
        assert kept > 0.3


def test_rows_that_are_fewer_than_the_groups_are_their_own() -> None:
    rows = whole_cloud_pair().a.array[:40]
    found = grouped((rows, rows), 200, np.random.default_rng(0))
    assert np.allclose(found.masses[0], 1 / 40)
    order = np.argsort(found.rows[0][:, 0])
    assert np.allclose(found.rows[0][order], rows[np.argsort(rows[:, 0])], atol=1e-6)
