"""Growing a pool of links by rank: views of the pool propose, proposals that outside views agree on join it.

A round draws several views (random halves of the pool), matches both clouds by their span signatures from each view,
and counts for every proposed pair the votes of the views that did not hold it as an anchor: a wrong anchor cannot
vote for itself. The pool of the next round is the best of the pairs that enough views agree on, at most `factor` times
as many as before, so that its precision rises while it grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.backends import CloudPair, Projections, QuerySample
from veclink.confidence.constants import DIRECTIONS_OF_LARGE
from veclink.data.pairs import one_to_one, pair_keys, positions_of, sharing_no_row
from veclink.geometry.signatures import JOINED_RULES, canonical_maps
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.options import GrowthSchedule
from veclink.linkers.span.constants import CONFIRMED_FACTOR, CONVERGED, SCORE_WEIGHT, STEADY_CHANGE, WIDENED
from veclink.progress import RoundListener

DEFAULT_SCHEDULE = GrowthSchedule()
Proposal = tuple[np.ndarray, np.ndarray]
"""What one view proposes: pairs of rows (p, 2) and their csls (p,)."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Links found so far, the best first."""

    pairs: np.ndarray  # (m, 2) rows of A and of B
    share: np.ndarray  # (m,) of the views that could vote for a pair, how many did
    score: np.ndarray  # (m,) its mean csls there
    agreed: int = 0  # pairs with enough votes in the last round, in the pool or not
    views: int = 0  # views of the last round
    extent: int = 0  # rows that were asked in the last round: the most links that it could find
    history: tuple[tuple[int, int], ...] = ()  # size of the pool and agreed pairs after each round


def grow(
    clouds: CloudPair,
    anchors: Anchors,
    rng: np.random.Generator,
    *,
    schedule: GrowthSchedule = DEFAULT_SCHEDULE,
    out_of_bag: bool = True,
    listener: RoundListener | None = None,
) -> Pool:
    """Grow a pool from anchors until it no longer changes, the last rounds without the given ones in every view.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    anchors : Anchors
        What growing begins with.
    rng : numpy.random.Generator
        Draws the views, and of large clouds the rows that are asked.
    schedule : GrowthSchedule
        How fast the pool grows.
    out_of_bag : bool
        Whether a view has no vote on the pairs that it holds.
    listener : callable, optional
        Hears of every round.
    """
    pairs = no_pairs() if anchors.trusted else anchors.rows  # guessed pairs are a pool; given ones stand beside it
    pool = Pool(pairs, np.ones(len(pairs)), np.zeros(len(pairs)))
    settled, converged = not anchors.trusted, False
    history: list[tuple[int, int]] = []
    for step in range(schedule.rounds):
        sample = clouds.sample_queries(rng, first=not converged)
        before = len(pool.pairs)
        # whether the pool is large enough to go on without the given pairs
        settled = settled or before >= max(schedule.settled * sample.extent, schedule.settled_factor * len(anchors))
        views = draw_views(clouds, pool.pairs, None if settled else anchors, sample, schedule, out_of_bag, rng)
        limit = max(schedule.least, int(schedule.factor * max(before, len(anchors))))
        if sample.rows is not None:
            likely = promote(views, n_b=clouds.n_b, votes=schedule.votes, limit=CONFIRMED_FACTOR * limit)
            views = _confirmed(clouds, views, sample, likely)
        pool = replace(promote(views, n_b=clouds.n_b, votes=schedule.votes, limit=limit), extent=sample.extent)
        size = len(pool.pairs)
        history.append((size, pool.agreed))
        # whether the round changed little, and was free to change more
        steady = size < limit and abs(size - before) <= STEADY_CHANGE * size
        converged = converged or pool.agreed >= CONVERGED * sample.extent
        if listener is not None:
            listener(step + 1, size, float(pool.share.mean()) if size else 0.0)
        if not size or (steady and settled):
            break
        # Views that all hold the same given pairs agree even if those are wrong: the pool must last without them.
        settled = settled or steady
    return replace(pool, history=tuple(history))


@dataclass(frozen=True, eq=False)
class Views:
    """The views of one round."""

    projections: list[Projections]  # what each of them looks along
    proposals: list[Proposal]  # what each of them proposes, the pairs that it holds left out
    members: np.ndarray  # (m, 2) the links that they were drawn from
    held: np.ndarray  # (m,) how many of them hold each member as an anchor, and so have no vote on it


