"""Canonical maps of weighted anchors, joined into one projection."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import some_papers
from veclink.geometry import canonical
from veclink.geometry.canonical import JOINED_RULES, MapRule, canonical_maps, joined_projections
from veclink.geometry.signatures import canonical_projections, unit_rows


def _anchors(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    papers = some_papers()
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
    widths = [map_a.shape[1] for map_a, _ in canonical_maps(left, right, share, JOINED_RULES)]
    parts = np.split(left @ of_a, np.cumsum(widths)[:-1], axis=1)
    lengths = [np.sqrt((part**2).sum(axis=1).mean()) for part in parts]
    assert lengths == pytest.approx([1.0, 1.0, 1.0], rel=1e-3)


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
