"""Signatures: what a vector looks like from the anchors, comparable across two embedding spaces.

All are pure functions of arrays. Points and anchors have rows of unit length, so that cosine distance is one minus the
inner product. A signature has one coordinate per anchor and rows of unit length, ready for `matching.match`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from veclink.geometry.arrays import (
    Array,
    Sides,
    Some,
    asarray,
    both,
    doubles,
    full,
    is_numpy,
    namespace,
    tiles,
    to_numpy,
)  # fmt: skip

RIDGE = 0.3  # λ of the span signature, as in its first trials: F1 hardly moves between 0.03 and 3


def distances(points: Some, anchors: Some) -> Some:
    """Cosine distances `r(u)_j = 1 − ⟨u, a_j⟩` of points (n, d) to anchors (s, d), as float32 (n, s), at least 0.

    Summed in float64, a distance depends on its two vectors alone, and not on where in a product they stand: the order
    of the rows cannot change which links are found.
    """
    r = full((len(points), len(anchors)), 0.0, "float32", points)
    others = doubles(anchors).T
    for start, stop in tiles(len(points), 1024 if is_numpy(points) else max(1, len(points))):  # in float64
        r[start:stop] = (1.0 - doubles(points[start:stop]) @ others).clip(0.0)
    return r


def kernel_width(r: Array) -> float:
    """σ of the kernel hash: the median of the non-zero ℓ2 distances between all pairs of rows of `r`.

    `r` holds the distance vectors of a sample of points. Returns 1 where all rows are the same: any width will do then.
    """
    r = doubles(r)
    xp = namespace(r)
    squares = xp.einsum("ij,ij->i", r, r)
    gaps = squares[:, None] + squares[None, :] - 2.0 * (r @ r.T)
    # The subtraction above leaves rounding where the true gap is zero; it must not count as a distance.
    apart = gaps[xp.triu(gaps > 1e-10 * (1.0 + squares.max()), 1)]
    if not len(apart):
        return 1.0
    return math.sqrt(np.median(apart) if is_numpy(apart) else apart.quantile(0.5))


def kernel_hash(r: Some, width: float) -> Some:
    """The paper's signature `h(u)_j = exp(−r(u)_j / σ)` of the distances `r` (n, s), with rows of unit length."""
    h = r * np.float32(-1.0 / width)
    return unit_rows(namespace(h).exp(h, out=h))


def span_projection(anchors: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """The projection (d, m) of the span signature, float32: `z(u) = u @ span_projection(A)`, not yet of unit length.

    The formula is `z(u) = (A Aᵀ + λI)^{-1/2} A u`: coordinates of the projection of u on the anchors' span. The inverse
    square root is the symmetric one, so that both spaces use the same basis: one axis per anchor.
    """
    basis = anchors.astype(np.float64)
    values, axes = np.linalg.eigh(basis @ basis.T)
    whitening = (axes / np.sqrt(np.maximum(values, 0.0) + ridge)) @ axes.T
    return (whitening @ basis).T.astype(np.float32)


def span_projections(anchors: Sides, ridge: float) -> Sides:
    """The projections of both sides' anchors."""
    return both(partial(span_projection, ridge=ridge), anchors)


def projected(points: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Points (n, d) along a projection (d, m), of unit length."""
    return unit_rows(points @ projection)


def singular(matrix: Array) -> tuple[Array, Array, Array]:
    """U, the singular values and Vᵀ of a matrix, or of several (…, n, m), where it lies; computed on the CPU.

    LAPACK's quick way does not converge for some sound matrices, which differ by machine; eigenvalues always do.
    """
    here = to_numpy(matrix)
    try:
        u, values, vt = np.linalg.svd(here, full_matrices=False)
    except np.linalg.LinAlgError:
        u, values, vt = by_eigenvalues(here)
    return asarray(u, matrix), asarray(values, matrix), asarray(vt, matrix)


def by_eigenvalues(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `singular`, from the eigenvectors of MᵀM; less exact for values near zero, whose axes nothing here uses."""
    flipped = matrix.swapaxes(-1, -2)
    if matrix.shape[-2] < matrix.shape[-1]:
        u, values, vt = by_eigenvalues(flipped)
        return vt.swapaxes(-1, -2), values, u.swapaxes(-1, -2)
    exact = matrix.astype(np.float64)
    squares, axes = np.linalg.eigh(flipped @ exact)
    values, axes = np.sqrt(np.maximum(squares[..., ::-1], 0.0)), axes[..., ::-1]
    left = (exact @ axes) / np.maximum(values, 1e-12)[..., None, :]
    u, values, vt = (part.astype(matrix.dtype) for part in (left, values, axes.swapaxes(-1, -2)))
    return u, values, vt


def unit_rows(x: Some) -> Some:
    """The rows of `x` scaled to unit length, in place; rows of zeros stay as they are."""
    if is_numpy(x):
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    else:
        norms = namespace(x).linalg.vector_norm(x, dim=1, keepdim=True)
    x /= norms.clip(1e-12)
    return x
