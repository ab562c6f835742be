"""Signatures: distances, kernel width and hash, span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_papers import small_papers
from veclink.geometry import signatures


def _unit(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return signatures.unit_rows(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def test_distances_are_one_minus_cosine_and_never_negative() -> None:
    points, anchors = _unit((40, 16)), _unit((7, 16), 1)
    expected = [[1 - float(p @ a) for a in anchors.astype(np.float64)] for p in points.astype(np.float64)]
    assert np.allclose(signatures.distances(points, anchors), expected, atol=1e-6)
    assert signatures.distances(points, points).min() >= 0
    assert signatures.distances(points, anchors).dtype == np.float32


def test_kernel_width_is_the_median_over_all_pairs_of_different_rows() -> None:
    r = np.random.default_rng(2).random((30, 5)).astype(np.float32)
    r[7] = r[3]
    gaps = [np.linalg.norm(r[i].astype(float) - r[j]) for i in range(30) for j in range(i)]
    assert signatures.kernel_width(r) == pytest.approx(np.median([g for g in gaps if g > 0]), rel=1e-6)


def test_kernel_hash_follows_its_formula_and_keeps_its_input() -> None:
    r = np.random.default_rng(3).random((20, 6)).astype(np.float32)
    before = r.copy()
    h = np.exp(-r / 0.7)
    assert np.allclose(signatures.kernel_hash(r, 0.7), h / np.linalg.norm(h, axis=1, keepdims=True), atol=1e-6)
    assert np.array_equal(r, before)


def test_span_without_ridge_has_the_cosines_of_the_projections_on_the_anchors_span() -> None:
    points, anchors = _unit((30, 12)), _unit((5, 12), 1)
    basis = np.linalg.qr(anchors.astype(np.float64).T)[0]
    projected = signatures.unit_rows((points @ basis).astype(np.float64))
    z = signatures.projected(points, signatures.span_projection(anchors, ridge=0.0))
    assert np.allclose(z @ z.T, projected @ projected.T, atol=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_no_signature_changes_when_a_cloud_is_rotated(seed: int) -> None:
    vectors = signatures.unit_rows(small_papers()[0][:60].copy())
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(384, 384)))[0].astype(np.float32)
    turned = vectors @ rotation
    for anchors in (10, 40):
        r, s = (signatures.distances(x, x[:anchors]) for x in (vectors, turned))
        assert np.allclose(r, s, atol=1e-5)
        width = signatures.kernel_width(r)
        assert signatures.kernel_width(s) == pytest.approx(width, rel=1e-4)
        assert np.allclose(signatures.kernel_hash(r, width), signatures.kernel_hash(s, width), atol=1e-5)
        spans = (signatures.projected(x, signatures.span_projection(x[:anchors])) for x in (vectors, turned))
        assert np.allclose(*spans, atol=1e-4)


def test_span_axes_give_the_span_signature_before_it_is_scaled() -> None:
    points, anchors = _unit((30, 12)), _unit((5, 12), 1)
    axes = signatures.span_projection(anchors, ridge=0.3)
    gram = anchors.astype(np.float64) @ anchors.T
    values, vectors = np.linalg.eigh(gram + 0.3 * np.eye(5))
    expected = points @ ((vectors / np.sqrt(values)) @ vectors.T @ anchors).T
    assert axes.shape == (12, 5) and axes.dtype == np.float32
    assert np.allclose(points @ axes, expected, atol=1e-5)
    assert np.allclose(signatures.projected(points, axes), signatures.unit_rows(points @ axes))


@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_axes_do_not_depend_on_lapack_converging(shape: tuple[int, int], kind: type) -> None:
    a, b, truth = small_papers()
    matrix = (a[truth[:90, 0], : shape[0]].T @ b[truth[:90, 1], : shape[1]]).astype(kind)
    u, values, vt = signatures.by_eigenvalues(matrix)
    assert u.dtype == values.dtype == vt.dtype == kind
    assert np.allclose(values, np.linalg.svd(matrix)[1], atol=1e-4 * values[0])
    assert np.allclose((u * values) @ vt, matrix, atol=1e-5 * values[0])
    several = signatures.by_eigenvalues(np.stack([2 * matrix, matrix]))
    assert all(np.allclose(one, of[1]) for one, of in zip((u, values, vt), several, strict=True))
