"""Profiles: what they refer to, and how near a row was to its cloud's mean before centring."""

from __future__ import annotations

import numpy as np

from span_papers import all_papers, cloud_pair
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare, uncentred
from veclink.geometry.neighbourhoods import RANKS, broad_profiles, read
from veclink.geometry.signatures import unit_rows


def _rows() -> np.ndarray:
    return prepare(Collection.from_array(all_papers().a[:300])).dense()


def test_nearness_to_the_mean_is_what_it_was_before_centring() -> None:
    raw = unit_rows(all_papers().a[:300].copy())
    cloud = prepare(Collection.from_array(raw))
    assert cloud.mean is not None
    assert np.allclose(uncentred(cloud.dense(), cloud.mean) @ cloud.mean, raw @ cloud.mean, atol=1e-4)


def test_a_reading_refers_to_the_chosen_rows_and_leaves_the_row_itself_out() -> None:
    points, chosen = _rows(), np.arange(0, 300, 3)
    reading = read(points, chosen)
    cosine = points @ points[chosen].T
    cosine[chosen, np.arange(len(chosen))] = -2.0
    ordered = -np.sort(-cosine, axis=1)
    ranks = np.geomspace(1, len(chosen) - 1, RANKS).astype(int)
    assert np.allclose(reading.similarities, ordered[:, ranks - 1], atol=1e-5)
    assert np.isin(reading.nearest, chosen).all()
    assert not (reading.nearest == np.arange(300)[:, None]).any()


def test_profiles_do_not_change_under_rotation() -> None:
    points = cloud_pair().a.array[:300]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(points.shape[1],) * 2))[0].astype(np.float32)
    # two neighbours at nearly the same distance may change places, which moves a few of the means
    plain, turned = (broad_profiles(x, read(x), None, 2) for x in (points, points @ turn))
    assert np.median(np.abs(turned - plain)) < 1e-3
