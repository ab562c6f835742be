"""Alignment by iterated matching, from a hint."""

from __future__ import annotations

import numpy as np

from span_papers import whole_cloud_pair
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span.alignment import AlignmentRule, align
from veclink.matching import match


def test_alignment_finds_a_rotation_from_a_poor_hint() -> None:
    points, rng = whole_cloud_pair().a.array, np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))[0].astype(np.float32)
    shared = points[:, :3] + 0.02 * rng.normal(size=(len(points), 3)).astype(np.float32)
    hints = unit_rows(points[:, :3].copy()), unit_rows(shared)
    axes_a, axes_b = align((points, points @ turn), hints, rng, match, AlignmentRule(power=0.7))
    pairs, _ = match(unit_rows(points @ axes_a), unit_rows(points @ turn @ axes_b)).mutual()
    assert np.mean(pairs[:, 0] == pairs[:, 1]) > 0.95 and len(pairs) > 0.9 * len(points)
