"""GEH's global path: every view is hashed against all rows of both clouds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veclink.geometry import signatures
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink.matching import match

WIDTH_SAMPLE = 500
BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Round:
    """The views of one iteration: how many vote, anchors in each, and what they propose, made when asked for.

    proposals: pairs (p, 2) of rows, their csls, and how many views they stand for.
    """

    views: int
    anchors: int
    proposals: Iterator[tuple[np.ndarray, np.ndarray, int]]


@dataclass(frozen=True)
class Settings:
    """The options of `geh.geh` that both paths need."""

    growth: float
    share: float
    k: int
    encoding: str
    view_choice: str
    schedule: str
    views: str
    budget: int | None
    device: str


class GlobalPath:
    """Views of the links, each matched over all rows."""

    def __init__(self, a: Cloud, b: Cloud, anchors: Anchors, settings: Settings) -> None:
        self.a, self.b, self.settings = a, b, settings
        self.seed_a, self.seed_b, self.a_first = in_own_order(anchors)
        self.sample_a, self.sample_b = _spaced_rows(a, self.seed_a), _spaced_rows(b, self.seed_b)
        self.n_views = 0

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool of links beyond the seeds."""
        of, n_seeds = self.settings, len(self.seed_a)
        count, size = plan(
            n_seeds + len(pool), n_seeds, growth=of.growth, share=of.share, schedule=of.schedule, views=of.views
        )
        left = np.concatenate([self.seed_a, self.a.take(pool[:, 0])])
        right = np.concatenate([self.seed_b, self.b.take(pool[:, 1])])
        sides = (left, right) if self.a_first else (right, left)
        chosen = _draw_views(sides, n_seeds, count, size, of.view_choice, rng, of.budget)
        self.n_views += count
        return Round(count, size, self._proposals(left, right, chosen, count))

    def chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that could propose each pair: all of them."""
        return np.full(len(pairs), self.n_views)

    def state(self) -> dict[str, np.ndarray]:
        """What has to be kept to go on later."""
        return {"n_views": np.array(self.n_views)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what was kept."""
        self.n_views = int(state["n_views"])

    def _proposals(
        self, left: np.ndarray, right: np.ndarray, chosen: list[np.ndarray], count: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        of = self.settings
        from_a, from_b = _AnchorDistances(self.a, left, of.budget), _AnchorDistances(self.b, right, of.budget)
        for view in chosen:
            hash_a = signature(from_a.columns(view), self.sample_a, of.encoding)
            hash_b = signature(from_b.columns(view), self.sample_b, of.encoding)
            held = from_a.nbytes + from_b.nbytes + hash_a.nbytes + hash_b.nbytes
            room = None if of.budget is None else max(of.budget - held, 1)
            proposed, score = match(hash_a, hash_b, k=of.k, memory=room, device=of.device).mutual()
            # Without links beyond the seeds all views are the same one: it is matched once and votes for all.
            yield proposed, score, count // len(chosen)


def plan(
    n_links: int, n_seeds: int, *, growth: float, share: float, schedule: str = "adaptive", views: str = "many"
) -> tuple[int, int]:
    """Views and anchors per view for this many links: `m = ⌈m0·sf⌉`, `s = ⌈ρ0·|L|/sf⌉`.

    `sf = 1 + c·ln(|L|/|S|)` (1 when frozen) and `m0 = ⌈2/ρ0⌉`; a single view holds all links.
    """
    if views == "single":
        return 1, n_links
    scale = 1.0 if schedule == "frozen" else 1.0 + growth * math.log(n_links / max(n_seeds, 1))
    return math.ceil(math.ceil(2 / share) * scale), math.ceil(share * n_links / scale)


def furthest_points(vectors: np.ndarray, starts: np.ndarray, count: int, *, budget: int | None = None) -> np.ndarray:
    """Furthest-point samples of unit vectors, one for each start, all at once: positions (len(starts), count).

    Each sample begins at its start and takes again and again the vector whose smallest cosine distance to those taken
    is largest (the first of them, when several are). All distances are computed once, unless they exceed a quarter of
    the `budget` of bytes.
    """
    fits = budget is None or 4 * len(vectors) ** 2 <= budget // 4
    apart = signatures.distances(vectors, vectors) if fits else None
    chosen = np.empty((len(starts), count), np.int64)
    chosen[:, 0] = starts
    nearest = np.full((len(starts), len(vectors)), np.inf, np.float32)
    every = np.arange(len(starts))
    for i in range(1, count):
        newest = chosen[:, i - 1]
        gaps = signatures.distances(vectors[newest], vectors) if apart is None else apart[newest]
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
        chosen.append(max(rest, key=lambda i: (min(apart[j, i] for j in chosen), -i)))
    return chosen


def signature(r: np.ndarray, sample: np.ndarray, encoding: str) -> np.ndarray:
    """Rows of unit length from distances to anchors; the rows of the sample set the width of the kernel."""
    if encoding == "raw":
        return signatures.raw(r)
    return signatures.kernel_hash(r, signatures.kernel_width(r[sample]))


def spaced(r: np.ndarray) -> np.ndarray:
    """Rows evenly spaced in the order of their mean distance to the anchors, of the distances (n, s)."""
    order = np.argsort(r.mean(axis=1), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(WIDTH_SAMPLE, len(order))).astype(np.int64)]


