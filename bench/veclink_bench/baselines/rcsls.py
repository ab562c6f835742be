"""RCSLS: from Procrustes, gradient steps on the csls score of the seeds (Joulin et al., 2018)."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors
from veclink.matching import match
from veclink_bench.baselines.finishing import mutual_links, within_span

SHRINK = 0.5


def rcsls(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    rate: float = 1.0,
    epochs: int = 10,
    orthogonal: bool = True,
    low_rank: bool = False,
    project: bool = False,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
) -> Links:
    """Links by the map W that lowers `Σ −2⟨xW, y⟩ + mean ⟨xW, y'⟩ + mean ⟨x'W, y⟩` over the anchors (x, y).

    y' runs over the k rows of B nearest to xW, x' over the k rows of A whose images are nearest to y. A step that
    raises the loss is undone and the rate halved. orthogonal: go back to the nearest orthogonal map after every step.
    low_rank: start from the directions that the anchors fix, instead of a full rotation.
    project: compare within the span of the anchors only.
    """
    left, right = anchors.left.astype(np.float64), anchors.right.astype(np.float64)
    rows_a, rows_b = a.dense(), b.dense()
    rank = len(anchors) if low_rank else None
    weights = _rotation(left.T @ right, rank)
    best, best_loss, slope = weights, np.inf, np.zeros_like(weights)
    for _ in range(epochs + 1):
        images = unit_rows(rows_a @ weights.astype(np.float32))
        moved = unit_rows((left @ weights).astype(np.float32))
        near_b = match(moved, rows_b, k=k, depth=k, device=device, memory=memory).forward.index
        near_a = match(right.astype(np.float32), images, k=k, depth=k, device=device, memory=memory).forward.index
        pull_b = 2 * right - _mean_rows(rows_b, near_b)
        pull_a = _mean_rows(rows_a, near_a)
        loss = float(-np.sum((left @ weights) * pull_b) + np.sum((pull_a @ weights) * right)) / len(left)
        if loss < best_loss:
            best, best_loss = weights, loss
            slope = (pull_a.T @ right - left.T @ pull_b) / len(left)
        else:
            rate *= SHRINK
        weights = best - rate * slope
        if orthogonal:
            weights = _rotation(weights, rank)
    options = {
        "rate": rate,
        "epochs": epochs,
        "orthogonal": orthogonal,
        "low_rank": low_rank,
        "project": project,
        "k": k,
    }
    mapped = rows_a @ best.astype(np.float32)
    sides = within_span(anchors, mapped, rows_b) if project else (mapped, rows_b)
    return mutual_links(
        "rcsls", a, b, *sides, anchors, k=k, device=device, memory=memory, options=options, iterations=epochs
    )


def _rotation(matrix: np.ndarray, rank: int | None) -> np.ndarray:
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank] @ vt[:rank]


def _mean_rows(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Mean of the listed rows; −1 stands for a row that is not there."""
    there = index >= 0
    taken = rows[np.maximum(index, 0)].astype(np.float64) * there[:, :, None]
    return taken.sum(axis=1) / np.maximum(there.sum(axis=1, keepdims=True), 1)
