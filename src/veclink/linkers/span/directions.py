"""Directions of a cloud, and those that two clouds share: principal ones, and singular ones of a cross-covariance."""

from __future__ import annotations

import numpy as np

from veclink.geometry.arrays import Sides, tiles
from veclink.geometry.signatures import singular


def whitening(points: np.ndarray, count: int) -> np.ndarray:
    """The leading principal directions (d, count), each divided by the root of its variance plus the mean variance."""
    parts = tiles(len(points), 4096)  # so many rows are held in float64 at a time
    products = sum(_products(points[start:stop]) for start, stop in parts)
    covariance = products / len(points)
    values, directions = np.linalg.eigh(covariance)
    values = np.maximum(values[::-1], 0.0)
    directions = directions[:, ::-1]
    scaled = directions / np.sqrt(values + values.mean())
    return scaled[:, :count].astype(np.float32)


def leading(joint: np.ndarray, count: int, power: float) -> Sides:
    """The leading singular vectors (…, d, count) of both sides, each weighted by its singular value to the power."""
    left, value, right = singular(joint)
    relative = value[..., :count] / np.maximum(value[..., :1], 1e-12)
    weight = relative[..., None, :] ** np.float32(power)
    of_a = left[..., :count] * weight
    of_b = right[..., :count, :].swapaxes(-1, -2) * weight
    return of_a, of_b


def cross_covariance(pairs: Sides, weight: float) -> np.ndarray:
    """Of paired rows (m, r) and (m, r), times what all of them weigh: (r, r)."""
    left, right = pairs
    return np.float32(weight / len(left)) * (left.T @ right)


def agreement(joint: np.ndarray) -> np.ndarray:
    """How much of two clouds a map makes agree: the sum of the singular values of its cross-covariance."""
    _, values, _ = singular(joint)
    return values.sum(axis=-1)


def _products(points: np.ndarray) -> np.ndarray:
    return points.T.astype(np.float64) @ points
