"""The views of a round: random parts of the pool, and what each of them proposes.

A view has no vote on the pairs that it holds as anchors: a wrong anchor cannot vote for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.backends import CloudPair, Projections, QuerySample
from veclink.data.pairs import pair_keys
from veclink.linkers.anchors import Anchors


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
