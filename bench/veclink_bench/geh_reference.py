"""GEH to be read beside the paper, in its names and in plain numpy: the oracle of `veclink.linkers.geh`.

    E1, E2   the two clouds, rows of unit length           S    the seeds: pairs of rows, (n, 2)
    L        the links so far: S, then B = L∖S             A    a view: some links as paired anchors
    P        the pairs that a view proposes                ν    votes of a pair, over all views so far
    θ        its posterior mean (1 + ν) / (2 + N)          τ    Otsu's threshold on θ

What the paper leaves open is settled as `veclink.linkers.geh.linker` says, with the same random numbers. Everything is
held at once, so this is for small clouds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

import numpy as np

C, RHO_0, K = 0.3, 0.4, 50  # growth of the schedule, share of the links in a view, neighbours of csls
TAU_LOCAL = 500_000  # rows above which the local path is taken
K_NN, D_MAX, RHO = 100, 128, 2  # local path: neighbours of an anchor, links in a cluster, clusters of a link
BURN_IN, STEADY, MOVED, MOST = 10, 10, 0.01, 100  # when to stop
SAMPLE, KMEANS_STEPS = 500, 10

Pair = tuple[int, int]
View = tuple[np.ndarray, np.ndarray, np.ndarray, int]  # positions in L, rows of E1 and of E2 to hash, times it counts


@dataclass(frozen=True, eq=False)
class Found:
    """The links, seeds first, then by falling θ; θ of each; and how many iterations there were."""

    L: np.ndarray
    theta: np.ndarray
    iterations: int


def geh(
    E1: np.ndarray, E2: np.ndarray, S: np.ndarray, *, k: int = K, path: str = "auto", most: int = MOST,
    k_nn: int = K_NN, d_max: int = D_MAX, side: int | None = None, seeded: bool = False, sample: int = SAMPLE,
    random_state: int = 0,
) -> Found:  # fmt: skip
    """Algorithm 1: grow the links from the seeds by votes of many views.

    Where the strict reading differs: side (furthest points of E1 or E2 alone), seeded (S in local views too), d_max of
    0 (the larger dimension), sample (rows behind σ).
    """
    rng = np.random.default_rng(random_state)
    local = path == "local" or (path == "auto" and max(len(E1), len(E2)) > TAU_LOCAL)
    nu: dict[Pair, int] = defaultdict(int)
    csls_sum: dict[Pair, float] = defaultdict(float)
    looked = np.zeros(len(E1), int), np.zeros(len(E2), int)  # N: the views that could propose a row
    spread = [distances(E[S[:, side]], E[S[:, side]]).mean() for side, E in enumerate((E1, E2))]
    first = 0 if spread[0] >= spread[1] else 1  # the side whose furthest points are drawn first
    sides = (first, 1 - first) if side is None else (side, side)
    samples = tuple(spaced(distances(E, E[S[:, at]]), sample) for at, E in enumerate((E1, E2)))
    L, coverage = S, list[float]()
    while len(coverage) < most and not stable(coverage):
        seen = set[int](), set[int]()
        if local:
            views = local_views(E1, E2, L, len(S), d_max or max(E1.shape[1], E2.shape[1]), k_nn, seeded, rng)
        else:
            views = global_views(E1, E2, L, len(S), sides, rng)
        for A, rows1, rows2, times in views:
            h1, h2 = (
                signatures(E[rows], E[L[A, at]], sample if local else samples[at])
                for at, (E, rows) in enumerate(((E1, rows1), (E2, rows2)))
            )
            looked[0][rows1] += times
            looked[1][rows2] += times
            for i, j, csls in mutual_neighbours(h1, h2, k):
                u, v = int(rows1[i]), int(rows2[j])
                nu[u, v] += times
                csls_sum[u, v] += times * csls
                seen[0].add(u)
                seen[1].add(v)
        theta = {(u, v): (1 + votes) / (2 + min(looked[0][u], looked[1][v])) for (u, v), votes in nu.items()}
        mean = {pair: csls_sum[pair] / votes for pair, votes in nu.items()}
        L = promote(theta, mean, S)
        coverage.append((len(seen[0]) + len(seen[1])) / max(len(E1), len(E2)))
        if not coverage[-1]:
            break
    return Found(L, np.array([(1 + nu[u, v]) / (2 + min(looked[0][u], looked[1][v])) for u, v in L]), len(coverage))


def global_views(
    E1: np.ndarray, E2: np.ndarray, L: np.ndarray, n_seeds: int, sides: tuple[int, int], rng: np.random.Generator
) -> Iterator[View]:
    """The schedule: m views of s anchors, all seeds and furthest points of B, drawn on the sides by turns."""
    m_0 = ceil(2 / RHO_0)
    sf = 1 + C * log(len(L) / n_seeds)
    m, s = ceil(m_0 * sf), ceil(RHO_0 * len(L) / sf)
    seeds, B = np.arange(n_seeds), L[n_seeds:]
    every = np.arange(len(E1)), np.arange(len(E2))
    extra = min(s - n_seeds, len(B))
    if extra <= 0 or extra == len(B):  # all m views are the same one
        yield np.arange(n_seeds + max(extra, 0)), *every, m
        return
    starts = rng.integers(len(B), size=m)
    for turn, start in enumerate(starts):
        side = sides[turn % 2]
        yield np.r_[seeds, n_seeds + furthest_points((E1, E2)[side][B[:, side]], start, extra)], *every, 1


def local_views(
    E1: np.ndarray, E2: np.ndarray, L: np.ndarray, n_seeds: int, d_max: int, k_nn: int, seeded: bool,
    rng: np.random.Generator,
) -> Iterator[View]:  # fmt: skip
    """A k-means partition of the links in E1, each in its ρ nearest clusters; a view sees the k_NN of its anchors."""
    m = ceil(len(L) / d_max)
    clusters = [np.arange(len(L))] if m == 1 else kmeans(E1[L[:, 0]], m, rng)
    near1, near2 = (np.argsort(-(E[L[:, side]] @ E.T), axis=1)[:, :k_nn] for side, E in enumerate((E1, E2)))
    for cluster in clusters:
        A = np.union1d(np.arange(n_seeds), cluster) if seeded else cluster
        yield A, np.unique(near1[A]), np.unique(near2[A]), 1


def kmeans(x: np.ndarray, m: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Spherical k-means from m of the vectors on; each vector belongs to its ρ nearest centres."""
    centres = x[rng.choice(len(x), m, replace=False)]
    for _ in range(KMEANS_STEPS):
        nearest = (x @ centres.T).argmax(axis=1)
        for c in np.unique(nearest):
            centres[c] = x[nearest == c].sum(axis=0)
            centres[c] /= np.linalg.norm(centres[c])
    closest = np.argsort(-(x @ centres.T), axis=1)[:, :RHO]
    return [A for c in range(m) if len(A := np.flatnonzero((closest == c).any(axis=1)))]


