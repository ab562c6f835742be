"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until a pool takes off: it then agrees on a share of the smaller cloud
that a failed one never comes near, and no label is needed to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from veclink.growing import BRISK, SLOW, TAKEN_OFF, Field, Pace, Pool, Start, grow
from veclink.matching import match
from veclink.profiles import profiles
from veclink.signatures import span_axes, unit_rows

Listener = Callable[[int, int, float], None]

LEAST_TO_CLEAN = 6  # with fewer given pairs, none can be told from the others
SAMPLE = 1000  # rows of a cloud that a held-out pair is ranked among
SUSPECT = 0.05  # a right pair is nearer than this share of the cloud to its partner
HINTED = Pace(rounds=16, factor=1.2, views=8, votes=0.4, anchors=200, patience=6)
UNHINTED = Pace(rounds=24, factor=1.6, views=8, votes=0.5, patience=2)
GUESSES = ((2, 400, 0.3), (3, 400, 0.6), (1, 400, 0.3), (2, 150, 0.6), (3, 800, 0.3), (2, 800, 0.6))


@dataclass(frozen=True, eq=False)
class Found:
    """The best pool of all starts tried.

    started_from: the name of its start. tried: (name, agreed share of the smaller cloud) of each start, in order.
    suspects: positions of the given pairs that look wrong from the pool; empty where no pool took off.
    """

    pool: Pool
    started_from: str
    tried: tuple[tuple[str, float], ...]
    suspects: np.ndarray

    @property
    def took_off(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map."""
        return max(share for _, share in self.tried) >= TAKEN_OFF


def best_pool(ground: Field, start: Start | None, rng: np.random.Generator, *, listener: Listener | None = None) -> Found:
    """Grow from the given start (None: from nothing) and, where that fails, from others; the best pool by agreed share."""
    best: Pool | None = None
    name, tried = "", []
    smaller = min(len(ground.a), len(ground.b))
    for attempt, pool in _attempts(ground, start, rng, listener):
        tried.append((attempt, pool.agreed / smaller))
        if best is None or pool.agreed > best.agreed:
            best, name = pool, attempt
        if tried[-1][1] >= TAKEN_OFF:
            break
    assert best is not None
    took_off = best.agreed >= TAKEN_OFF * smaller
    suspects = _suspects(ground, start, best) if start is not None and took_off else np.empty(0, np.int64)
    return Found(best, name, tuple(tried), suspects)


def _attempts(
    ground: Field, start: Start | None, rng: np.random.Generator, listener: Listener | None
) -> Iterator[tuple[str, Pool]]:
    """Pools from one start after another, each made only when it is asked for."""
    if start is not None:
        yield start.name, grow(ground, start, rng, pace=BRISK, listener=listener)
        cleaned = clean(ground, start, rng)
        if cleaned is not None:
            yield cleaned.name, grow(ground, cleaned, rng, pace=BRISK, listener=listener)
        yield f"{start.name}, slowly", grow(ground, start, rng, pace=SLOW, listener=listener)
        if cleaned is not None:
            yield f"{cleaned.name}, slowly", grow(ground, cleaned, rng, pace=SLOW, listener=listener)
    for hops, count, weight in GUESSES:
        yield "no seeds", _from_nothing(ground, rng, hops, count, weight, listener)


def _from_nothing(
    ground: Field, rng: np.random.Generator, hops: int, count: int, weight: float, listener: Listener | None
) -> Pool:
    """A pool from the `count` best csls neighbours of the profiles, grown with the profiles as hints, then without."""
    hints = profiles(ground.a, hops, rng), profiles(ground.b, hops, rng)
    pairs, score = match(*hints, k=ground.k, memory=ground.memory, device=ground.device).mutual()
    guessed = Start(pairs[np.argsort(-score, kind="stable")[:count]], trusted=False, name="no seeds")
    hinted = Field(
        ground.a, ground.b, ridge=ground.ridge, k=ground.k, device=ground.device, memory=ground.memory,
        hints=hints, weight=weight,
    )  # fmt: skip
    pool = grow(hinted, guessed, rng, pace=HINTED, listener=listener)
    return grow(ground, replace(guessed, pairs=pool.pairs), rng, pace=UNHINTED, listener=listener)


def clean(ground: Field, start: Start, rng: np.random.Generator) -> Start | None:
    """The better half of the given pairs, by how near each is to its partner as seen from the better half of the others.

    None where there are too few to tell.
    """
    left, right = _vectors(ground, start)
    if len(left) < LEAST_TO_CLEAN:
        return None
    kept = np.arange(len(left))
    for _ in range(4):
        order = np.argsort(_farness(ground, left, right, kept, rng), kind="stable")
        kept = np.sort(order[: max(LEAST_TO_CLEAN, len(left) // 2)])
    name = f"cleaned {start.name}"
    if start.pairs is None:
        return Start(left=left[kept], right=right[kept], name=name)
    return Start(start.pairs[kept], name=name)


def _farness(ground: Field, left: np.ndarray, right: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each given pair, the share of either cloud that is nearer to it than its partner (geometric mean).

    A pair is seen from the kept ones but itself: as an anchor it would place itself well.
    """
    of_a, of_b = _sample(ground.a, rng), _sample(ground.b, rng)
    far = np.empty(len(left))
    for place in range(len(left)):
        others = kept[kept != place]
        axes = span_axes(left[others], ground.ridge), span_axes(right[others], ground.ridge)
        far[place] = _shares_nearer(of_a, of_b, left[place, None], right[place, None], axes)[0]
    return far


def _suspects(ground: Field, start: Start, pool: Pool) -> np.ndarray:
    """Positions of the given pairs that are far apart as seen from the pool's best links, themselves left out."""
    left, right = _vectors(ground, start)
    anchors = pool.pairs
    if start.pairs is not None:
        known = np.isin(anchors[:, 0], start.pairs[:, 0]) | np.isin(anchors[:, 1], start.pairs[:, 1])
        anchors = anchors[~known]
    anchors = anchors[: BRISK.anchors]
    axes = span_axes(ground.a[anchors[:, 0]], ground.ridge), span_axes(ground.b[anchors[:, 1]], ground.ridge)
    return np.flatnonzero(_shares_nearer(ground.a, ground.b, left, right, axes) > SUSPECT)


def _shares_nearer(
    a: np.ndarray, b: np.ndarray, left: np.ndarray, right: np.ndarray, axes: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """For pairs (left, right): the share of b nearer to left than right is, and of a to right; their geometric mean."""
    z_left, z_right = unit_rows(left @ axes[0]), unit_rows(right @ axes[1])
    own = np.einsum("ij,ij->i", z_left, z_right)[:, None]
    in_b = (np.sum(z_left @ unit_rows(b @ axes[1]).T > own, axis=1) + 1) / (len(b) + 1)
    in_a = (np.sum(z_right @ unit_rows(a @ axes[0]).T > own, axis=1) + 1) / (len(a) + 1)
    return np.sqrt(in_a * in_b)


def _vectors(ground: Field, start: Start) -> tuple[np.ndarray, np.ndarray]:
    if start.left is not None and start.right is not None:
        return start.left, start.right
    assert start.pairs is not None
    return ground.a[start.pairs[:, 0]], ground.b[start.pairs[:, 1]]


def _sample(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return points if len(points) <= SAMPLE else points[rng.choice(len(points), SAMPLE, replace=False)]
