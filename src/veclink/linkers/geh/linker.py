"""GEH, the paper's linker: grow the links from the seeds by votes of many views.

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

Furthest-point sampling is the default because it is the paper's. On the small encoders measured here random views link
better (bench/results/experiments/geh.json): the furthest links are the isolated ones, and more of those are wrong.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from veclink.data.pairs import one_to_one, sharing_no_row
from veclink.files.memory import parse_memory
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.checkpoint import Packed
from veclink.linkers.geh.constants import BURN_IN, LOCAL_ABOVE, STEADY_COVERAGE, STEADY_ITERATIONS
from veclink.linkers.geh.local_views import LocalPath
from veclink.linkers.geh.views import GlobalPath, Proposal, Settings
from veclink.linkers.options import GehOptions
from veclink.linkers.result import Decision
from veclink.linkers.stages import NOBODY, Watch, run_rounds
from veclink.linkers.verdict import geh_verdict
from veclink.linkers.votes import Votes, otsu, posterior
from veclink.progress import Progress

DEFAULT_OPTIONS = GehOptions()
COUNTED_TOGETHER = 1 << 20  # pairs of several views whose votes are counted at once


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

    Attributes
    ----------
    pairs : ndarray of shape (n, 2)
        Rows of A and of B; the first `n_seeds` are the seeds, given and not calibrated.
    confidence : ndarray of shape (n,)
        The posterior θ.
    votes : ndarray of shape (n,)
        Views, of `views` in all, that proposed the pair.
    score : ndarray of shape (n,)
        Its mean csls in those (NaN without a vote).
    views, n_seeds : int
        Views in all, and seeds.
    history : tuple of Iteration
        What every iteration did.
    proposed : Votes, optional
        The votes of every pair that any view proposed, promoted or not.
    chances : ndarray of shape (n,), optional
        For each pair, the views that could have proposed it.
    """

    pairs: np.ndarray
    confidence: np.ndarray
    votes: np.ndarray
    score: np.ndarray
    views: int
    n_seeds: int
    history: tuple[Iteration, ...]
    proposed: Votes | None = None
    chances: np.ndarray | None = None

    def decided(self, n_given: int) -> Decision:
        """The links with the evidence for each, and whether to believe them; n_given: pairs that it began with."""
        positions = np.arange(len(self.pairs))
        given = positions < self.n_seeds
        growth = [[each.links, each.links] for each in self.history]
        views = self.chances
        if views is None:
            views = np.full(len(given), self.views)
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
                "views": views,
                "given": given,
            },
            kept=len(self.pairs),
            rounds=len(self.history),
            trace={"growth": growth},
        )


