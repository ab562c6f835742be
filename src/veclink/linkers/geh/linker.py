"""GEH, the paper's linker: grow the links from the seeds by votes of many views.

An iteration draws several views of the current links, hashes both clouds against each view's anchors, proposes mutual
nearest neighbours, and promotes the pairs that enough of all views so far agreed on.

What the paper leaves open is settled so that the result does not depend on the order of the rows or of the seeds, on
rotations, or on which cloud comes first (but for rounding, and for exact ties, which go to the lower row):

* The sample behind the kernel width σ is not random: points evenly spaced in the order of mean distance to the seeds.
* Furthest-point sampling runs on one side for each view, and the sides take turns, the one where the seeds are more
  spread out first (`view_side`).
* It measures distances to the links it has drawn, not to the seeds.
* The seeds count towards the s anchors of a view.
* Equal confidence is ordered by mean csls score, in the one-to-one choice and in the order from which views are drawn.

Furthest-point sampling is the default because it is the paper's. On the small encoders measured here random views link
better (bench/results/experiments/geh.json): the furthest links are the isolated ones, and more of those are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veclink.data.pairs import lookup, one_to_one, pair_keys, sharing_no_row
from veclink.files.memory import parse_memory
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.checkpoint import NOBODY, Packed, Watch
from veclink.linkers.geh import LOCAL_ABOVE, STEADY
from veclink.linkers.geh.views import GlobalPath, LocalPath, Proposal, Settings
from veclink.linkers.options import GehOptions
from veclink.linkers.result import Decision
from veclink.linkers.verdict import geh_verdict
from veclink.progress import Progress


class Iteration(NamedTuple):
    """One iteration of the growth: views and anchors per view it used, links after it, share of points proposed."""

    views: int
    anchors: int
    links: int
    coverage: float


@dataclass(frozen=True, eq=False)
class Growth:
    """What GEH found: the links (seeds first, then by decreasing confidence) and the evidence for each."""

    pairs: np.ndarray  # (n, 2) rows of A and of B; the first `n_seeds` are the seeds, given and not calibrated
    confidence: np.ndarray  # (n,) the posterior θ
    votes: np.ndarray  # (n,) views that proposed the pair
    chances: np.ndarray  # (n,) views that could have proposed it
    score: np.ndarray  # (n,) its mean csls in those that did (NaN without a vote)
    n_seeds: int
    history: tuple[Iteration, ...]

    @property
    def views(self) -> int:
        """Views in all."""
        return sum(each.views for each in self.history)

    def decided(self, n_given: int) -> Decision:
        """The links with the evidence for each, and whether to believe them; n_given: pairs that it began with."""
        given = np.arange(len(self.pairs)) < self.n_seeds
        verdict = geh_verdict(
            self.confidence[self.n_seeds :],
            n_views=self.views,
            most_anchors=max((each.anchors for each in self.history), default=0),
            n_given=n_given,
        )
        return Decision(
            "geh",
            verdict,
            pairs=self.pairs,
            probability=np.where(given, 1.0, self.confidence),
            evidence={
                "score": self.score.astype(np.float32),
                "votes": self.votes,
                "views": self.chances,
                "given": given,
            },
            kept=len(self.pairs),
            rounds=len(self.history),
            trace={"growth": [[each.links, each.links] for each in self.history]},
        )


def geh(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    options: GehOptions,
    *,
    memory: int | str | None = None,
    device: str = "cpu",
    random_state: int = 0,
    watch: Watch = NOBODY,
) -> Growth:
    """Link the rows of two uncentred clouds from anchors: pairs of rows, or outside vectors that stay anchors.

    Parameters
    ----------
    a, b : Cloud
        Rows of unit length.
    anchors : Anchors
        What a person gave.
    options : GehOptions
        The schedule, and the paper's ablations.
    memory : int or str, optional
        Bounds what is allocated beside the clouds and the links.
    device : str
        Where views are matched.
    random_state : int
        Seed of the random generator.
    watch : Watch
        Who hears of every iteration, and where it is kept.
    """
    budget = None if memory is None else parse_memory(memory)
    growing = Growing(a, b, anchors, Settings(options, budget, device))
    rng = np.random.default_rng(random_state)
    packed = None if watch.checkpoint is None else watch.checkpoint.load("growth", rng)
    if packed is not None:
        growing.unpack(packed)
    while not growing.finished:
        growing.advance(rng)
        if watch.checkpoint is not None:
            watch.checkpoint.save("growth", rng, *growing.pack())
        mean = float(growing.confidence.mean()) if len(growing.confidence) else None
        watch.tell(Progress(len(growing.history), growing.most, growing.history[-1].links, mean, "growing"))
    return growing.result()


COUNTED = ("keys", "counts", "score_sums")  # of `Votes`, to count on later


class Growing:
    """The links, the votes and the history of a run; each `advance` is one iteration."""

    def __init__(self, a: Cloud, b: Cloud, anchors: Anchors, settings: Settings) -> None:
        self.options = settings.options
        self.sizes = len(a), len(b)
        self.seeds = anchors.rows
        self.most = self.options.max_iterations if self.options.bootstrap else 1
        local = self.options.path == "local" or (self.options.path == "auto" and max(self.sizes) > LOCAL_ABOVE)
        self.path = (LocalPath if local else GlobalPath)(a, b, anchors, settings)
        self.votes = Votes(len(b))
        self.held = Votes(len(b))  # how many views held each link, counted without own votes only
        self.looked = [np.zeros(n, np.int64) for n in self.sizes]  # views that looked at each row
        self.pool = no_pairs()
        self.confidence = np.empty(0)
        self.history: list[Iteration] = []

    @property
    def finished(self) -> bool:
        """Whether nothing is left to propose, or the share of points proposed is steady after the burn-in."""
        coverage = [each.coverage for each in self.history]
        if len(coverage) >= self.most or (coverage and coverage[-1] == 0.0):
            return True
        change, iterations, burn_in = STEADY
        moved = np.abs(np.diff(coverage))[-iterations:]
        return len(coverage) > max(burn_in, iterations) and bool((moved < change).all())

    def advance(self, rng: np.random.Generator) -> None:
        """Draw views of the links, count their votes, and promote."""
        now = self.path.round(self.pool, rng)
        seen = [np.zeros(n, bool) for n in self.sizes]
        waiting: list[Proposal] = []
        for proposal in now.proposals:
            for side in (0, 1):
                seen[side][proposal.pairs[:, side]] = True
                self.looked[side][proposal.looked[side]] += now.times
            waiting.append(proposal if self.options.own_votes else self._without_own(proposal, now.times))
            if sum(len(each.pairs) for each in waiting) >= 1 << 20:  # counted together
                self._count(waiting, now.times)
                waiting = []
        self._count(waiting, now.times)
        # The links beyond the seeds, best first: above Otsu's threshold of the confidence, one partner each.
        pairs, score = self.votes.pairs(), self.votes.mean_scores()
        confidence = posterior(self.votes.counts, self._chances(pairs))
        likely = np.flatnonzero(confidence >= otsu(confidence))
        likely = likely[sharing_no_row(pairs[likely], self.seeds)]
        best = likely[one_to_one(pairs[likely], confidence[likely], score[likely])]
        self.pool, self.confidence = pairs[best], confidence[best]
        coverage = sum(map(np.count_nonzero, seen)) / max(self.sizes)
        self.history.append(Iteration(now.views, now.anchors, len(self.seeds) + len(self.pool), coverage))

    def pack(self) -> Packed:
        """What has to be kept to go on later."""
        counted = {
            f"{which}{name}": getattr(votes, name)
            for which, votes in (("", self.votes), ("held_", self.held))
            for name in COUNTED
        }
        # Neighbours too: searched in another company, two that are equally near could change places.
        near = {
            f"{name}_{i}": getattr(each, name) for i, each in enumerate(self.path.near) for name in ("place", "kept")
        }
        looked = np.concatenate(self.looked)
        return {**counted, "looked": looked, "pool": self.pool, **near}, self.history

    def unpack(self, packed: Packed) -> None:
        """Go on from what was kept."""
        arrays, iterations = packed
        for which, votes in (("", self.votes), ("held_", self.held)):
            for name in COUNTED:
                setattr(votes, name, arrays[f"{which}{name}"])
        for side, near in enumerate(self.path.near):
            near.place, near.kept = arrays[f"place_{side}"], arrays[f"kept_{side}"]
        self.looked = np.split(arrays["looked"], self.sizes[:1])
        self.pool = arrays["pool"]
        self.history = [Iteration(*each) for each in iterations]

    def result(self) -> Growth:
        """The seeds and the links, with the evidence for each."""
        pairs = np.concatenate([self.seeds, self.pool])
        votes, score = self.votes.of(pairs)
        chances = self._chances(pairs)
        return Growth(pairs, posterior(votes, chances), votes, chances, score, len(self.seeds), tuple(self.history))

    def _without_own(self, proposal: Proposal, times: int) -> Proposal:
        """A proposal without the pairs that its view holds as anchors, which are noted down."""
        held, n_b = proposal.held, self.sizes[1]
        self.held.add(held, np.zeros(len(held)), times=times)
        others = ~np.isin(pair_keys(proposal.pairs, n_b), pair_keys(held, n_b))
        return replace(proposal, pairs=proposal.pairs[others], score=proposal.score[others])

    def _count(self, proposals: list[Proposal], times: int) -> None:
        if proposals:
            pairs = np.concatenate([each.pairs for each in proposals])
            self.votes.add(pairs, np.concatenate([each.score for each in proposals]), times=times)

    def _chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that had a vote on each pair: that looked at either of its rows, at most, and did not hold it."""
        looked = (looked[rows] for looked, rows in zip(self.looked, pairs.T, strict=True))
        return np.minimum(*looked) - self.held.of(pairs)[0]


