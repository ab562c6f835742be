"""Which links a view of GEH holds: how many views, of how many anchors, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from veclink.geometry import signatures
from veclink.linkers.options import GehOptions

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]


def plan(n_links: int, n_seeds: int, options: GehOptions) -> tuple[int, int]:
    """Views and anchors per view for this many links: `m = ⌈m0·sf⌉`, `s = ⌈ρ0·|L|/sf⌉`.

    `sf = 1 + c·ln(|L|/|S|)` (1 when frozen) and `m0 = ⌈2/ρ0⌉` unless told; a single view holds all links.
    """
    if options.views == "single":
        return 1, n_links
    scale = 1.0
    if options.schedule == "adaptive":
        scale += options.growth * math.log(n_links / max(n_seeds, 1))
    base = options.base_views or math.ceil(2 / options.share)
    count = math.ceil(base * scale)
    return count, math.ceil(options.share * n_links / scale)


def furthest_points(
    vectors: np.ndarray,
    starts: np.ndarray,
    count: int,
    *,
    budget: int | None = None,
    distances: Distances = signatures.distances,
) -> np.ndarray:
    """Furthest-point samples of unit vectors, one for each start, all at once: positions (len(starts), count).

    Each sample begins at its start and takes again and again the vector whose smallest cosine distance to those taken
    is largest (the first of them, when several are). All distances are computed once, unless they exceed a quarter of
    the `budget` of bytes.
    """
    fits = budget is None or 4 * len(vectors) ** 2 <= budget // 4
    apart = distances(vectors, vectors) if fits else None
    chosen = np.empty((len(starts), count), np.int64)
    chosen[:, 0] = starts
    nearest = np.full(
        (len(starts), len(vectors)),
        np.inf,
        np.float32,
    )
    every = np.arange(len(starts))
    for i in range(1, count):
        newest = chosen[:, i - 1]
        if apart is None:
            gaps = distances(vectors[newest], vectors)
        else:
            gaps = apart[newest]
        np.minimum(nearest, gaps, out=nearest)
        nearest[every, newest] = -1.0  # below any distance: never taken again, not even among duplicates
        chosen[:, i] = np.argmax(nearest, axis=1)
    return chosen


def furthest_points_reference(vectors: np.ndarray, start: int, count: int) -> list[int]:
    """One furthest-point sample, word for word: the oracle of `furthest_points`."""
    apart = signatures.distances(vectors, vectors)
    chosen = [start]
    while len(chosen) < count:
        rest = [i for i in range(len(vectors)) if i not in chosen]
        nearest = {i: min(apart[j, i] for j in chosen) for i in rest}
        furthest = max(nearest.values())
        chosen.append(min(i for i in rest if nearest[i] == furthest))
    return chosen


def draw_views(
    sides: tuple[np.ndarray, np.ndarray],
    n_seeds: int,
    planned: tuple[int, int],
    options: GehOptions,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
    distances: Distances = signatures.distances,
) -> list[np.ndarray]:
    """Positions of each view's anchors; one view when all would be the same.

    Parameters
    ----------
    sides : pair of ndarray of shape (n, d1) and (n, d2)
        Vectors of seeds, then links; first the side whose furthest points are drawn first.
    n_seeds : int
        How many of them are seeds.
    planned : (int, int)
        Views, and anchors of each.
    options : GehOptions
        Whether all seeds are in every view, and how the rest is drawn.
    rng : Generator
        Draws it.
    budget : int, optional
        Bytes that furthest-point sampling may take.
    distances : callable
        `signatures.distances`, or the same on a device.
    """
    count, size = planned
    fixed = n_seeds if options.seeds_in_views else 0
    n_free = len(sides[0]) - fixed
    extra = min(size - fixed, n_free)
    if extra <= 0 or extra == n_free:
        return [np.arange(fixed + max(extra, 0))]
    drawn = np.empty((count, extra), np.int64)
    if options.view_choice == "random":
        for links in drawn:
            links[:] = rng.choice(n_free, extra, replace=False)
    else:
        starts = rng.integers(n_free, size=count)
        for turn, vectors in enumerate(sides):
            drawn[turn::2] = furthest_points(
                vectors[fixed:],
                starts[turn::2],
                extra,
                budget=budget,
                distances=distances,
            )
    seeds = np.arange(fixed)
    return [np.concatenate([seeds, fixed + links]) for links in drawn]