def geh(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    options: GehOptions = DEFAULT_OPTIONS,
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
        The same one gives the same links.
    watch : Watch
        Who hears of every iteration, and where it is kept.
    """
    budget = None if memory is None else parse_memory(memory)
    growing = Growing(a, b, anchors, Settings(options, budget, device))
    run_rounds("growth", growing, np.random.default_rng(random_state), watch)
    return growing.result()


class Growing:
    """The links, the votes and the history of a run; each `advance` is one iteration."""

    def __init__(
        self,
        a: Cloud,
        b: Cloud,
        anchors: Anchors,
        settings: Settings,
    ) -> None:
        options = settings.options
        self.sizes = len(a), len(b)
        self.seeds = anchors.rows
        self.most = options.max_iterations if options.bootstrap else 1
        self.path = _path(a, b, anchors, settings)
        self.votes = Votes(len(b))
        self.own_votes = options.own_votes
        self.held = Votes(len(b))  # how many views held each link, counted without own votes only
        self.pool = no_pairs()
        self.confidence = np.empty(0)
        self.history: list[Iteration] = []

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to propose, or nothing changes."""
        if len(self.history) >= self.most:
            return True
        if not self.history:
            return False
        coverage = [each.coverage for each in self.history]
        return coverage[-1] == 0.0 or _steady(coverage)

    def advance(self, rng: np.random.Generator) -> None:
        """Draw views of the links, count their votes, and promote."""
        now = self.path.round(self.pool, rng)
        n_a, n_b = self.sizes
        seen_a = np.zeros(n_a, bool)
        seen_b = np.zeros(n_b, bool)
        waiting: list[Proposal] = []
        for proposal in now.proposals:
            waiting.append(proposal)
            if sum(len(each.pairs) for each in waiting) >= COUNTED_TOGETHER:
                self._count(waiting)
                waiting = []
            seen_a[proposal.pairs[:, 0]] = True
            seen_b[proposal.pairs[:, 1]] = True
        self._count(waiting)
        n_seen = int(seen_a.sum()) + int(seen_b.sum())
        coverage = n_seen / max(n_a, n_b)
        chances = self._chances(self.votes.pairs())
        promoted = _promote(self.votes, chances, self.seeds)
        self.pool, self.confidence = promoted
        self.history.append(
            Iteration(
                now.views,
                now.anchors,
                self._n_links(),
                coverage,
            )
        )

    def pack(self) -> Packed:
        """What has to be kept to go on later."""
        held = {f"held_{name}": value for name, value in self.held.state().items()}
        arrays = {
            **self.votes.state(),
            **held,
            "pool": self.pool,
            **self.path.state(),
        }
        return arrays, [astuple(each) for each in self.history]

    def unpack(self, packed: Packed) -> None:
        """Go on from what was kept."""
        arrays, iterations = packed
        self.votes.restore(arrays)
        held = {name: arrays[f"held_{name}"] for name in self.held.state()}
        self.held.restore(held)
        self.path.restore(arrays)
        self.pool = arrays["pool"]
        self.history = [Iteration(*each) for each in iterations]

    def progress(self) -> Progress:
        """How far it is."""
        mean = float(self.confidence.mean()) if len(self.confidence) else None
        return Progress(
            len(self.history),
            self.most,
            self._n_links(),
            mean,
            "growing",
        )

    def result(self) -> Growth:
        """The seeds and the links, with the evidence for each."""
        pairs = np.concatenate([self.seeds, self.pool])
        votes, score = self.votes.of(pairs)
        chances = self._chances(pairs)
        return Growth(
            pairs,
            posterior(votes, chances),
            votes,
            score,
            sum(each.views for each in self.history),
            len(self.seeds),
            tuple(self.history),
            self.votes,
            chances,
        )

    def _count(self, proposals: list[Proposal]) -> None:
        """Count the votes of views: all of them, or those for pairs that a view does not hold as anchors itself."""
        if not proposals:
            return
        if not self.own_votes:
            n_held = [len(each.held) for each in proposals]
            held = np.concatenate([each.held for each in proposals])
            self.held.add(held, np.zeros(len(held)), times=_times(proposals, n_held))
            _, n_b = self.sizes
            proposals = [each.without_own(n_b) for each in proposals]
        n_pairs = [len(each.pairs) for each in proposals]
        self.votes.add(
            np.concatenate([each.pairs for each in proposals]),
            np.concatenate([each.score for each in proposals]),
            times=_times(proposals, n_pairs),
        )

    def _chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that had a vote on each pair: of those that looked at it, all but the ones that held it."""
        held, _ = self.held.of(pairs)
        return self.path.chances(pairs) - held

    def _n_links(self) -> int:
        return len(self.seeds) + len(self.pool)


def _path(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    settings: Settings,
) -> GlobalPath | LocalPath:
    path = settings.options.path
    if path == "auto":
        larger = max(len(a), len(b))
        path = "local" if larger > LOCAL_ABOVE else "global"
    if path == "local":
        return LocalPath(a, b, anchors, settings)
    return GlobalPath(a, b, anchors, settings)


def _times(proposals: list[Proposal], counts: list[int]) -> np.ndarray:
    """How many equal views each of so many pairs of each proposal stands for, one after another."""
    times = [each.times for each in proposals]
    return np.repeat(times, counts)


def _promote(
    votes: Votes,
    chances: np.ndarray,
    seeds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The links beyond the seeds, best first, and their confidence: those above Otsu's threshold, one partner each."""
    confidence = posterior(votes.counts, chances)
    pairs = votes.pairs()
    likely = np.flatnonzero(confidence >= otsu(confidence))
    likely = likely[sharing_no_row(pairs[likely], seeds)]
    score = votes.mean_scores()
    chosen = one_to_one(pairs[likely], confidence[likely], score[likely])
    best = likely[chosen]
    return pairs[best], confidence[best]


def _steady(coverage: list[float]) -> bool:
    """After the burn-in: the share of points proposed moved by less than 0.01 in each of the last 10 iterations."""
    last = np.abs(np.diff(coverage))[-STEADY_ITERATIONS:]
    enough = len(coverage) > BURN_IN and len(last) == STEADY_ITERATIONS
    return enough and bool((last < STEADY_COVERAGE).all())
