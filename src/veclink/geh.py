"""GEH, the paper's linker (global path): grow the links from the seeds by votes of many views.

An iteration draws several views of the current links, hashes both clouds against each view's anchors, proposes mutual
nearest neighbours, and promotes the pairs that enough of all views so far agreed on.

What the paper leaves open is settled so that the result does not depend on the order of the rows or of the seeds, on
rotations, or on which cloud comes first (but for rounding, and for exact ties, which go to the lower row):

* The sample behind the kernel width σ is not random: points evenly spaced in the order of mean distance to the seeds.
* Furthest-point sampling runs on one side for each view, and the sides take turns, the one where the seeds are more
  spread out first. (Always the same side: about 2 points of F1 less on scifact and nfcorpus.)
* It measures distances to the links it has drawn, not to the seeds. (To both: 14 and 23 points less.)
* The seeds count towards the s anchors of a view.
* Equal confidence is ordered by mean csls score, in the one-to-one choice and in the order from which views are drawn.
* M_t of the stopping rule counts the points of the side that has more of them in proposed pairs, and moves during the
  burn-in do not count: the first iteration that can be the last is the 21st. (The 11th: a point less on nfcorpus.)

Furthest-point sampling is the default because it is the paper's. On the small encoders measured here random views link
better (experiments/results/geh.json): the furthest links are the isolated ones, and more of those are wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veclink import signatures
from veclink.anchors import Anchors
from veclink.cloud import Cloud
from veclink.errors import InputError, named
from veclink.evidence import Votes, one_to_one, otsu, posterior
from veclink.matching import match
from veclink.memory import parse_memory
from veclink.progress import Progress, ProgressListener

BURN_IN = 10
WINDOW = 10
STEADY = 0.01
WIDTH_SAMPLE = 500
BLOCK = 8192


@dataclass(frozen=True)
class Iteration:
    """One iteration of the growth: views and anchors per view it used, links after it, share of points proposed."""

    views: int
    anchors: int
    links: int
    coverage: float


@dataclass(frozen=True, eq=False)
class Growth:
    """What GEH found: the links (seeds first, then by decreasing confidence) and the evidence for each.

    `confidence` is the posterior θ; `votes` counts the views, of `views` in all, that proposed the pair; `score` is its
    mean csls in those (NaN without a vote); the first `n_seeds` pairs are the seeds, given and not judged. `proposed`
    holds the votes of every pair that any view proposed, promoted or not.
    """

    pairs: np.ndarray
    confidence: np.ndarray
    votes: np.ndarray
    score: np.ndarray
    views: int
    n_seeds: int
    history: tuple[Iteration, ...]
    proposed: Votes | None = None


def geh(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    growth: float = 0.3,
    share: float = 0.4,
    k: int = 50,
    encoding: Literal["kernel", "raw"] = "kernel",
    view_choice: Literal["fps", "random"] = "fps",
    schedule: Literal["adaptive", "frozen"] = "adaptive",
    views: Literal["many", "single"] = "many",
    bootstrap: bool = True,
    max_iterations: int = 100,
    memory: int | str | None = None,
    device: str = "cpu",
    random_state: int = 0,
    progress: ProgressListener | None = None,
) -> Growth:
    """Link the rows of two uncentred clouds from `anchors`: pairs of rows, or outside vectors that stay anchors.

    `growth` (c) and `share` (ρ0) set the schedule, `k` the neighbourhood of csls. The rest are the paper's ablations:
    raw distances instead of the kernel, random views, a frozen schedule, one view of all links, one iteration only.
    `memory` bounds what is allocated beside the clouds and the links.
    """
    _check_options(growth, share, k, encoding, view_choice, schedule, views, max_iterations)
    rng = np.random.default_rng(random_state)
    n_a, n_b, n_seeds = a.shape[0], b.shape[0], len(anchors.left)
    budget = None if memory is None else parse_memory(memory)
    seeds = np.empty((0, 2), np.int64) if anchors.pairs is None else anchors.pairs
    seed_a, seed_b, a_first = _in_own_order(anchors)
    sample_a, sample_b = _spaced_sample(a, seed_a), _spaced_sample(b, seed_b)
    votes, n_views, pool = Votes(n_b), 0, np.empty((0, 2), np.int64)
    history: list[Iteration] = []
    last = max_iterations if bootstrap else 1

    for step in range(1, last + 1):
        n_links = n_seeds + len(pool)
        n_new, size = plan(n_links, n_seeds, growth=growth, share=share, schedule=schedule, views=views)
        left = np.concatenate([seed_a, a.take(pool[:, 0])])
        right = np.concatenate([seed_b, b.take(pool[:, 1])])
        sides = (left, right) if a_first else (right, left)
        chosen = _draw_views(sides, n_seeds, n_new, size, view_choice, rng, budget)
        from_a, from_b = _AnchorDistances(a, left, budget), _AnchorDistances(b, right, budget)
        seen_a, seen_b = np.zeros(n_a, bool), np.zeros(n_b, bool)
        for view in chosen:
            hash_a = _signature(from_a.columns(view), sample_a, encoding)
            hash_b = _signature(from_b.columns(view), sample_b, encoding)
            held = from_a.nbytes + from_b.nbytes + hash_a.nbytes + hash_b.nbytes
            room = None if budget is None else max(budget - held, 1)
            proposed, score = match(hash_a, hash_b, k=k, memory=room, device=device).mutual()
            # Without links beyond the seeds all views are the same one: it is matched once and votes for all.
            votes.add(proposed, score, times=n_new // len(chosen))
            seen_a[proposed[:, 0]] = True
            seen_b[proposed[:, 1]] = True
        n_views += n_new
        coverage = max(int(seen_a.sum()), int(seen_b.sum())) / max(n_a, n_b)
        pool, confidence = _promote(votes, n_views, seeds)
        history.append(Iteration(n_new, size, len(seeds) + len(pool), coverage))
        if progress is not None:
            mean = float(confidence.mean()) if len(confidence) else None
            progress(Progress(step, last, len(seeds) + len(pool), mean, "growing"))
        if coverage == 0.0 or _steady([i.coverage for i in history]):
            break

    pairs = np.concatenate([seeds, pool])
    counts, scores = votes.of(pairs)
    return Growth(pairs, posterior(counts, n_views), counts, scores, n_views, len(seeds), tuple(history), votes)


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


def _promote(votes: Votes, n_views: int, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The links beyond the seeds, best first, and their confidence: those above Otsu's threshold, one partner each."""
    confidence = posterior(votes.counts, n_views)
    kept = confidence >= otsu(confidence)
    pairs, confidence, score = votes.pairs()[kept], confidence[kept], votes.mean_scores()[kept]
    free = ~(np.isin(pairs[:, 0], seeds[:, 0]) | np.isin(pairs[:, 1], seeds[:, 1]))
    pairs, confidence, score = pairs[free], confidence[free], score[free]
    best = one_to_one(pairs, confidence, score)
    return pairs[best], confidence[best]


