"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until a pool takes off: it then agrees on a share of the smaller
cloud that a failed one never comes near, and no label is needed to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.geometry.profiles import paired_profiles
from veclink.geometry.signatures import span_projection, unit_rows
from veclink.linkers.outlier_seeds import ANCHORS, apart, held_out_shares, suspects
from veclink.linkers.span.alignment import ROUNDS, align
from veclink.linkers.span.growing import CONVERGED, GrowthSchedule, Pool, Start, grow

Listener = Callable[[int, int, float], None]
Hint = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # rows of both clouds that compare

MOST_CLEANED = 100  # given pairs: enough to begin with, and each is looked at from all others
LEAST_TO_CLEAN = 6  # with fewer given pairs, none can be told from the others
SAMPLE = 1000  # rows of a cloud that a held-out pair is ranked among
DISOWNED = 0.7  # of the given pairs: a pool from which more than these look wrong does not follow from them
FROM_NOTHING = "no seeds"
MOST_ALIGNED = 4096
FEWER_ROUNDS = 40  # of an alignment: as good as more where the rows are a sample
PROBE = GrowthSchedule(rounds=3)
SHORT = GrowthSchedule(rounds=6, views=3)
GUESSED, FEWEST_GUESSED = 0.1, 500  # of the rows asked in large clouds: the best pairs of an alignment to begin with
HOPEFUL = 0.1  # of the smaller cloud: what a start that will take off agrees on after a few rounds
# Hops and ridge of the profiles, power of the alignment: which of them works differs by data, and by luck.
GUESSES = ((3, 1.0, 0.7), (1, 0.1, 1.0), (3, 1.0, 1.0), (1, 0.1, 0.7), (2, 0.3, 1.0), (2, 0.3, 0.7))
NOTHING = 0.01  # of the smaller cloud: clouds that agree on less after two guesses have nothing in common


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
    share: float

    @property
    def converged(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map."""
        return self.share >= CONVERGED


def best_pool(
    clouds: CloudPair, start: Start | None, rng: np.random.Generator, *, listener: Listener | None = None
) -> Found:
    """Grow from the given start (None: from nothing) and, where that fails, from others: the pool that agrees most."""
    best: Found | None = None
    tried: list[tuple[str, float]] = []
    for attempt, pool in _attempts(clouds, start, rng, listener):
        share = pool.agreed / clouds.extent
        wrong = np.empty(0, np.int64)
        if share >= CONVERGED and start is not None:
            wrong = _suspects(clouds, start, pool, rng)
            if attempt != FROM_NOTHING and len(wrong) > DISOWNED * _given(start):
                share = 0.0  # a pool that does not bear out what it began with has found something else
        tried.append((attempt, share))
        if best is None or share > best.share:
            best = Found(pool, attempt, (), wrong, share)
        if share >= CONVERGED:
            break
    assert best is not None
    return replace(best, tried=tuple(tried))


def _attempts(
    clouds: CloudPair, start: Start | None, rng: np.random.Generator, listener: Listener | None
) -> Iterator[tuple[str, Pool]]:
    """Pools from one start after another, each made only when it is asked for."""
    if start is not None:
        if clouds.large:  # among very many rows a few given pairs place none, but they do align the clouds
            for power in (0.7, 1.0):
                yield f"{start.name}, aligned", _aligned(clouds, _seen_from(clouds, start), rng, listener, power)
        yield start.name, grow(clouds, start, rng, listener=listener)
        cleaned = clean(clouds, start, rng)
        if cleaned is not None:
            yield cleaned.name, grow(clouds, cleaned, rng, listener=listener)
        for given, power in ((start, 0.7), (cleaned, 0.7), (start, 1.0)):
            if given is not None:
                yield f"{given.name}, aligned", _aligned(clouds, _seen_from(clouds, given), rng, listener, power)
    most = 0
    for turn, (hops, ridge, power) in enumerate(GUESSES):
        if turn == 2 and most < NOTHING * clouds.extent:
            return
        pool = _aligned(clouds, partial(paired_profiles, hops=hops, ridge=ridge), rng, listener, power)
        most = max(most, pool.agreed)
        yield FROM_NOTHING, pool


def _aligned(clouds: CloudPair, hint: Hint, rng: np.random.Generator, listener: Listener | None, power: float) -> Pool:
    """A pool from the mutual neighbours of two clouds that were aligned by a hint.

    The axes are found on a sample of the rows: they are the same for all.
    """
    a, b = clouds.sample("a", MOST_ALIGNED, rng), clouds.sample("b", MOST_ALIGNED, rng)
    rounds = FEWER_ROUNDS if clouds.large else ROUNDS
    axes = align(a, b, hint(a, b), rng, clouds.matched, power=power, rounds=rounds, listener=listener)
    clouds.ask(rng, first=True)
    pairs, score = clouds.propose(axes)
    pairs = pairs[np.argsort(-score, kind="stable")]
    if clouds.large:
        pairs = pairs[: max(FEWEST_GUESSED, int(GUESSED * clouds.extent))]
        pairs = pairs[clouds.confirmed(axes, pairs)]
        return grow(clouds, Start(pairs, trusted=False), rng, pace=SHORT, listener=listener)
    guessed = Start(pairs, trusted=False)
    probed = grow(clouds, guessed, rng, pace=PROBE, listener=listener)
    if probed.agreed < HOPEFUL * clouds.extent:
        return probed
    return grow(clouds, replace(guessed, pairs=probed.pairs), rng, listener=listener)


def _seen_from(clouds: CloudPair, start: Start) -> Hint:
    """Span signatures from the given pairs, as a hint."""
    left, right = _vectors(clouds, start)
    axes_a, axes_b = span_projection(left, clouds.ridge), span_projection(right, clouds.ridge)
    return lambda a, b: (unit_rows(a @ axes_a), unit_rows(b @ axes_b))


def _given(start: Start) -> int:
    return len(start.pairs) if start.pairs is not None else len(start.left) if start.left is not None else 0


def clean(clouds: CloudPair, start: Start, rng: np.random.Generator) -> Start | None:
    """The better half of the given pairs, by how near each is to its partner as seen from the others' better half.

    None where there are too few to tell.
    """
    left, right = _vectors(clouds, start)
    if len(left) < LEAST_TO_CLEAN:
        return None
    if len(left) > MOST_CLEANED:
        some = np.sort(rng.choice(len(left), MOST_CLEANED, replace=False))
        left, right = left[some], right[some]
        drawn = None if start.pairs is None else start.pairs[some]
        start = Start(drawn, name=start.name) if drawn is not None else Start(None, left, right, name=start.name)
    kept = np.arange(len(left))
    for _ in range(4):
        sampled = clouds.sample("a", SAMPLE, rng), clouds.sample("b", SAMPLE, rng)
        order = np.argsort(held_out_shares(left, right, kept, sampled, clouds.ridge), kind="stable")
        kept = np.sort(order[: max(LEAST_TO_CLEAN, len(left) // 2)])
    name = f"cleaned {start.name}"
    if start.pairs is None:
        return Start(left=left[kept], right=right[kept], name=name)
    return Start(start.pairs[kept], name=name)


def _suspects(clouds: CloudPair, start: Start, pool: Pool, rng: np.random.Generator) -> np.ndarray:
    """Positions of the given pairs that look wrong as seen from the pool's best links, themselves left out."""
    anchors = pool.pairs if start.pairs is None else apart(pool.pairs, start.pairs)
    span_projections = clouds.vectors(anchors[:ANCHORS])
    return suspects(
        *_vectors(clouds, start), span_projections, lambda side, most: clouds.sample(side, most, rng), clouds.ridge
    )


def _vectors(clouds: CloudPair, start: Start) -> tuple[np.ndarray, np.ndarray]:
    if start.left is not None and start.right is not None:
        return start.left, start.right
    assert start.pairs is not None
    return clouds.vectors(start.pairs)