def draw_views(
    clouds: CloudPair,
    pool: np.ndarray,
    given: Anchors | None,
    sample: QuerySample,
    schedule: GrowthSchedule,
    out_of_bag: bool,
    rng: np.random.Generator,
) -> Views:
    """The views of a round, and what they propose to the rows that are asked.

    pool: (m, 2). given: anchors that stand in every view too, unless the schedule leaves some of them out.
    """
    members, n_given, outside = pool, 0, None
    if given is not None and given.outside:
        outside = given
    elif given is not None:
        members = np.concatenate([given.rows, pool[sharing_no_row(pool, given.rows)]])
        n_given = len(given)
    left_out = schedule.seeds_left_out if n_given else 0.0
    loose = len(members) - n_given
    n_held = min(schedule.anchors, int(np.ceil(schedule.held * loose)))
    views = Views([], [], members, np.zeros(len(members)))
    for _ in range(schedule.views if len(pool) or left_out else 1):  # one only while all would hold the same
        # A view has no vote on the links that are drawn for it. Given ones that stand in every view are not among
        # them: nothing could vote on those.
        drawn = n_given + rng.permutation(loose)[:n_held]
        if left_out:
            drawn = np.concatenate([rng.permutation(n_given)[: int(np.ceil((1 - left_out) * n_given))], drawn])
        some_given = (drawn < n_given).any()
        left, right = clouds.vectors(members[drawn if some_given else np.r_[np.arange(n_given), drawn]])
        if outside is not None:
            left, right = np.concatenate([outside.left, left]), np.concatenate([outside.right, right])
        along = clouds.span_projections(left, right)
        pairs, score = clouds.propose(along, sample)
        if out_of_bag:
            others = ~np.isin(pair_keys(pairs, clouds.n_b), pair_keys(members[drawn], clouds.n_b))
            pairs, score = pairs[others], score[others]
            views.held[drawn] += 1
        views.projections.append(along)
        views.proposals.append((pairs, score))
    return views


def widen(clouds: CloudPair, pool: Pool, rng: np.random.Generator) -> np.ndarray:
    """Of large clouds, links like those of a pool, of another sample of rows: pairs (m, 2), the best first.

    The canonical map of the pool's links is asked once; of the pairs that hold on the way back as many are kept, by
    csls, as the pool's share of the rows it grew on promises. A pool that all rows were asked for stays as it is.
    """
    if not clouds.large or pool.extent == clouds.extent_of_all:
        return pool.pairs
    share = len(pool.pairs) / pool.extent
    least, one_in, factor = WIDENED
    most = max(least, clouds.extent_of_all // one_in)
    sample = clouds.sample_queries(rng, most=most)
    left, right = clouds.a.take(pool.pairs[:, 0]), clouds.b.take(pool.pairs[:, 1])
    (projections,) = canonical_maps(left, right, None, JOINED_RULES[:1], DIRECTIONS_OF_LARGE)
    pairs, score = clouds.propose(projections, sample)
    best = np.argsort(-score, kind="stable")
    pairs = pairs[best[: int(factor * share * sample.extent)]]
    holds = clouds.confirmed(projections, pairs, sample, query_order())
    return pairs[holds][: int(share * sample.extent)]


def query_order() -> np.random.Generator:
    """What shuffles queries on the way back: a generator of its own, so that asking back draws none of the run's."""
    return np.random.default_rng(0)


def promote(views: Views, *, n_b: int, votes: float, limit: int) -> Pool:
    """The best `limit` pairs, one partner each, of those that enough of the views outside agree on.

    votes: the share of the views without a pair that have to propose it.
    """
    n_views = len(views.proposals)
    proposed, scores = (np.concatenate(parts) for parts in zip(*views.proposals, strict=True))
    keys, place, counts = np.unique(pair_keys(proposed, n_b), return_inverse=True, return_counts=True)
    voters = np.full(len(keys), float(n_views))
    member = positions_of(keys, pair_keys(views.members, n_b))
    voters[member >= 0] -= views.held[member[member >= 0]]
    share, score = counts / np.maximum(voters, 1.0), np.bincount(place, scores) / counts
    enough = share >= (votes if n_views > 1 else 0.0)
    pairs, share, score = np.column_stack(np.divmod(keys[enough], n_b)), share[enough], score[enough]
    best = one_to_one(pairs, share + SCORE_WEIGHT * score)
    kept = best[:limit]
    return Pool(pairs[kept], share[kept], score[kept], agreed=len(best), views=n_views)


def _confirmed(clouds: CloudPair, views: Views, sample: QuerySample, likely: Pool) -> Views:
    """Of each view's proposals, those among the likely pairs that hold on the way back too."""
    keys, shuffle, kept = pair_keys(likely.pairs, clouds.n_b), query_order(), []
    for along, (pairs, score) in zip(views.projections, views.proposals, strict=True):
        wanted = np.isin(pair_keys(pairs, clouds.n_b), keys)
        pairs, score = pairs[wanted], score[wanted]
        holds = clouds.confirmed(along, pairs, sample, shuffle)
        kept.append((pairs[holds], score[holds]))
    return replace(views, proposals=kept)
