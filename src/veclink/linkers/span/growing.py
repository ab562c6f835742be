"""Growing a pool of links by rank: views of the pool propose, proposals that outside views agree on join it.

A round draws several views (random halves of the pool), matches both clouds by their span signatures from each view,
and counts for every proposed pair the votes of the views that did not hold it as an anchor: a wrong anchor cannot
vote for itself. The pool of the next round is the best of the pairs that enough views agree on, at most `pace` times
as many as before, so that its precision rises while it grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.data.pairs import one_to_one, pair_keys
from veclink.geometry.signatures import canonical_projections

LEAST_POOL = 60
STEADY = 0.1
# A pool that agrees on this share of the smaller cloud has found the map. Failed ones stayed below 0.16 in 64 and more
# dimensions; in 32, random vectors reached 0.4, which is why the verdict asks for more there.
CONVERGED = 0.2
WIDER = 8192  # rows of the smaller cloud that are asked once more before all of them are
SETTLED = 0.2  # of the smaller cloud: the given pairs stand in every view until the pool is this large


@dataclass(frozen=True, eq=False)
class Start:
    """What growing begins with: pairs of rows (m, 2), or anchor vectors of both sides; given (`trusted`) or guessed."""

    pairs: np.ndarray | None = None
    left: np.ndarray | None = None
    right: np.ndarray | None = None
    trusted: bool = True
    name: str = "seeds"


@dataclass(frozen=True, eq=False)
class Pool:
    """Links found so far, the best first.

    share: of the views that could vote for a pair, how many did; score: its mean csls there. agreed: pairs with enough
    votes in the last round, in the pool or not. history: (size of the pool, agreed pairs) after each round.
    """

    pairs: np.ndarray
    share: np.ndarray
    score: np.ndarray
    agreed: int = 0
    views: int = 0
    history: tuple[tuple[int, int], ...] = field(default=())


@dataclass(frozen=True)
class GrowthSchedule:
    """How fast a pool grows: rounds at most, factor per round, views per round, share of votes that a pair needs.

    anchors: links of the pool that a view holds at most.
    """

    rounds: int = 14
    factor: float = 2.0
    views: int = 6
    votes: float = 0.5
    anchors: int = 256


DEFAULT_SCHEDULE = GrowthSchedule()


def grow(
    clouds: CloudPair,
    start: Start,
    rng: np.random.Generator,
    *,
    pace: GrowthSchedule = DEFAULT_SCHEDULE,
    listener: Callable[[int, int, float], None] | None = None,
) -> Pool:
    """Grow a pool from a start until it no longer changes, the last rounds without the given pairs in every view."""
    n_b = clouds.n_b
    given = start.pairs if start.pairs is not None else np.empty((0, 2), np.int64)
    outside = start.left is not None and start.right is not None
    n_start = len(start.left) if outside and start.left is not None else len(given)
    pairs = given if not start.trusted else np.empty((0, 2), np.int64)
    pool, history = Pool(pairs, np.ones(len(pairs)), np.zeros(len(pairs))), []
    settled = not start.trusted
    found = False
    for step in range(pace.rounds):
        clouds.ask(rng, first=not found)
        settled = settled or len(pool.pairs) >= max(SETTLED * clouds.extent, 2 * n_start)
        members = pool.pairs if settled or outside else np.concatenate([given, _without(pool.pairs, given)])
        kept_in = 0 if settled else n_start
        n_views = pace.views if len(pool.pairs) else 1
        views: list[Projections] = []
        proposals, held = [], np.zeros(len(members))
        for _ in range(n_views):
            loose = len(members) - (0 if outside else kept_in)
            drawn = (0 if outside else kept_in) + rng.permutation(loose)[: min(pace.anchors, -(-loose // 2))]
            chosen = np.concatenate([np.arange(0 if outside else kept_in), drawn]).astype(np.int64)
            left, right = clouds.vectors(members[chosen])
            if outside and not settled:
                left, right = np.concatenate([start.left, left]), np.concatenate([start.right, right])
            views.append(clouds.span_projections(left, right))
            proposed, score = clouds.propose(views[-1])
            fresh = ~np.isin(pair_keys(proposed, n_b), pair_keys(members[drawn], n_b))
            held[drawn] += 1
            proposals.append((proposed[fresh], score[fresh]))
        limit = max(LEAST_POOL, int(pace.factor * max(len(pool.pairs), n_start)))
        if clouds.asked is not None:
            likely = _promote(proposals, members, held, n_b, pace.votes, 3 * limit)
            proposals = _confirmed(clouds, views, proposals, likely)
        grown = _promote(proposals, members, held, n_b, pace.votes, limit)
        history.append((len(grown.pairs), grown.agreed))
        steady = len(grown.pairs) < limit and abs(len(grown.pairs) - len(pool.pairs)) <= STEADY * len(grown.pairs)
        pool, found = grown, found or grown.agreed >= CONVERGED * clouds.extent
        if listener is not None:
            listener(step + 1, len(pool.pairs), float(pool.share.mean()) if len(pool.share) else 0.0)
        if not len(pool.pairs):
            break
        if steady:
            if settled:
                break
            # Views that all hold the same given pairs agree even if those are wrong: the pool must last without them.
            settled = True
    return Pool(pool.pairs, pool.share, pool.score, pool.agreed, pool.views, tuple(history))


def widen(clouds: CloudPair, pool: Pool, rng: np.random.Generator) -> np.ndarray:
    """More links like those of a pool that grew on a sample: pairs (m, 2) of a larger sample, the best first.

    The canonical map of the pool's links is asked once; of the pairs that hold on the way back as many are kept, by
    csls, as the pool's share of the rows it grew on promises.
    """
    if not clouds.large:
        return pool.pairs
    share = len(pool.pairs) / clouds.extent
    clouds.ask(rng, most=max(WIDER, clouds.extent_of_all // 32))
    axes = canonical_projections(*clouds.vectors(pool.pairs))
    pairs, score = clouds.propose(axes)
    order = np.argsort(-score, kind="stable")[: int(1.5 * share * clouds.extent)]
    pairs = pairs[order]
    return pairs[clouds.confirmed(axes, pairs)][: int(share * clouds.extent)]


def _promote(
    proposals: list[tuple[np.ndarray, np.ndarray]],
    members: np.ndarray,
    held: np.ndarray,
    n_b: int,
    votes: float,
    limit: int,
) -> Pool:
    """The best `limit` pairs, one partner each, of those that enough of the views outside agree on."""
    keys = np.concatenate([pair_keys(pairs, n_b) for pairs, _ in proposals])
    found, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    score = np.bincount(place, np.concatenate([score for _, score in proposals]), minlength=len(found)) / counts
    voters = np.full(len(found), float(len(proposals)))
    order = np.argsort(pair_keys(members, n_b))
    if len(members):
        inside = pair_keys(members, n_b)[order]
        spot = np.minimum(np.searchsorted(inside, found), len(inside) - 1)
        member = inside[spot] == found
        voters[member] -= held[order[spot[member]]]
    share = counts / np.maximum(voters, 1.0)
    enough = share >= (votes if len(proposals) > 1 else 0.0)
    pairs = np.stack([found[enough] // n_b, found[enough] % n_b], axis=1)
    share, score = share[enough], score[enough]
    best = one_to_one(pairs, share + 0.5 * score)
    agreed, best = len(best), best[:limit]
    return Pool(pairs[best], share[best], score[best], agreed, len(proposals))


def _confirmed(
    clouds: CloudPair, views: list[Projections], proposals: list[tuple[np.ndarray, np.ndarray]], likely: Pool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each view's proposals, those among the likely pairs that hold on the way back too."""
    keys, kept = pair_keys(likely.pairs, clouds.n_b), []
    for axes, (pairs, score) in zip(views, proposals, strict=True):
        wanted = np.isin(pair_keys(pairs, clouds.n_b), keys)
        pairs, score = pairs[wanted], score[wanted]
        holds = clouds.confirmed(axes, pairs)
        kept.append((pairs[holds], score[holds]))
    return kept


def _without(pairs: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Pairs that share no row with the given ones."""
    return pairs[~(np.isin(pairs[:, 0], given[:, 0]) | np.isin(pairs[:, 1], given[:, 1]))]