class Votes:
    """How often each pair was proposed, and with which scores. Only pairs that were proposed take memory."""

    def __init__(self, n_b: int) -> None:
        self.n_b = n_b
        self.keys = np.empty(0, np.int64)  # (p,) the `pair_keys` of the pairs that have a vote, ascending
        self.counts = np.empty(0, np.int64)  # (p,) their votes
        self.score_sums = np.empty(0, np.float64)  # (p,) of the views that proposed each

    def add(self, pairs: np.ndarray, scores: np.ndarray, *, times: int | np.ndarray = 1) -> None:
        """Give each of the `pairs` (p, 2) a vote, or as many as `times` says; of several views, those of all at once.

        Every call copies all votes so far: many small views are better counted together.
        """
        keys = pair_keys(pairs, self.n_b)
        new = np.sort(keys)
        new = new[np.diff(new, prepend=-1) > 0]
        new = new[lookup(self.keys, new) < 0]
        before = np.searchsorted(self.keys, new)
        self.keys = np.insert(self.keys, before, new)
        self.counts = np.insert(self.counts, before, 0)
        self.score_sums = np.insert(self.score_sums, before, 0.0)
        spot = np.searchsorted(self.keys, keys)
        np.add.at(self.counts, spot, times)
        np.add.at(self.score_sums, spot, times * scores.astype(np.float64))

    def pairs(self) -> np.ndarray:
        """All pairs that have a vote, (p, 2), sorted by row of A, then of B."""
        return np.stack(np.divmod(self.keys, self.n_b), axis=1)

    def mean_scores(self) -> np.ndarray:
        """Mean score of each pair over the views that proposed it."""
        return self.score_sums / self.counts

    def of(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Votes and mean scores of the given pairs; 0 votes and a score of NaN for one that was never proposed."""
        spot = lookup(self.keys, pair_keys(pairs, self.n_b))
        counts, scores = np.append(self.counts, 0), np.append(self.mean_scores(), np.nan)
        return counts[spot], scores[spot]


def posterior(votes: np.ndarray, views: int | np.ndarray) -> np.ndarray:
    """Mean of the Beta posterior of a pair's chance to be proposed, `(1 + ν) / (2 + N)`, from a Beta(1, 1) prior."""
    return (1.0 + votes) / (2.0 + views)


def otsu(values: np.ndarray) -> float:
    """Otsu's threshold: the split of `values` with the largest variance between its two classes.

    Returns the smallest value of the upper class, so that `values >= otsu(values)` keeps that class; all of them when
    they are equal. The histogram has one bin for each distinct value: a posterior is a count in disguise, and needs no
    bin width. Of equally good splits the lowest is taken, which keeps more.
    """
    levels, counts = np.unique(values, return_counts=True)
    if not len(levels):
        return 0.0
    if len(levels) == 1:
        return float(levels[0])
    below = np.cumsum(counts)[:-1]
    above = len(values) - below
    sums = np.cumsum(counts * levels)
    sum_below = sums[:-1]
    sum_above = sums[-1] - sum_below
    gap = sum_below / below - sum_above / above
    between = below * above * gap**2
    return float(levels[1 + np.argmax(between)])