def _spaced_rows(cloud: Cloud, seeds: np.ndarray) -> np.ndarray:
    return spaced(_AnchorDistances(cloud, seeds, None).columns(np.arange(len(seeds))))


def in_own_order(anchors: Anchors) -> tuple[np.ndarray, np.ndarray, bool]:
    """The seeds' vectors on both sides, ordered by their distance to all seeds, and whether A's are more spread out."""
    far_a, far_b = (signatures.distances(x, x).mean(axis=1, dtype=np.float64) for x in (anchors.left, anchors.right))
    order = np.argsort(far_a + far_b, kind="stable")
    return anchors.left[order], anchors.right[order], bool(far_a.mean() >= far_b.mean())


def _draw_views(
    sides: tuple[np.ndarray, np.ndarray],
    n_seeds: int,
    count: int,
    size: int,
    view_choice: str,
    rng: np.random.Generator,
    budget: int | None,
) -> list[np.ndarray]:
    """Positions of each view's anchors: all seeds, then links up to `size`. One view when all would be the same."""
    n_pool = len(sides[0]) - n_seeds
    extra = min(size - n_seeds, n_pool)
    if extra <= 0 or extra == n_pool:
        return [np.arange(n_seeds + max(extra, 0))]
    drawn = np.empty((count, extra), np.int64)
    if view_choice == "random":
        for links in drawn:
            links[:] = rng.choice(n_pool, extra, replace=False)
    else:
        starts = rng.integers(n_pool, size=count)
        for turn, anchors in enumerate(sides):
            drawn[turn::2] = furthest_points(anchors[n_seeds:], starts[turn::2], extra, budget=budget)
    seeds = np.arange(n_seeds)
    return [np.concatenate([seeds, n_seeds + links]) for links in drawn]


class _AnchorDistances:
    """Distances of a cloud's rows to all anchors of an iteration, in one product where memory allows, else by view."""

    def __init__(self, cloud: Cloud, anchors: np.ndarray, budget: int | None) -> None:
        self._cloud, self._anchors = cloud, anchors
        self.nbytes = 4 * cloud.shape[0] * len(anchors)
        self._whole: np.ndarray | None = None
        if budget is None or self.nbytes <= budget // 8:
            self._whole = self._measure(anchors)
        else:
            self.nbytes = 0

    def columns(self, view: np.ndarray) -> np.ndarray:
        """Distances to the anchors of one view, (n, s)."""
        return self._measure(self._anchors[view]) if self._whole is None else self._whole[:, view]

    def _measure(self, anchors: np.ndarray) -> np.ndarray:
        n = self._cloud.shape[0]
        r = np.empty((n, len(anchors)), np.float32)
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            r[start:stop] = signatures.distances(self._cloud.block(start, stop), anchors)
        return r
