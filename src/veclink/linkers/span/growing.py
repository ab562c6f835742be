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
from veclink.linkers.votes import Votes
from veclink.progress import RoundListener

DEFAULT_SCHEDULE = GrowthSchedule()


@dataclass(frozen=True, eq=False)
class Pool:
    """Links found so far, the best first.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2)
        Rows of A and of B.
    share : ndarray of shape (m,)
        Of the views that could vote for a pair, how many did.
    score : ndarray of shape (m,)
        Its mean csls there.
    agreed : int
        Pairs with enough votes in the last round, in the pool or not.
    views : int
        Views of the last round.
    extent : int
        Rows that were asked in the last round: the most links that it could find.
    history : tuple of (int, int)
        Size of the pool and agreed pairs after each round.
    """

    pairs: np.ndarray
    share: np.ndarray
    score: np.ndarray
    agreed: int = 0
    views: int = 0
    extent: int = 0
    history: tuple[tuple[int, int], ...] = ()


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
    pool = _first_pool(anchors)
    settled = not anchors.trusted
    converged = False
    history: list[tuple[int, int]] = []
    for step in range(schedule.rounds):
        sample = clouds.sample_queries(rng, first=not converged)
        settled = settled or _outgrows(pool, anchors, sample, schedule)
        members = _members(pool, anchors, settled)
        rule = _view_rule(pool, members, schedule, out_of_bag)
        views = draw_views(clouds, members, sample, rng, rule)
        limit = _limit(pool, anchors, schedule)
        grown = _next_pool(clouds, views, sample, schedule.votes, limit)
        history.append((len(grown.pairs), grown.agreed))
        steady = _is_steady(pool, grown, limit)
        converged = converged or grown.agreed >= CONVERGED * sample.extent
        pool = grown
        if listener is not None:
            listener(step + 1, len(pool.pairs), _mean(pool.share))
        if not len(pool.pairs) or (steady and settled):
            break
        # Views that all hold the same given pairs agree even if those are wrong: the pool must last without them.
        settled = settled or steady
    return replace(pool, history=tuple(history))


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
    counted = Votes(n_b)
    for each in views.proposals:
        counted.add(each.pairs, each.score)
    n_views = len(views.proposals)
    share = counted.counts / np.maximum(_voters(views, counted), 1.0)
    enough = share >= (votes if n_views > 1 else 0.0)
    pairs = counted.pairs()[enough]
    share = share[enough]
    score = counted.mean_scores()[enough]
    best = one_to_one(pairs, share + SCORE_WEIGHT * score)
    kept = best[:limit]
    return Pool(pairs[kept], share[kept], score[kept], agreed=len(best), views=n_views)


def _voters(views: Views, counted: Votes) -> np.ndarray:
    """How many views could vote for each of the pairs."""
    voters = np.full(len(counted.keys), float(len(views.proposals)))
    member = positions_of(counted.keys, counted.key(views.members))
    known = member >= 0
    voters[known] -= views.held[member[known]]
    return voters


def _first_pool(anchors: Anchors) -> Pool:
    """Guessed pairs are a pool; given ones stand beside it."""
    pairs = no_pairs() if anchors.trusted else anchors.rows
    return Pool(pairs, np.ones(len(pairs)), np.zeros(len(pairs)))


def _outgrows(pool: Pool, anchors: Anchors, sample: QuerySample, schedule: GrowthSchedule) -> bool:
    """Whether the pool is large enough to go on without the given pairs."""
    least = max(schedule.settled * sample.extent, schedule.settled_factor * len(anchors))
    return len(pool.pairs) >= least


def _view_rule(pool: Pool, members: Members, schedule: GrowthSchedule, out_of_bag: bool) -> ViewRule:
    """How the views of a round are drawn; there is one only while all would hold the same."""
    left_out = schedule.seeds_left_out if members.n_fixed else 0.0
    differ = len(pool.pairs) > 0 or left_out > 0
    return ViewRule(schedule.views if differ else 1, schedule.anchors, schedule.held, out_of_bag, left_out)


def _members(pool: Pool, anchors: Anchors, settled: bool) -> Members:
    if settled:
        return Members(pool.pairs)
    if anchors.outside:
        return Members(pool.pairs, outside=anchors)
    others = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    pairs = np.concatenate([anchors.rows, others])
    return Members(pairs, n_fixed=len(anchors))


def _limit(pool: Pool, anchors: Anchors, schedule: GrowthSchedule) -> int:
    """How many links the next pool may hold."""
    size = max(len(pool.pairs), len(anchors))
    return max(schedule.least, int(schedule.factor * size))


def _next_pool(clouds: CloudPair, views: Views, sample: QuerySample, votes: float, limit: int) -> Pool:
    if sample.rows is not None:
        most = CONFIRMED_FACTOR * limit
        likely = promote(views, n_b=clouds.n_b, votes=votes, limit=most)
        views = _confirmed(clouds, views, sample, likely)
    grown = promote(views, n_b=clouds.n_b, votes=votes, limit=limit)
    return replace(grown, extent=sample.extent)


