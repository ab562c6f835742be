"""A linear map from A's space to B's, fitted to the seeds by gradient descent or in closed form."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import mutual_links, within_span

BETAS, TINY = (0.9, 0.999), 1e-8


def linear(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    rate: float = 1e-3,
    epochs: int = 100,
    ridge: float | None = None,
    project: bool = False,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
    random_state: int = 0,
) -> Links:
    """Links by `u ↦ u W`, without a bias, the squared error over the anchors minimised by Adam from a random start.

    ridge: instead, the exact minimum of `|A₁W − A₂|² + ridge·|W|²`, which does not hang on the start.
    project: compare within the span of the anchors only.
    """
    if ridge is None:
        weights = _descend(anchors.left, anchors.right, rate, epochs, np.random.default_rng(random_state))
    else:
        gram = anchors.left.astype(np.float64) @ anchors.left.T
        weights = anchors.left.T @ np.linalg.solve(gram + ridge * np.eye(len(gram)), anchors.right)
    options = {"rate": rate, "epochs": epochs, "ridge": ridge, "project": project, "k": k}
    mapped = a.dense() @ weights.astype(np.float32)
    sides = within_span(anchors, mapped, b.dense()) if project else (mapped, b.dense())
    return mutual_links("linear", a, b, *sides, anchors, k=k, device=device, memory=memory, options=options)


def _descend(left: np.ndarray, right: np.ndarray, rate: float, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """W after full-batch Adam on the mean squared error, from uniform weights within ±1/√d."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    bound = 1 / np.sqrt(left.shape[1])
    weights = rng.uniform(-bound, bound, (left.shape[1], right.shape[1]))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, epochs + 1):
        slope = 2 / right.size * (left.T @ (left @ weights - right))
        mean += (1 - BETAS[0]) * (slope - mean)
        square += (1 - BETAS[1]) * (slope**2 - square)
        unbiased = square / (1 - BETAS[1] ** step)
        weights -= rate * mean / (1 - BETAS[0] ** step) / (np.sqrt(unbiased) + TINY)
    return weights