def _check_options(
    growth: float, share: float, k: int, encoding: str, view_choice: str, schedule: str, views: str, max_iterations: int
) -> None:
    for name, given, known in (
        ("encoding", encoding, ("kernel", "raw")),
        ("view_choice", view_choice, ("fps", "random")),
        ("schedule", schedule, ("adaptive", "frozen")),
        ("views", views, ("many", "single")),
    ):
        if given not in known:
            raise InputError(f"The option {name} is {given!r}; it is one of {named(known)}.")
    if not (growth >= 0 and 0 < share <= 1 and k >= 1 and max_iterations >= 1):
        raise InputError(
            f"The options are growth={growth}, share={share}, k={k} and max_iterations={max_iterations}; growth is at "
            "least 0, share more than 0 and at most 1, and the others at least 1."
        )


def _steady(coverage: list[float]) -> bool:
    """The share of points proposed moved by less than 0.01 in each of the last 10 iterations, the burn-in left out."""
    moves = np.abs(np.diff(coverage[BURN_IN:]))[-WINDOW:]
    return len(moves) == WINDOW and bool((moves < STEADY).all())


def _signature(r: np.ndarray, sample: np.ndarray, encoding: str) -> np.ndarray:
    if encoding == "raw":
        return signatures.raw(r)
    return signatures.kernel_hash(r, signatures.kernel_width(r[sample]))


def _spaced_sample(cloud: Cloud, seeds: np.ndarray) -> np.ndarray:
    """Rows evenly spaced in the order of their mean distance to the seeds."""
    order = np.argsort(_AnchorDistances(cloud, seeds, None).columns(np.arange(len(seeds))).mean(axis=1), kind="stable")
    return order[np.linspace(0, len(order) - 1, min(WIDTH_SAMPLE, len(order))).astype(np.int64)]


def _in_own_order(anchors: Anchors) -> tuple[np.ndarray, np.ndarray, bool]:
    """The seeds' vectors on both sides, ordered by their distance to all seeds, and whether A's are more spread out."""
    far_a, far_b = (signatures.distances(x, x).mean(axis=1, dtype=np.float64) for x in (anchors.left, anchors.right))
    order = np.argsort(far_a + far_b, kind="stable")
    return anchors.left[order], anchors.right[order], bool(far_a.mean() >= far_b.mean())


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