def furthest_points(x: np.ndarray, start: int, count: int) -> np.ndarray:
    """From a start on, again and again the vector that is furthest from the nearest of those taken."""
    taken = [int(start)]
    nearest = np.full(len(x), np.inf)
    while len(taken) < count:
        nearest = np.minimum(nearest, distances(x[taken[-1:]], x)[0])
        nearest[taken] = -1.0
        taken.append(int(nearest.argmax()))
    return np.array(taken)


def distances(x: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """r(u): cosine distances to anchors, (n, s)."""
    return np.maximum(1 - x.astype(float) @ anchors.astype(float).T, 0).astype(np.float32)


def spaced(r: np.ndarray, count: int) -> np.ndarray:
    """Rows evenly spaced in the order of their mean distance: the sample that the width of the kernel is taken from."""
    order = np.argsort(r.mean(axis=1), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)]


def signatures(x: np.ndarray, anchors: np.ndarray, sample: np.ndarray | int) -> np.ndarray:
    """h(u)_j = exp(−r(u)_j / σ), of unit length; σ: the median of the non-zero gaps between the r of a sample."""
    r = distances(x, anchors)
    some = r[spaced(r, sample) if isinstance(sample, int) else sample].astype(float)
    gaps = np.sqrt(np.maximum(((some**2).sum(1)[:, None] + (some**2).sum(1) - 2 * some @ some.T), 0))
    apart = gaps[np.triu(gaps > 1e-5 * np.sqrt(1 + (some**2).sum(1).max()), 1)]
    sigma = np.median(apart) if len(apart) else 1.0
    h = np.exp(r * np.float32(-1 / sigma))
    return h / np.linalg.norm(h, axis=1, keepdims=True)


def mutual_neighbours(h1: np.ndarray, h2: np.ndarray, k: int) -> list[tuple[int, int, float]]:
    """P: pairs that are one another's nearest by csls = 2 cos − the mean cosine to the k nearest, on either side."""
    cosine = (h1.astype(float) @ h2.astype(float).T).astype(np.float32)  # equal signatures tie: the lower row wins
    dense1, dense2 = (
        np.sort(side, axis=1)[:, -k:].mean(axis=1, dtype=float).astype(np.float32) for side in (cosine, cosine.T)
    )
    best1, best2 = (2.0 * cosine - dense2).argmax(axis=1), (2.0 * cosine.T - dense1).argmax(axis=1)
    return [(i, j, 2.0 * cosine[i, j] - dense1[i] - dense2[j]) for i, j in enumerate(best1) if best2[j] == i]


def promote(theta: dict[Pair, float], mean_csls: dict[Pair, float], S: np.ndarray) -> np.ndarray:
    """The seeds, then pairs with θ ≥ τ, one partner each, by falling θ and, where that is equal, by falling csls."""
    tau = otsu(np.array(sorted(theta.values())))
    taken = set(S[:, 0].tolist()), set(S[:, 1].tolist())
    L: list[Pair] = []
    for u, v in sorted(theta, key=lambda pair: (-theta[pair], -mean_csls[pair], pair)):
        if theta[u, v] >= tau and u not in taken[0] and v not in taken[1]:
            L.append((u, v))
            taken[0].add(u)
            taken[1].add(v)
    return np.concatenate([S, np.array(L, np.int64).reshape(-1, 2)])


def otsu(theta: np.ndarray) -> float:
    """τ: the split of the ascending θ whose two classes are furthest apart; a bin for each value that occurs."""
    between = {
        t: np.sum(theta < t) * np.sum(theta >= t) * (theta[theta < t].mean() - theta[theta >= t].mean()) ** 2
        for t in np.unique(theta)[1:]
    }
    return max(between, key=lambda t: between[t]) if between else float(theta.min(initial=0.0))


def stable(coverage: list[float]) -> bool:
    """After the burn-in: the share of points in any proposed pair moved by less than 0.01 in each of ten iterations."""
    moved = np.abs(np.diff(coverage))[-STEADY:]
    return len(coverage) > BURN_IN and len(moved) == STEADY and bool((moved < MOVED).all())
