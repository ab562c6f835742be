"""Self-learning Procrustes: map, match, take the matches as the next seeds, as VecMap does. The strongest rival.

Two ways of growing. "all": every mutual pair of a round is a seed of the next, as in VecMap. "rank": only the best of
them, at most `factor` times as many as before, so that the first rounds, mostly wrong, do not drown the seeds.
"""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors
from veclink.matching import match
from veclink_bench.baselines.cca import canonical_projections
from veclink_bench.baselines.finishing import mutual_links

LEAST_POOL = 60
STEADY = 0.01


def self_learning(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    growth: str = "rank",
    factor: float = 2.0,
    cut: bool = False,
    weight: float = 0.0,
    whiten: float | None = None,
    last: float | None = None,
    rounds: int = 25,
    k: int = 10,
    device: str = "cpu",
    memory: int | str | None = None,
) -> Links:
    """Links by the last of several maps, each fitted to the links of the one before.

    With `A₁ᵀA₂ = U Σ Vᵀ` over the current links, both clouds are projected on the first min(|L|, d) columns of U and V,
    each times σ^weight (VecMap's re-weighting). whiten: whiten both sides first, with a ridge of this share of the mean
    eigenvalue; the weights are then correlations. last: the ridge of one more, whitened map after the last round, with
    its correlations squared as weights; early on such a map breaks the growth, at its end it may serve better.
    cut: keep only the links whose csls is above Otsu's threshold. Stops when the number of links no longer moves.
    """
    rows_a, rows_b = a.dense(), b.dense()
    given_left, given_right = anchors.left, anchors.right
    taken = np.empty((0, 2), np.int64) if anchors.pairs is None else anchors.pairs
    pool, sizes = np.empty((0, 2), np.int64), [len(anchors)]
    for _ in range(rounds):
        left, right = (np.concatenate(both) for both in (
            (given_left, rows_a[pool[:, 0]]), (given_right, rows_b[pool[:, 1]])
        ))  # fmt: skip
        axes_a, axes_b = _axes(left, right, weight, whiten)
        mapped_a, mapped_b = unit_rows(rows_a @ axes_a), unit_rows(rows_b @ axes_b)
        pairs, score = match(mapped_a, mapped_b, k=k, device=device, memory=memory).mutual()
        free = ~(np.isin(pairs[:, 0], taken[:, 0]) | np.isin(pairs[:, 1], taken[:, 1]))
        limit = None if growth == "all" else int(max(LEAST_POOL, factor * sizes[-1]))
        pool = pairs[free][np.argsort(-score[free], kind="stable")[:limit]]
        sizes.append(len(pool))
        if limit != len(pool) and abs(sizes[-1] - sizes[-2]) <= STEADY * sizes[-1]:
            break
    if last is not None:
        left = np.concatenate([given_left, rows_a[pool[:, 0]]])
        right = np.concatenate([given_right, rows_b[pool[:, 1]]])
        axes_a, axes_b = _axes(left, right, 2.0, last)
        mapped_a, mapped_b = rows_a @ axes_a, rows_b @ axes_b
    options = {
        "growth": growth,
        "factor": factor,
        "cut": cut,
        "weight": weight,
        "whiten": whiten,
        "last": last,
        "rounds": rounds,
        "k": k,
    }
    return mutual_links(
        "self-learning", a, b, mapped_a, mapped_b, anchors,
        k=k, device=device, memory=memory, cut=cut, options=options, iterations=len(sizes) - 1,
    )  # fmt: skip


def _axes(left: np.ndarray, right: np.ndarray, weight: float, whiten: float | None) -> tuple[np.ndarray, np.ndarray]:
    most = min(len(left), left.shape[1], right.shape[1])
    if whiten is not None:
        of_a, of_b = canonical_projections(left, right, ridge=whiten, power=weight)
        return of_a[:, :most], of_b[:, :most]
    u, value, vt = np.linalg.svd(left.T.astype(np.float64) @ right, full_matrices=False)
    scale = (value[:most] / value[0]) ** weight
    return (u[:, :most] * scale).astype(np.float32), (vt[:most].T * scale).astype(np.float32)
