"""Unbalanced Gromov–Wasserstein: a soft plan that carries the distances within A to those within B (POT)."""

from __future__ import annotations

import numpy as np

from veclink.anchors import Anchors
from veclink.baselines.finishing import ranked_links
from veclink.cloud import Cloud
from veclink.errors import InputError, needed
from veclink.links import Links

MOST = 6000  # rows of a side: the plan and both distance matrices are held whole, several times


def ugw(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    marginals: float = 1.0,
    epsilon: float = 0.01,
    fused: float = 0.0,
    warmth: float = 0.5,
    rounds: int = 20,
    inner_rounds: int = 50,
) -> Links:
    """Links by the mutual maxima of the transport plan; nothing else of it is used, so csls plays no part.

    Both matrices of cosine distances are divided by their means. The plan starts uniform, with the share `warmth` of
    its mass on the given pairs (rows; outside anchors cannot be in a plan). fused: weight of a term that compares the
    distances to the given pairs directly, which plain UGW lacks.
    """
    if max(len(a), len(b)) > MOST:
        raise InputError(
            f"UGW holds matrices of {len(a):,} × {len(b):,} numbers several times; it is for at most {MOST:,} rows."
        )
    ot = needed("ot.gromov", "The UGW baseline", "veclink[bench]")
    rows_a, rows_b = a.dense(), b.dense()
    within_a, within_b = (_scaled(1 - rows @ rows.T) for rows in (rows_a, rows_b))
    plan = np.full((len(a), len(b)), 1 / (len(a) * len(b)))
    if anchors.pairs is not None and len(anchors):
        plan *= 1 - warmth
        plan[anchors.pairs[:, 0], anchors.pairs[:, 1]] += warmth / len(anchors)
    across = None
    if fused:
        from_a, from_b = _scaled(1 - rows_a @ anchors.left.T), _scaled(1 - rows_b @ anchors.right.T)
        squares = (from_a**2).sum(axis=1)[:, None] + (from_b**2).sum(axis=1)[None]
        across = _scaled(np.maximum(squares - 2 * from_a @ from_b.T, 0))
    plan, _ = ot.fused_unbalanced_gromov_wasserstein(
        within_a, within_b, reg_marginals=marginals, epsilon=epsilon, unbalanced_solver="sinkhorn_log",
        alpha=fused, M=across, init_pi=plan, max_iter=rounds, max_iter_ot=inner_rounds, tol=1e-6, tol_ot=1e-6,
    )  # fmt: skip
    best_a, best_b = plan.argmax(axis=1), plan.argmax(axis=0)
    mutual = np.flatnonzero(best_b[best_a] == np.arange(len(a)))
    pairs = np.column_stack([mutual, best_a[mutual]])
    score = plan[mutual, best_a[mutual]] * len(a)
    options = {"marginals": marginals, "epsilon": epsilon, "fused": fused, "warmth": warmth, "rounds": rounds}
    return ranked_links("ugw", a, b, pairs, score, anchors, options=options, iterations=rounds)


def _scaled(distance: np.ndarray) -> np.ndarray:
    """Distances divided by their mean, float64; rounding below zero is cut off."""
    distance = np.maximum(distance.astype(np.float64), 0)
    return distance / max(distance.mean(), 1e-12)
