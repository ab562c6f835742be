"""A map of both collections in the plane, on which the two ends of a right link lie close together.

In the common space that the links span (`canonical_projections`), some links are landmarks: they are laid out so
that those which are near each other there are near on paper (t-SNE). Every other point lies between the landmarks that
are nearest to it. A landmark's own two ends are placed by the other landmarks: how far apart they end says how well the
two models agree about it.
"""

from __future__ import annotations

import numpy as np

LANDMARKS = 600
LEAST = 12
PERPLEXITY = 12.0
ROUNDS = 250
EXAGGERATED = 80  # of the rounds, in which attraction counts fourfold: groups form before they settle
BETWEEN = 8  # landmarks that a point lies between
SHARP = 0.5  # how fast their weight falls, in standard deviations of similarity


def landmark_map(landmarks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions (m, 2) of landmarks, given by their unit vectors (m, r) in the common space."""
    similarity = _standard(landmarks @ landmarks.T)
    np.fill_diagonal(similarity, -np.inf)
    attraction = _attraction(similarity)
    np.fill_diagonal(similarity, 0.0)
    _, axes = np.linalg.eigh(similarity)
    place = axes[:, -1:-3:-1].copy()
    place *= np.sign(place.sum(axis=0) + 1e-12)  # eigenvectors have no sign of their own
    place = 1e-2 * place / place.std() + 1e-4 * rng.standard_normal(place.shape)
    return _settle(place.astype(np.float32), attraction)


def between(points: np.ndarray, landmarks: np.ndarray, place: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Positions (n, 2) of points between their nearest landmarks. own: the landmark that a point is itself, or −1."""
    out = np.empty((len(points), 2), np.float32)
    nearest = min(BETWEEN, len(landmarks) - 1)
    for start in range(0, len(points), 2048):
        here = slice(start, start + 2048)
        similar = points[here] @ landmarks.T
        spread = max(float(similar.std()), 1e-6)
        itself = np.flatnonzero(own[here] >= 0)
        similar[itself, own[here][itself]] = -2.0
        near = np.argpartition(-similar, nearest - 1, axis=1)[:, :nearest]
        found = np.take_along_axis(similar, near, axis=1)
        weight = np.exp((found - found.max(axis=1, keepdims=True)) / (SHARP * spread))
        weight /= weight.sum(axis=1, keepdims=True)
        out[here] = np.einsum("ij,ijk->ik", weight, place[near])
    return out


def _standard(similarity: np.ndarray) -> np.ndarray:
    apart = similarity[~np.eye(len(similarity), dtype=bool)]
    return (similarity - apart.mean()) / max(float(apart.std()), 1e-9)


def _attraction(similarity: np.ndarray) -> np.ndarray:
    """Symmetric neighbour probabilities; each row's width is such that it has PERPLEXITY neighbours."""
    n = len(similarity)
    target = np.log(min(PERPLEXITY, (n - 1) / 3))
    low, high, width = np.zeros(n), np.full(n, np.inf), np.ones(n)
    shifted = similarity - similarity.max(axis=1, keepdims=True)
    for _ in range(40):
        p = np.exp(shifted * width[:, None])
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.maximum(p, 1e-12))).sum(axis=1)
        wide = entropy > target
        low, high = np.where(wide, width, low), np.where(wide, high, width)
        width = np.where(np.isinf(high), 2 * width, 0.5 * (low + np.where(np.isinf(high), 0, high)))
    return np.maximum((p + p.T) / (2 * n), 1e-12).astype(np.float32)


def _settle(place: np.ndarray, attraction: np.ndarray) -> np.ndarray:
    n = len(place)
    step, gain = np.zeros_like(place), np.ones_like(place)
    rate = max(n / 12.0, 20.0)
    for turn in range(ROUNDS):
        squares = (place * place).sum(axis=1)
        closeness = 1.0 / (1.0 + np.maximum(squares[:, None] + squares[None, :] - 2.0 * (place @ place.T), 0.0))
        np.fill_diagonal(closeness, 0.0)
        pull = (attraction * (4.0 if turn < EXAGGERATED else 1.0) - closeness / closeness.sum()) * closeness
        gradient = 4.0 * (pull.sum(axis=1, keepdims=True) * place - pull @ place)
        same = np.sign(gradient) == np.sign(step)
        gain = np.maximum(np.where(same, 0.8 * gain, gain + 0.2), 0.01)
        step = (0.5 if turn < EXAGGERATED else 0.8) * step - rate * gain * gradient
        place = place + step.astype(np.float32)
    return place - place.mean(axis=0)