def _confirmed(clouds: CloudPair, views: Views, sample: QuerySample, likely: Pool) -> Views:
    """Of each view's proposals, those among the likely pairs that hold on the way back too."""
    keys = pair_keys(likely.pairs, clouds.n_b)
    shuffle = query_order()
    kept = []
    for along, proposal in zip(views.projections, views.proposals, strict=True):
        proposed = pair_keys(proposal.pairs, clouds.n_b)
        wanted = np.isin(proposed, keys)
        proposal = proposal.only(wanted)
        holds = clouds.confirmed(along, proposal.pairs, sample, shuffle)
        kept.append(proposal.only(holds))
    return replace(views, proposals=kept)


def _is_steady(pool: Pool, grown: Pool, limit: int) -> bool:
    """Whether a round changed little, and was free to change more."""
    size = len(grown.pairs)
    change = abs(size - len(pool.pairs))
    return size < limit and change <= STEADY_CHANGE * size


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


@dataclass(frozen=True, eq=False)
class Proposal:
    """What one view proposes: pairs of rows (p, 2) and their csls (p,)."""

    pairs: np.ndarray
    score: np.ndarray

    def only(self, chosen: np.ndarray) -> Proposal:
        """Those of the pairs that are chosen."""
        return Proposal(self.pairs[chosen], self.score[chosen])


@dataclass(frozen=True, eq=False)
class Members:
    """The links that the views of a round are drawn from.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2)
        Rows of A and of B.
    n_fixed : int
        The first so many stand in every view.
    outside : Anchors, optional
        Vectors of neither cloud that stand in every view too.
    """

    pairs: np.ndarray
    n_fixed: int = 0
    outside: Anchors | None = None

    def draw(self, rule: ViewRule, rng: np.random.Generator) -> np.ndarray:
        """Positions of the links that a view has no vote on: those drawn, and the fixed ones if it does without some.

        Fixed links that stand in every view are not among them: nothing could vote on those.
        """
        loose = len(self.pairs) - self.n_fixed
        n_held = min(rule.anchors, int(np.ceil(rule.held * loose)))
        drawn = self.n_fixed + rng.permutation(loose)[:n_held]
        if not rule.seeds_left_out or not self.n_fixed:
            return drawn
        n_seeds = int(np.ceil((1 - rule.seeds_left_out) * self.n_fixed))
        seeds = rng.permutation(self.n_fixed)[:n_seeds]
        return np.concatenate([seeds, drawn])

    def vectors(self, clouds: CloudPair, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The anchors of a view, on both sides: the fixed ones, unless some of them were drawn, then those drawn."""
        chosen = drawn
        if not (drawn < self.n_fixed).any():
            fixed = np.arange(self.n_fixed)
            chosen = np.concatenate([fixed, drawn]).astype(np.int64)
        left, right = clouds.vectors(self.pairs[chosen])
        if self.outside is not None:
            left = np.concatenate([self.outside.left, left])
            right = np.concatenate([self.outside.right, right])
        return left, right


@dataclass(frozen=True)
class ViewRule:
    """How views are drawn: how many, links that each holds at most and as a share, whether it has no vote on those.

    seeds_left_out: share of the given pairs that each view does without.
    """

    count: int
    anchors: int
    held: float
    out_of_bag: bool
    seeds_left_out: float = 0.0


@dataclass(frozen=True, eq=False)
class Views:
    """The views of one round.

    Attributes
    ----------
    projections : list of Projections
        What each of them looks along.
    proposals : list of Proposal
        What each of them proposes, the pairs that it holds left out.
    members : ndarray of shape (m, 2)
        The links that they were drawn from.
    held : ndarray of shape (m,)
        How many of them hold each member as an anchor, and so have no vote on it.
    """

    projections: list[Projections]
    proposals: list[Proposal]
    members: np.ndarray
    held: np.ndarray


def draw_views(
    clouds: CloudPair, members: Members, sample: QuerySample, rng: np.random.Generator, rule: ViewRule
) -> Views:
    """The views of a round, and what they propose to the rows that are asked."""
    projections = []
    proposals = []
    held = np.zeros(len(members.pairs))
    for _ in range(rule.count):
        drawn = members.draw(rule, rng)
        along = clouds.span_projections(*members.vectors(clouds, drawn))
        proposal = Proposal(*clouds.propose(along, sample))
        if rule.out_of_bag:
            own = pair_keys(members.pairs[drawn], clouds.n_b)
            proposed = pair_keys(proposal.pairs, clouds.n_b)
            proposal = proposal.only(~np.isin(proposed, own))
            held[drawn] += 1
        projections.append(along)
        proposals.append(proposal)
    return Views(projections, proposals, members.pairs, held)
