"""Canonical maps of weighted anchors, joined into one projection."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import more_papers
from veclink.geometry.signatures import (
    JOINED_RULES,
    JOINED_RULES_OF_FEW,
    MapRule,
    PooledAnchors,
    canonical_maps,
    joined_projections,
    rules_of,
    unit_rows,
)
from veclink_bench.baselines.cca import canonical_projections

ALIKE_OF_MANY = (0.6135, 0.7072, 0.5281)
ALIKE_OF_FEW = (0.6722, 0.6081, 0.6026)
"""By how much the mean cosine of partners is above that of other rows, along each map."""


def _anchors(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    papers = more_papers()
    rows_a, rows_b = papers.truth[:count].T
    left = unit_rows(papers.a[rows_a].astype(np.float32))
    right = unit_rows(papers.b[rows_b].astype(np.float32))
    return left, right


def test_one_map_of_equal_weights_is_the_plain_canonical_map_in_its_leading_directions() -> None:
    left, right = _anchors()
    ((map_a, map_b),) = canonical_maps(left, right, None, (MapRule(0.3, 2.0),))
    plain_a, plain_b = canonical_projections(left, right, ridge=0.3, power=2.0)
    joined = unit_rows((left @ map_a).astype(np.float32)), unit_rows((right @ map_b).astype(np.float32))
    plain = unit_rows(left @ plain_a), unit_rows(right @ plain_b)
    assert joined[0] @ joined[1].T == pytest.approx(plain[0] @ plain[1].T, abs=0.03)


def test_an_anchor_without_weight_is_as_if_it_were_not_there() -> None:
    left, right = _anchors(200)
    weights = np.ones(200)
    weights[150:] = 0.0
    with_them = joined_projections(left, right, weights)
    without = joined_projections(left[:150], right[:150])
    seen = [unit_rows(left @ of_a) @ unit_rows(right @ of_b).T for of_a, of_b in (with_them, without)]
    assert seen[0] == pytest.approx(seen[1], abs=1e-3)


def test_an_anchor_of_twice_the_weight_is_as_if_it_were_there_twice() -> None:
    left, right = _anchors(150)
    weights = np.ones(150)
    weights[:40] = 2.0
    weighted = joined_projections(left, right, weights)
    twice = joined_projections(np.concatenate([left, left[:40]]), np.concatenate([right, right[:40]]))
    seen = [unit_rows(left @ of_a) @ unit_rows(right @ of_b).T for of_a, of_b in (weighted, twice)]
    assert seen[0] == pytest.approx(seen[1], abs=1e-3)


@pytest.mark.parametrize(
    ("count", "weight", "rules"),
    [
        (1, 1.0, JOINED_RULES_OF_FEW),
        (999, 1.0, JOINED_RULES_OF_FEW),
        (1000, 1.0, JOINED_RULES),
        (100_000, 1.0, JOINED_RULES),
        (20_000, 0.1, JOINED_RULES_OF_FEW),  # 2,000 by their weights, 200 by the squares
        (3_990, 0.5, JOINED_RULES_OF_FEW),
        (4_010, 0.5, JOINED_RULES),
    ],
)
def test_below_a_thousand_anchors_by_the_squares_of_their_weights_the_maps_are_those_of_few(
    count: int, weight: float, rules: tuple[MapRule, ...]
) -> None:
    assert rules_of(np.full(count, weight)) == rules


def test_partners_are_as_alike_along_each_map_as_its_ridge_and_power_make_them() -> None:
    """Partners that the map was not fitted to. A ridge or power that is off by a tenth shows."""
    left, right = _anchors(300)
    for rules, alike in ((JOINED_RULES, ALIKE_OF_MANY), (JOINED_RULES_OF_FEW, ALIKE_OF_FEW)):
        maps = canonical_maps(left[:200], right[:200], None, rules)
        cosines = [unit_rows(left[200:] @ of_a) @ unit_rows(right[200:] @ of_b).T for of_a, of_b in maps]
        found = [np.diag(each).mean() - each[~np.eye(100, dtype=bool)].mean() for each in cosines]
        assert found == pytest.approx(alike, abs=1e-3)


@pytest.mark.parametrize("count", [90, 300])
def test_maps_of_a_part_of_the_anchors_are_those_that_the_part_has_by_itself(count: int) -> None:
    """Of fewer anchors than directions; the principal directions of all anchors hold those of a part."""
    left, right = _anchors(count)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, count)
    part = np.flatnonzero(np.arange(count) % 5 > 0)
    anchors = PooledAnchors(left, right, weights, JOINED_RULES, directions=384)
    alone = canonical_maps(left[part], right[part], weights[part], JOINED_RULES, directions=384)
    assert len(anchors.weights) == count
    for (of_a, of_b), (alone_a, alone_b) in zip(anchors.fitted(part), alone, strict=True):
        assert of_a.dtype == np.float32 and of_a.shape[0] == left.shape[1] and of_b.shape[0] == right.shape[1]
        here = (left @ of_a) @ (right @ of_b).T  # the axes may point the other way on both sides
        assert here == pytest.approx((left @ alone_a) @ (right @ alone_b).T, abs=2e-3)


def test_the_ridge_of_maps_in_few_directions_is_that_of_all_dimensions() -> None:
    """A mean variance over the directions alone would be larger, and so would every ridge."""
    left, right = _anchors(300)
    anchors = PooledAnchors(left, right, np.ones(300), (MapRule(1.0, 1.0),), directions=32)
    ((of_a, of_b),) = anchors.fitted(np.arange(300))
    ((alone_a, alone_b),) = canonical_maps(left, right, None, (MapRule(1.0, 1.0),), directions=32)
    assert (left @ of_a) @ (right @ of_b).T == pytest.approx((left @ alone_a) @ (right @ alone_b).T, abs=2e-3)


def test_axes_mute_what_the_two_sides_do_not_share() -> None:
    rng = np.random.default_rng(0)
    shared, own_a, own_b = (rng.standard_normal((500, 4)) for _ in range(3))
    axes_a, axes_b = joined_projections(np.hstack([shared, own_a]), np.hstack([own_b, shared]), rules=JOINED_RULES[:1])
    assert axes_a.shape == axes_b.shape and axes_a.dtype == np.float32
    assert np.linalg.norm(axes_a[4:]) < 0.1 * np.linalg.norm(axes_a[:4])
    assert np.linalg.norm(axes_b[:4]) < 0.1 * np.linalg.norm(axes_b[4:])
