"""Canonical maps of weighted anchors, joined into one projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from span_papers import all_papers, more_papers, whole_cloud_pair
from veclink.geometry import canonical
from veclink.geometry.canonical import (
    JOINED_RULES,
    JOINED_RULES_OF_FEW,
    MapRule,
    PooledAnchors,
    canonical_maps,
    joined_projections,
    rules_of,
    scaled_projections,
)
from veclink.geometry.signatures import canonical_projections, unit_rows

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
    share = np.full(len(left), 1 / len(left))
    ((map_a, map_b),) = canonical_maps(left, right, share, (MapRule(0.3, 2.0),))
    plain_a, plain_b = canonical_projections(left, right)
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


def test_every_map_counts_alike_in_the_joined_projection() -> None:
    left, right = _anchors()
    of_a, _ = joined_projections(left, right)
    share = np.full(len(left), 1 / len(left))
    widths = [map_a.shape[1] for map_a, _ in canonical_maps(left, right, share, JOINED_RULES_OF_FEW)]
    parts = np.split(left @ of_a, np.cumsum(widths)[:-1], axis=1)
    lengths = [np.sqrt((part**2).sum(axis=1).mean()) for part in parts]
    assert lengths == pytest.approx([1.0, 1.0, 1.0], rel=1e-3)


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


def test_sure_anchors_count_more_than_unsure_ones() -> None:
    sure, unsure = np.ones(900), np.full(9_000, 0.1)
    assert rules_of(np.r_[sure, unsure]) == JOINED_RULES_OF_FEW  # 990
    assert rules_of(np.r_[sure, unsure, np.ones(11)]) == JOINED_RULES  # 1,001


def test_maps_of_few_and_of_many_are_joined_by_the_weights_of_the_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = _anchors(300)
    monkeypatch.setattr(canonical, "FEW_ANCHORS", 250)
    many = joined_projections(left, right)
    few = joined_projections(left, right, np.full(300, 0.9))  # 243 by the squares
    for found, rules in ((many, JOINED_RULES), (few, JOINED_RULES_OF_FEW)):
        named = joined_projections(left, right, None, rules)
        assert unit_rows(left @ found[0]) @ unit_rows(right @ found[1]).T == pytest.approx(
            unit_rows(left @ named[0]) @ unit_rows(right @ named[1]).T, abs=1e-3
        )


def test_along_the_maps_of_few_partners_are_found_from_few_links_that_those_of_many_miss() -> None:
    """Of 40, 100 and 200 links: 74, 96 and 99.5 % are nearest, and 65, 92 and 98.3 % along the maps of many."""
    for count, gained in ((40, 5.0), (100, 2.0), (200, 0.4)):
        few, many = (_held_out(count, rules) for rules in (JOINED_RULES_OF_FEW, JOINED_RULES))
        assert few.found >= many.found + gained, count
        assert few.log_rank < 0.8 * many.log_rank, count


def test_along_the_maps_of_many_partners_stand_out_more_clearly_from_many_links() -> None:
    """The sample has 900 links, which is below the bound; nearly all partners are nearest along both by then."""
    for count in (600, 800):
        few, many = (_held_out(count, rules) for rules in (JOINED_RULES_OF_FEW, JOINED_RULES))
        assert many.clearness > few.clearness + 0.05, count
        assert min(few.found, many.found) > 99, count


def test_partners_are_as_alike_along_each_map_as_its_ridge_and_power_make_them() -> None:
    """Partners that the map was not fitted to. A ridge or power that is off by a tenth shows."""
    left, right = _anchors(300)
    share = np.full(200, 1 / 200)
    for rules, alike in ((JOINED_RULES, ALIKE_OF_MANY), (JOINED_RULES_OF_FEW, ALIKE_OF_FEW)):
        maps = canonical_maps(left[:200], right[:200], share, rules)
        cosines = [unit_rows(left[200:] @ of_a) @ unit_rows(right[200:] @ of_b).T for of_a, of_b in maps]
        found = [np.diag(each).mean() - each[~np.eye(100, dtype=bool)].mean() for each in cosines]
        assert found == pytest.approx(alike, abs=1e-3)


@pytest.mark.parametrize("anchors", [20, 60, 64, 65])
def test_of_fewer_anchors_than_dimensions_the_same_directions_are_found(anchors: int) -> None:
    rng = np.random.default_rng(0)
    scaled = (rng.standard_normal((anchors, 64)) * np.arange(1, 65) ** -0.5).astype(np.float32)
    scaled[-1] = scaled[0]  # what two anchors share is no direction more
    values, directions = canonical._principal(scaled, 40)
    squares, axes = np.linalg.eigh((scaled.T @ scaled).astype(np.float64))
    least = min(40, anchors - 1)
    assert np.allclose(values[:least], squares[::-1][:least], rtol=1e-4)
    assert np.allclose(np.abs((directions[:, :least] * axes[:, ::-1][:, :least]).sum(axis=0)), 1.0, atol=1e-3)
    assert len(values) <= 40 and np.isfinite(directions).all()


@dataclass(frozen=True)
class HeldOut:
    """How partners that a map was not fitted to look along it, among all rows of the sample."""

    found: float
    """Per cent of them that are the nearest."""
    log_rank: float
    """Mean logarithm of their rank."""
    clearness: float
    """Mean lead over the closest other row, in standard deviations of that lead."""


@cache
def _held_out(count: int, rules: tuple[MapRule, ...], draws: int = 3) -> HeldOut:
    """Of maps of so many links, over some draws of them."""
    clouds, truth = whole_cloud_pair(), all_papers().truth
    ranks, leads = [], []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(truth))
        fitted, held = truth[order[:count]], truth[order[count:]]
        of_a, of_b = joined_projections(clouds.a.array[fitted[:, 0]], clouds.b.array[fitted[:, 1]], None, rules)
        cosines = unit_rows(clouds.a.array[held[:, 0]] @ of_a) @ unit_rows(clouds.b.array @ of_b).T
        place = np.arange(len(held)), held[:, 1]
        partner = cosines[place]
        cosines[place] = -np.inf
        leads.append(partner - cosines.max(axis=1))
        ranks.append(1 + (cosines >= partner[:, None]).sum(axis=1))
    rank, lead = np.concatenate(ranks), np.concatenate(leads)
    return HeldOut(100 * float((rank == 1).mean()), float(np.log(rank).mean()), float(lead.mean() / lead.std()))


@pytest.mark.parametrize("count", [90, 300])
def test_maps_of_a_part_of_the_anchors_are_those_that_the_part_has_by_itself(count: int) -> None:
    """Of fewer anchors than directions; the principal directions of all anchors hold those of a part."""
    left, right = _anchors(count)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, count)
    part = np.flatnonzero(np.arange(count) % 5 > 0)
    anchors = PooledAnchors.of(left, right, weights, JOINED_RULES, directions=384)
    alone = scaled_projections(left[part], right[part], weights[part], JOINED_RULES, directions=384)
    assert len(anchors) == count
    for (of_a, of_b), (alone_a, alone_b) in zip(anchors.fitted(part), alone, strict=True):
        assert of_a.dtype == np.float32 and of_a.shape[0] == left.shape[1] and of_b.shape[0] == right.shape[1]
        here = (left @ of_a) @ (right @ of_b).T  # the axes may point the other way on both sides
        assert here == pytest.approx((left @ alone_a) @ (right @ alone_b).T, abs=2e-3)


def test_the_ridge_of_maps_in_few_directions_is_that_of_all_dimensions() -> None:
    """A mean variance over the directions alone would be larger, and so would every ridge."""
    left, right = _anchors(300)
    anchors = PooledAnchors.of(left, right, np.ones(300), (MapRule(1.0, 1.0),), directions=32)
    ((of_a, of_b),) = anchors.fitted(np.arange(300))
    ((alone_a, alone_b),) = scaled_projections(left, right, None, (MapRule(1.0, 1.0),), directions=32)
    assert (left @ of_a) @ (right @ of_b).T == pytest.approx((left @ alone_a) @ (right @ alone_b).T, abs=2e-3)


@pytest.mark.parametrize("turned", [False, True])
def test_a_side_of_few_dimensions_does_not_cut_the_directions_of_the_other(turned: bool) -> None:
    left, right = _anchors(300)
    sides = (left[:, :32], right) if not turned else (right, left[:, :32])
    products = []
    anchors = PooledAnchors.of(*sides, np.ones(300), JOINED_RULES)
    for maps in (anchors.fitted(np.arange(300)), scaled_projections(*sides, None, JOINED_RULES)):
        products.append([(sides[0] @ of_a) @ (sides[1] @ of_b).T for of_a, of_b in maps])
    pooled, alone = products
    assert np.array(pooled) == pytest.approx(np.array(alone), abs=2e-3)
