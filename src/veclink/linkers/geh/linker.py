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
* M_t of the stopping rule counts the points of the side that has more of them in proposed pairs, and moves during the
  burn-in do not count: the first iteration that can be the last is the 21st. (The 11th: a point less on nfcorpus.)

Furthest-point sampling is the default because it is the paper's. On the small encoders measured here random views link
better (experiments/results/geh.json): the furthest links are the isolated ones, and more of those are wrong.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from veclink.data.pairs import one_to_one
from veclink.errors import InputError, named
from veclink.files.memory import parse_memory
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh.local_views import ABOVE, NEIGHBOURS, LocalPath
from veclink.linkers.geh.views import GlobalPath, Settings
from veclink.linkers.votes import Votes, otsu, posterior
from veclink.progress import Progress, ProgressListener

if TYPE_CHECKING:
    from veclink.linkers.checkpoint import Checkpoint

BURN_IN = 10
WINDOW = 10
STEADY = 0.01


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
    mean csls in those (NaN without a vote); the first `n_seeds` pairs are the seeds, given and not judged. `chances`
    counts, for each pair, the views that could have proposed it. `proposed` holds the votes of every pair that any view
    proposed, promoted or not.
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
    path: Literal["auto", "global", "local"] = "auto",
    neighbours: int = NEIGHBOURS,
    max_iterations: int = 100,
    memory: int | str | None = None,
    device: str = "cpu",
    random_state: int = 0,
    progress: ProgressListener | None = None,
    checkpoint: Checkpoint | None = None,
) -> Growth:
    """Link the rows of two uncentred clouds from `anchors`: pairs of rows, or outside vectors that stay anchors.

    `growth` (c) and `share` (ρ0) set the schedule, `k` the neighbourhood of csls. The rest are the paper's ablations:
    raw distances instead of the kernel, random views, a frozen schedule, one view of all links, one iteration only.
    `path`: whether a view looks at all rows (`geh_global`) or at the `neighbours` nearest of each of its anchors
    (`geh_local`, the paper's way above 500,000 rows, which "auto" follows; its views ignore `growth`, `share`,
    `view_choice`, `schedule` and `views`).
    `memory` bounds what is allocated beside the clouds and the links; `checkpoint` keeps every iteration.
    """
    _check_options(growth, share, k, encoding, view_choice, schedule, views, max_iterations, path, neighbours)
    rng = np.random.default_rng(random_state)
    budget = None if memory is None else parse_memory(memory)
    settings = Settings(growth, share, k, encoding, view_choice, schedule, views, budget, device)
    seeds = np.empty((0, 2), np.int64) if anchors.pairs is None else anchors.pairs
    local = path == "local" or (path == "auto" and max(a.shape[0], b.shape[0]) > ABOVE)
    way: GlobalPath | LocalPath = (
        LocalPath(a, b, anchors, settings, neighbours) if local else GlobalPath(a, b, anchors, settings)
    )
    votes, pool = Votes(b.shape[0]), np.empty((0, 2), np.int64)
    history: list[Iteration] = []
    if checkpoint is not None:
        pool = _resume(checkpoint, rng, way, votes, history)
    last = max_iterations if bootstrap else 1

    while len(history) < last and not _finished(history):
        now = way.round(pool, rng)
        seen_a, seen_b = np.zeros(a.shape[0], bool), np.zeros(b.shape[0], bool)
        for proposed, score, times in now.proposals:
            votes.add(proposed, score, times=times)
            seen_a[proposed[:, 0]] = True
            seen_b[proposed[:, 1]] = True
        coverage = max(int(seen_a.sum()), int(seen_b.sum())) / max(a.shape[0], b.shape[0])
        pool, confidence = _promote(votes, way.chances(votes.pairs()), seeds)
        history.append(Iteration(now.views, now.anchors, len(seeds) + len(pool), coverage))
        if checkpoint is not None:
            arrays = {**votes.state(), "pool": pool, **way.state()}
            checkpoint.save("growth", rng, arrays, [astuple(each) for each in history])
        if progress is not None:
            mean = float(confidence.mean()) if len(confidence) else None
            progress(Progress(len(history), last, len(seeds) + len(pool), mean, "growing"))

    pairs = np.concatenate([seeds, pool])
    counts, scores = votes.of(pairs)
    n_views, chances = sum(each.views for each in history), way.chances(pairs)
    confidence = posterior(counts, chances)
    return Growth(pairs, confidence, counts, scores, n_views, len(seeds), tuple(history), votes, chances)


def _promote(votes: Votes, chances: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The links beyond the seeds, best first, and their confidence: those above Otsu's threshold, one partner each."""
    confidence = posterior(votes.counts, chances)
    kept = confidence >= otsu(confidence)
    pairs, confidence, score = votes.pairs()[kept], confidence[kept], votes.mean_scores()[kept]
    free = ~(np.isin(pairs[:, 0], seeds[:, 0]) | np.isin(pairs[:, 1], seeds[:, 1]))
    pairs, confidence, score = pairs[free], confidence[free], score[free]
    best = one_to_one(pairs, confidence, score)
    return pairs[best], confidence[best]


def _check_options(
    growth: float,
    share: float,
    k: int,
    encoding: str,
    view_choice: str,
    schedule: str,
    views: str,
    max_iterations: int,
    path: str,
    neighbours: int,
) -> None:
    for name, given, known in (
        ("encoding", encoding, ("kernel", "raw")),
        ("view_choice", view_choice, ("fps", "random")),
        ("schedule", schedule, ("adaptive", "frozen")),
        ("views", views, ("many", "single")),
        ("path", path, ("auto", "global", "local")),
    ):
        if given not in known:
            raise InputError(f"The option {name} is {given!r}; it is one of {named(known)}.")
    if not (growth >= 0 and 0 < share <= 1 and k >= 1 and max_iterations >= 1 and neighbours >= 1):
        raise InputError(
            f"The options are growth={growth}, share={share}, k={k}, max_iterations={max_iterations} and "
            f"neighbours={neighbours}; growth is at least 0, share more than 0 and at most 1, the others at least 1."
        )


def _resume(
    checkpoint: Checkpoint,
    rng: np.random.Generator,
    way: GlobalPath | LocalPath,
    votes: Votes,
    history: list[Iteration],
) -> np.ndarray:
    """Puts everything as it was after the last iteration that was kept; the pool it ended with."""
    held = checkpoint.load("growth", rng)
    if held is None:
        return np.empty((0, 2), np.int64)
    arrays, iterations = held
    votes.restore(arrays)
    way.restore(arrays)
    history += [Iteration(*each) for each in iterations]
    return arrays["pool"]


def _finished(history: list[Iteration]) -> bool:
    return bool(history) and (history[-1].coverage == 0.0 or _steady([each.coverage for each in history]))


def _steady(coverage: list[float]) -> bool:
    """The share of points proposed moved by less than 0.01 in each of the last 10 iterations, the burn-in left out."""
    moves = np.abs(np.diff(coverage[BURN_IN:]))[-WINDOW:]
    return len(moves) == WINDOW and bool((moves < STEADY).all())
