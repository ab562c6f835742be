"""Unbalanced Gromov–Wasserstein: a soft plan that carries the distances within A to those within B.

The solver is the block-coordinate descent of POT's `fused_unbalanced_gromov_wasserstein` with the log-domain Sinkhorn
(KL divergences, joint regularisation), written for torch so that it runs on any device; the tests hold
it to POT's plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import InputError, needed
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import ranked_links

MOST = 12_000  # rows of a side: the plan and both distance matrices are held whole, several times
STILL = 1e-6


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
    device: str = "cpu",
    memory: int | str | None = None,
) -> Links:
    """Links by the mutual maxima of the transport plan; nothing else of it is used, so csls plays no part.

    Both matrices of cosine distances are divided by their means. The plan starts uniform, with the share `warmth` of
    its mass on the given pairs (rows; outside anchors cannot be in a plan). fused: weight of a term that compares the
    distances to the given pairs directly, which plain UGW lacks. `memory` is not kept: see MOST.
    """
    if max(len(a), len(b)) > MOST:
        raise InputError(
            f"UGW holds matrices of {len(a):,} × {len(b):,} numbers several times; it is for at most {MOST:,} rows."
        )
    torch = needed("torch", "The UGW baseline", "veclink[torch]")
    rows_a, rows_b = a.dense(), b.dense()
    plan = np.full((len(a), len(b)), 1 / (len(a) * len(b)))
    if anchors.pairs is not None and len(anchors):
        plan *= 1 - warmth
        plan[anchors.pairs[:, 0], anchors.pairs[:, 1]] += warmth / len(anchors)
    across = None
    if fused:
        from_a, from_b = _scaled(1 - rows_a @ anchors.left.T), _scaled(1 - rows_b @ anchors.right.T)
        squares = (from_a**2).sum(axis=1)[:, None] + (from_b**2).sum(axis=1)[None]
        across = fused * _scaled(np.maximum(squares - 2 * from_a @ from_b.T, 0))
    matrices = (_scaled(1 - rows_a @ rows_a.T), _scaled(1 - rows_b @ rows_b.T), plan)
    tensors = [torch.tensor(each, device=device) for each in matrices]
    extra = None if across is None else torch.tensor(across, device=device)
    found = solve(
        tensors[0], tensors[1], tensors[2], extra,
        marginals=marginals, epsilon=epsilon, rounds=rounds, inner_rounds=inner_rounds,
    )  # fmt: skip
    mass, best_a = (each.cpu().numpy() for each in found.max(dim=1))
    best_b = found.argmax(dim=0).cpu().numpy()
    mutual = np.flatnonzero(best_b[best_a] == np.arange(len(a)))
    pairs = np.column_stack([mutual, best_a[mutual]])
    options = {"marginals": marginals, "epsilon": epsilon, "fused": fused, "warmth": warmth, "rounds": rounds}
    return ranked_links("ugw", a, b, pairs, mass[mutual] * len(a), anchors, options=options, iterations=rounds)


def solve(
    within_a: Any,
    within_b: Any,
    plan: Any,
    across: Any = None,
    *,
    marginals: float,
    epsilon: float,
    rounds: int,
    inner_rounds: int,
) -> Any:
    """The plan (n1, n2) that unbalanced Gromov–Wasserstein ends with, from a first one; all tensors of one device."""
    squares = within_a**2, within_b**2
    weights = tuple(plan.new_full((n,), 1 / n) for n in plan.shape)
    potentials = [(plan.new_zeros(plan.shape[0]), plan.new_zeros(plan.shape[1])) for _ in range(2)]
    other = plan
    for _ in range(rounds):
        before = plan
        other, potentials[0] = _half_step(
            within_a, within_b, squares, plan, across, weights, potentials[0], marginals, epsilon, inner_rounds
        )
        plan, potentials[1] = _half_step(
            within_a, within_b, squares, other, across, weights, potentials[1], marginals, epsilon, inner_rounds
        )
        if float((plan - before).abs().sum()) < STILL:
            break
    return plan


def _half_step(
    within_a: Any, within_b: Any, squares: tuple[Any, Any], given: Any, across: Any, weights: tuple[Any, ...],
    potentials: tuple[Any, Any], marginals: float, epsilon: float, rounds: int,
) -> tuple[Any, tuple[Any, Any]]:  # fmt: skip
    """The best plan against a given one, of the same mass, and its dual potentials."""
    mass, of_rows, of_columns = given.sum(), given.sum(dim=1), given.sum(dim=0)
    cost = (squares[0] @ of_rows)[:, None] + (squares[1] @ of_columns)[None] - 2 * within_a @ given @ within_b.T
    cost = cost + marginals * (_divergence(of_rows, weights[0]) + _divergence(of_columns, weights[1]))
    cost = cost + epsilon * _divergence(given, weights[0][:, None] * weights[1][None])
    if across is not None:
        cost = cost + across
    blur, slack = float(epsilon * mass), float(marginals * mass)
    damping = slack / (slack + blur)
    log_rows, log_columns = weights[0].log(), weights[1].log()
    f, g = potentials
    for _ in range(rounds):
        before = f
        f = -damping * blur * ((g[None] - cost) / blur + log_columns[None]).logsumexp(dim=1)
        g = -damping * blur * ((f[:, None] - cost) / blur + log_rows[:, None]).logsumexp(dim=0)
        if float((f - before).abs().max()) < STILL:
            break
    plan = ((f[:, None] + g[None] - cost) / blur + log_rows[:, None] + log_columns[None]).exp()
    return plan * (mass / plan.sum()).sqrt(), (f, g)


def _divergence(measure: Any, reference: Any) -> Any:
    """Σ p log(p / q), the part of the KL divergence that the cost of the other plan depends on."""
    return (measure * (measure.clamp_min(1e-300) / reference).log()).sum()


def _scaled(distance: np.ndarray) -> np.ndarray:
    """Distances divided by their mean, float64; rounding below zero is cut off."""
    distance = np.maximum(distance.astype(np.float64), 0)
    return distance / max(distance.mean(), 1e-12)
