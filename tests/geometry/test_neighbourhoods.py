"""The neighbourhood features of a pair tell right from wrong, and do not count the pair itself."""

from __future__ import annotations

import numpy as np

from span_papers import cloud_pair, pool, some_papers
from veclink.geometry.arrays import ArrayRows
from veclink.geometry.nearest import local_agreement, own_density


def test_right_pairs_agree_more_with_their_neighbourhoods_than_wrong_ones() -> None:
    clouds, papers = cloud_pair(), some_papers()
    rows_a, rows_b = papers.truth.T
    correlation, overlap = local_agreement(clouds.a, clouds.b, pool().pairs, rows_a, rows_b)
    other_correlation, other_overlap = local_agreement(clouds.a, clouds.b, pool().pairs, rows_a, np.roll(rows_b, 1))
    assert correlation.mean() > other_correlation.mean() + 0.2 and overlap.mean() > other_overlap.mean() + 0.2


def test_agreement_is_what_its_definition_says() -> None:
    clouds, links = cloud_pair(), pool().pairs
    row_a, row_b = links[5]
    free = (links[:, 0] != row_a) & (links[:, 1] != row_b)
    near_a, near_b = (
        clouds.a.array[links[free, 0]] @ clouds.a.array[row_a],
        clouds.b.array[links[free, 1]] @ clouds.b.array[row_b],
    )
    top_a, top_b = np.argsort(-near_a)[:20], np.argsort(-near_b)[:20]
    both = np.concatenate([top_a, top_b])
    correlation, overlap = local_agreement(clouds.a, clouds.b, links, np.array([row_a]), np.array([row_b]))
    assert np.isclose(correlation[0], np.corrcoef(near_a[both], near_b[both])[0, 1], atol=1e-4)
    assert np.isclose(overlap[0], len(np.intersect1d(top_a, top_b)) / 20)


def test_a_pair_gets_the_same_agreement_whether_it_is_in_the_pool_or_not() -> None:
    clouds, links = cloud_pair(), pool().pairs
    rows = links[:50]
    inside = local_agreement(clouds.a, clouds.b, links, rows[:, 0], rows[:, 1])
    for place in (0, 20, 49):
        outside = local_agreement(
            clouds.a, clouds.b, np.delete(links, place, axis=0), rows[place : place + 1, 0], rows[place : place + 1, 1]
        )
        assert np.isclose(inside[0][place], outside[0][0], atol=1e-5)
        assert np.isclose(inside[1][place], outside[1][0])


def test_density_ranks_crowded_points_above_lonely_ones_and_is_standardised() -> None:
    rng = np.random.default_rng(0)
    crowd = np.array([1.0] + [0.0] * 15) + 0.05 * rng.standard_normal((40, 16))
    cloud = np.concatenate([crowd, rng.standard_normal((200, 16))]).astype(np.float32)
    cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    density = own_density(ArrayRows(cloud), rng)
    assert density[:40].min() > density[40:].max()
    assert np.isclose(density.mean(), 0, atol=1e-5) and np.isclose(density.std(), 1, atol=1e-5)
