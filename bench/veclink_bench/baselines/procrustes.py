"""Orthogonal Procrustes: the rotation that takes the seeds of A nearest to those of B."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import mutual_links


def procrustes(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    rank: int | None = None,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
) -> Links:
    """Links by the map `W = U Vᵀ` with `A₁ᵀA₂ = U Σ Vᵀ` over the anchors.

    rank: compare on that many leading singular directions only. Few anchors fix few directions (as many as there are
    anchors); the others are turned arbitrarily, and only add noise. 0 stands for the number of anchors.
    """
    u, _, vt = np.linalg.svd(anchors.left.T.astype(np.float64) @ anchors.right, full_matrices=False)
    if rank is None:
        mapped_a, mapped_b = a.dense() @ (u @ vt).astype(np.float32), b.dense()
    else:
        kept = min(rank or len(anchors), len(vt))
        mapped_a, mapped_b = a.dense() @ u[:, :kept].astype(np.float32), b.dense() @ vt[:kept].T.astype(np.float32)
    options = {"rank": rank, "k": k}
    return mutual_links(
        "procrustes", a, b, mapped_a, mapped_b, anchors, k=k, device=device, memory=memory, options=options
    )
