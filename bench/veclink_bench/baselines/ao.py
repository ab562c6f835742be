"""Anchor optimisation: relative representations whose missing anchors are found by descent (Cannistraci et al., 2023).

The given pairs are anchors on both sides. More rows of A become anchors too; where their partners lie in B's space is
unknown, so vectors that stand for them are moved until the relative representations of B's rows, re-ordered by a soft
matching (Sinkhorn), look like those of A's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import needed
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import mutual_links


def ao(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    overlap: int | None = None,
    extra: int | None = 100,
    steps: int = 250,
    rate: float = 0.02,
    temperature: float = 0.05,
    sinkhorn: int = 20,
    most: int = 600,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
    random_state: int = 0,
) -> Links:
    """Links by the cosines to the given and the optimised anchors; told how many objects are shared, it keeps as many.

    overlap: the number of shared objects (all of the smaller cloud by default). extra: rows of A that become anchors;
    None: so many that there are as many anchors as shared objects, the paper's budget K.
    A step matches a sample of at most `most` rows a side, with a spare row and column for those without a partner.
    """
    torch = needed("torch", "The AO baseline", "veclink[torch]")
    rng = np.random.default_rng(random_state)
    place = torch.device(device)
    smaller = min(len(a), len(b))
    shared = smaller if overlap is None else overlap
    extra = max(shared - len(anchors), 0) if extra is None else extra
    rows_a, rows_b = (torch.tensor(side.dense(), device=place) for side in (a, b))
    left, right = (torch.tensor(side, device=place) for side in (anchors.left, anchors.right))
    chosen = torch.as_tensor(rng.choice(len(a), min(extra, len(a)), replace=False), device=place)
    more_left = rows_a[chosen]
    start = torch.as_tensor(rng.standard_normal((len(chosen), rows_b.shape[1])), dtype=right.dtype, device=place)
    # Begin where the given pairs alone put the partners: a random start leaves the descent nothing to follow.
    likeness = torch.softmax((more_left @ left.T) @ (rows_b @ right.T).T / temperature, dim=1)
    more_right = (_unit(likeness @ rows_b) + 0.01 * start).requires_grad_()
    descent = torch.optim.Adam([more_right], lr=rate)
    for _ in range(steps):
        pick_a, pick_b = (
            torch.as_tensor(rng.choice(len(x), min(most, len(x)), replace=False), device=place) for x in (a, b)
        )
        seen_a = rows_a[pick_a] @ torch.cat([left, more_left]).T
        seen_b = rows_b[pick_b] @ torch.cat([right, _unit(more_right)]).T
        # Of two samples, a share of each is expected to have its partner in the other.
        both = shared * (len(pick_a) / len(a)) * (len(pick_b) / len(b))
        with torch.no_grad():
            plan = _sinkhorn(torch, _unit(seen_a) @ _unit(seen_b).T / temperature, max(both, 1.0), sinkhorn)
        descent.zero_grad()
        apart = torch.cdist(seen_a, seen_b) ** 2
        loss = (plan * apart).sum() / plan.sum() / seen_a.shape[1]
        loss.backward()
        descent.step()
    with torch.no_grad():
        final_a = rows_a @ torch.cat([left, more_left]).T
        final_b = rows_b @ torch.cat([right, _unit(more_right)]).T
    options = {"overlap": shared, "extra": extra, "steps": steps, "rate": rate, "temperature": temperature, "k": k}
    return mutual_links(
        "ao", a, b, final_a.cpu().numpy(), final_b.cpu().numpy(), anchors,
        k=k, device=device, memory=memory, keep=shared, options=options, iterations=steps,
    )  # fmt: skip


def _unit(rows: Any) -> Any:
    return rows / rows.norm(dim=1, keepdim=True).clamp_min(1e-12)


def _sinkhorn(torch: Any, logits: Any, mass: float, rounds: int) -> Any:
    """A plan (n, m) that carries about `mass` of the rows' units; the spare row and column take the rest."""
    n, m = logits.shape
    mass = min(mass, n, m)
    padded = torch.nn.functional.pad(logits, (0, 1, 0, 1), value=float(logits.mean()))
    kernel = torch.exp(padded - padded.max())
    kernel[-1, -1] = 0.0
    rows, columns = torch.ones(n + 1, device=logits.device), torch.ones(m + 1, device=logits.device)
    rows[-1], columns[-1] = max(m - mass, 1e-3), max(n - mass, 1e-3)
    scale = torch.ones_like(columns)
    for _ in range(rounds):
        turn = rows / (kernel @ scale).clamp_min(1e-30)
        scale = columns / (kernel.T @ turn).clamp_min(1e-30)
    return (turn[:, None] * kernel * scale)[:n, :m]
