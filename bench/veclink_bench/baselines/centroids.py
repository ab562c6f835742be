"""Unsupervised matching of cluster centroids, as mini-vec2vec does: no seeds at all.

Both clouds are clustered several times; the centroids of a run are matched by their similarities to one another
(quadratic assignment); matched centroids are anchors of relative representations, which give each row a first partner;
then a rotation is fitted and refined on random samples.
"""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.errors import needed
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors
from veclink.matching import match
from veclink_bench.baselines.finishing import mutual_links


def centroids(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    clusters: int = 20,
    runs: int = 20,
    tries: int = 3,
    restarts: int = 10,
    refinements: int = 30,
    sample: int = 2000,
    blend: float = 0.5,
    neighbours: int = 10,
    k: int = 10,
    device: str = "cpu",
    memory: int | str | None = None,
    random_state: int = 0,
) -> Links:
    """Links by a rotation found from the two clouds alone; the given pairs are not used, only kept among the links.

    tries: k-means keeps the best of so many, and the matching the best of `restarts`.
    A refinement pairs each row of a random sample of A with the mean of the `neighbours` rows of B nearest to its
    image, fits the rotation to these pairs, and moves the map towards it by `blend`.
    """
    needed("sklearn.cluster", "The centroid baseline", "veclink[bench]")
    rng = np.random.default_rng(random_state)
    rows_a, rows_b = a.dense(), b.dense()
    clusters = min(clusters, len(a) // 3, len(b) // 3)
    found = [_matched_centroids(rows_a, rows_b, clusters, tries, restarts, rng) for _ in range(runs)]
    left, right = (np.concatenate(side) for side in zip(*found, strict=True))
    seen_a, seen_b = _standard(rows_a @ left.T), _standard(rows_b @ right.T)
    turn = _rotation(rows_a, _partners(seen_a, seen_b, rows_b, neighbours, device, memory))
    for _ in range(refinements):
        drawn_a = rng.choice(len(a), min(sample, len(a)), replace=False)
        drawn_b = rng.choice(len(b), min(sample, len(b)), replace=False)
        images = unit_rows(rows_a[drawn_a] @ turn)
        partners = _partners(images, rows_b[drawn_b], rows_b[drawn_b], neighbours, device, memory)
        better = _rotation(rows_a[drawn_a], partners)
        turn = _nearest_rotation((1 - blend) * turn + blend * better)
    options = {"clusters": clusters, "runs": runs, "refinements": refinements, "neighbours": neighbours, "k": k}
    return mutual_links(
        "centroids", a, b, rows_a @ turn, rows_b, anchors,
        k=k, device=device, memory=memory, options=options, iterations=refinements,
    )  # fmt: skip


def _matched_centroids(
    rows_a: np.ndarray, rows_b: np.ndarray, clusters: int, tries: int, restarts: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Centroids of both clouds in an order that makes their similarities agree best."""
    from scipy.optimize import quadratic_assignment
    from sklearn.cluster import KMeans

    centres = [
        KMeans(clusters, n_init=tries, random_state=int(rng.integers(1 << 31))).fit(rows).cluster_centers_
        for rows in (rows_a, rows_b)
    ]
    left, right = (unit_rows(each.astype(np.float32)) for each in centres)
    alike_a, alike_b = (_off_diagonal(side @ side.T) for side in (left, right))
    best, order = -np.inf, np.arange(clusters)
    for _ in range(restarts):
        options = {"maximize": True, "P0": "randomized", "rng": np.random.default_rng(int(rng.integers(1 << 31)))}
        answer = quadratic_assignment(alike_a, alike_b, method="faq", options=options)
        if answer.fun > best:
            best, order = answer.fun, answer.col_ind
    return left, right[order]


def _off_diagonal(alike: np.ndarray) -> np.ndarray:
    """Similarities standardised over the pairs of different clusters, 0 on the diagonal."""
    off = ~np.eye(len(alike), dtype=bool)
    values = alike[off]
    return np.where(off, (alike - values.mean()) / max(values.std(), 1e-9), 0.0)


def _standard(seen: np.ndarray) -> np.ndarray:
    """Relative representations, each coordinate standardised over the cloud, rows of unit length."""
    return unit_rows((seen - seen.mean(axis=0)) / np.maximum(seen.std(axis=0), 1e-9))


def _partners(
    of_a: np.ndarray, of_b: np.ndarray, rows_b: np.ndarray, count: int, device: str, memory: int | str | None
) -> np.ndarray:
    """For each row of A the mean of the rows of B that are nearest to it."""
    near = match(of_a, of_b, k=count, depth=min(count, len(of_b)), device=device, memory=memory).forward.index
    return rows_b[near].mean(axis=1)


def _rotation(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return _nearest_rotation(left.T.astype(np.float64) @ right)


def _nearest_rotation(matrix: np.ndarray) -> np.ndarray:
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return (u @ vt).astype(np.float32)
