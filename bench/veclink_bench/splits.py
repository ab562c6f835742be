"""The paper's protocol: split one corpus into two that overlap, and draw seeds or anchors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.errors import InputError, named
from veclink.geometry.nearest import spherical_kmeans
from veclink.geometry.signatures import unit_rows
from veclink.linkers.geh.views import furthest_points

SEED_CHOICES = ("uniform", "nearest", "fps", "kmeans")
KMEANS_ROUNDS = 25


@dataclass(frozen=True, eq=False)
class Split:
    """A corpus split in two.

    rows_a, rows_b: the corpus rows on either side, shuffled.
    truth: (|Ω|, 2) positions in those of the objects that are on both.
    """

    rows_a: np.ndarray
    rows_b: np.ndarray
    truth: np.ndarray


def split(n: int, overlap: float, rng: np.random.Generator, *, unshared: np.ndarray | None = None) -> Split:
    """Split a corpus of `n` objects: |Ω| = α·n go to both sides (`overlap` is α), the rest evenly to one of them.

    unshared: (n,) marks objects that must not be on both sides.
    """
    n_shared = round(overlap * n)
    if not 0 <= overlap <= 1 or n_shared < 1:
        raise InputError(
            f"An overlap of {overlap} of {n:,} rows is {n_shared:,} shared objects; give more than 0, at most 1."
        )
    order = rng.permutation(n)
    if unshared is not None:
        free = int((~unshared).sum())
        if n_shared > free:
            raise InputError(f"An overlap of {n_shared:,} objects was asked for, and {free:,} of {n:,} may be shared.")
        shared = order[~unshared[order]][:n_shared]
        rest = rng.permutation(n)  # anew, so that with another overlap nearly all are on the side where they were
        rest = rest[~np.isin(rest, shared)]
    else:
        shared, rest = order[:n_shared], order[n_shared:]
    half = len(rest) // 2
    rows_a = rng.permutation(np.concatenate([shared, rest[:half]]))
    rows_b = rng.permutation(np.concatenate([shared, rest[half:]]))
    place_a, place_b = np.empty(n, np.int64), np.empty(n, np.int64)
    place_a[rows_a], place_b[rows_b] = np.arange(len(rows_a)), np.arange(len(rows_b))
    return Split(rows_a, rows_b, np.stack([place_a[shared], place_b[shared]], axis=1))


def draw_seeds(
    truth: np.ndarray, count: int, rng: np.random.Generator, *, how: str = "uniform", vectors: np.ndarray | None = None
) -> np.ndarray:
    """`count` of the true pairs, as seeds.

    how: "uniform"; "nearest", a random one and those nearest to it; "fps", furthest-point sampling from a random one;
    "kmeans", those nearest to `count` k-means centroids. All but the first need `vectors`: the true pairs' on one side.
    """
    if how not in SEED_CHOICES:
        raise InputError(f"The way to draw seeds is {how!r}; it is one of {named(SEED_CHOICES)}.")
    if not 0 < count <= len(truth):
        raise InputError(f"{count:,} seeds were asked for of {len(truth):,} true pairs; ask for 1 to {len(truth):,}.")
    if how == "uniform":
        return truth[rng.choice(len(truth), count, replace=False)]
    if vectors is None or len(vectors) != len(truth):
        raise InputError(
            f"Seeds by {how!r} need the vectors of the {len(truth):,} true pairs on one side; give one for each."
        )
    points = unit_rows(np.array(vectors, np.float32))
    if how == "kmeans":
        return truth[_nearest_to_centroids(points, count, rng)]
    first = int(rng.integers(len(truth)))
    if how == "fps":
        return truth[furthest_points(points, np.array([first]), count)[0]]
    return truth[np.argsort(-(points @ points[first]), kind="stable")[:count]]


def draw_anchors(
    left: np.ndarray, right: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-domain anchors: `count` rows of another corpus, embedded by both models."""
    if len(left) != len(right) or not 0 < count <= len(left):
        raise InputError(
            f"{count:,} anchors were asked for of {len(left):,} and {len(right):,} vectors; row i must be one object."
        )
    rows = rng.choice(len(left), count, replace=False)
    return np.asarray(left)[rows], np.asarray(right)[rows]


def _nearest_to_centroids(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of `count` distinct unit vectors, each the nearest free one to a centroid of spherical k-means."""
    centroids = spherical_kmeans(points, count, KMEANS_ROUNDS, rng)
    chosen: list[int] = []
    for similarity in (points @ centroids.T).T:
        similarity[chosen] = -np.inf
        chosen.append(int(np.argmax(similarity)))
    return np.array(chosen)
