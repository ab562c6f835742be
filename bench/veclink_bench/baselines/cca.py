"""Canonical correlation analysis: directions of either space along which the seeds vary together."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.arrays import Sides
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import singular
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import mutual_links

LEAST_RIDGE = 1e-6


def cca(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    ridge: float = LEAST_RIDGE,
    power: float = 0.0,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
) -> Links:
    """Links by the canonical projections of the anchors, every dimension of either cloud standardised first.

    ridge: added to the covariances, as a share of their mean eigenvalue. With fewer anchors than dimensions every
    direction correlates perfectly, and next to nothing added leaves it so. power: weigh a direction by its correlation.
    """
    (rows_a, left), (rows_b, right) = _standard(a, anchors.left), _standard(b, anchors.right)
    axes_a, axes_b = canonical_projections(left, right, ridge=ridge, power=power)
    most = min(len(anchors), axes_a.shape[1])
    options = {"ridge": ridge, "power": power, "k": k}
    mapped_a, mapped_b = rows_a @ axes_a[:, :most], rows_b @ axes_b[:, :most]
    return mutual_links("cca", a, b, mapped_a, mapped_b, anchors, k=k, device=device, memory=memory, options=options)


def _standard(cloud: Cloud, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a cloud and the anchors with mean 0 and variance 1 in every dimension of the cloud."""
    rows = cloud.dense()
    mean, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-9)
    return (rows - mean) / spread, (outside - mean) / spread


def canonical_projections(left: np.ndarray, right: np.ndarray, ridge: float, power: float) -> Sides:
    """Canonical projections from paired anchors, (d1, r) and (d2, r) float32, each axis weighted by its ρ^power.

    As `veclink.geometry.signatures.canonical_maps`, in float64 and in all directions: its oracle.
    """
    left, right = left.astype(np.float64), right.astype(np.float64)
    white_left, white_right = _whitening(left, ridge), _whitening(right, ridge)
    u, rho, vt = singular(white_left @ (left.T @ right / len(left)) @ white_right)
    weight = np.clip(rho, 0.0, 1.0) ** power
    seen = weight > 1e-3 * weight[0]
    return (
        ((white_left @ u) * weight)[:, seen].astype(np.float32),
        ((white_right @ vt.T) * weight)[:, seen].astype(np.float32),
    )


def _whitening(points: np.ndarray, ridge: float) -> np.ndarray:
    values, axes = np.linalg.eigh(points.T @ points / len(points))
    values = np.maximum(values, 0.0)
    return (axes / np.sqrt(values + ridge * values.mean())) @ axes.T
