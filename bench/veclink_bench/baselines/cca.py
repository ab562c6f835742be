"""Canonical correlation analysis: directions of either space along which the seeds vary together."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import canonical_projections
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
