"""Span linking, the default: grow a pool of links from any start, then calibrate every mutual candidate without labels.

`span` is the path: `grow` finds a pool whose bootstrap converges, `match` scores pairs by maps fitted without them,
`score` adds what their neighbourhoods say, `estimate` turns that into probabilities, `refit` does the three again with
the probable candidates as anchors, and `decide` says which pairs are links and whether to believe them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence import intervals
from veclink.confidence.calibration import Calibrated, calibrate, recounted
from veclink.confidence.candidates import FOLDS, Candidates, crossfit
from veclink.confidence.constants import FITTED_OF_MANY, FULL_FOLDS, MAX_FITTED_CANDIDATES
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.pairs import sharing_no_row
from veclink.data.words import Reason
from veclink.errors import InputError
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.checkpoint import NOBODY, Watch
from veclink.linkers.options import SpanOptions
from veclink.linkers.result import Decision
from veclink.linkers.span.attempt import centred
from veclink.linkers.span.constants import (
    FEW_LINKS,
    FOLDS_OF_FEW,
    FOLDS_OF_MANY,
    FOLDS_OF_REFIT,
    MAPPED_LEAST_PRECISION,
    MIN_ANCHOR_WEIGHT,
    MIN_NEARBY_LINKS,
    NEIGHBOURHOOD_LINKS,
    REFITS,
    REFITTED_BELOW,
)
from veclink.linkers.span.growing import Pool, widen
from veclink.linkers.span.ranking import explaining_columns, ranked_pairs
from veclink.linkers.span.starts import DEFAULT_OPTIONS, Bootstrap, best_pool
from veclink.linkers.verdict import NOT_LINKABLE, SeedCheck, Verdict, not_converged, span_verdict
from veclink.progress import Progress

LATER: Any = None  # what a later stage fills


@dataclass(frozen=True, eq=False)
class State:
    """What is known of a run, filled stage by stage."""

    # grow
    bootstrap: Bootstrap  # the best pool of all starts
    links: np.ndarray  # (m, 2) what the final maps are fitted to: the given pairs, then pool links that share no row
    given: np.ndarray  # (g, 2) the given pairs that do not look wrong
    # match
    candidates: Candidates = LATER  # c of them
    # score
    features: np.ndarray = LATER  # (c, f) what their neighbourhoods say
    fitted: np.ndarray = LATER  # (f,) positions of those that the calibration is fitted to
    # estimate
    calibrated: Calibrated = LATER
    # refit: what the pool's own maps gave. Whether anything is shared is asked of that, since maps that are fitted to
    # near neighbours find near neighbours.
    unaided: State | None = None


KEPT = {kind.__name__: kind for kind in (State, Bootstrap, Pool, Candidates)}


@dataclass(frozen=True, eq=False)
class Task:
    """What every stage is given: two centred clouds, the anchors if any, the options, the generator, who listens."""

    clouds: CloudPair
    anchors: Anchors | None
    options: SpanOptions
    rng: np.random.Generator
    watch: Watch
    given: np.ndarray  # (m, 2) the given pairs of rows

    def tell(self, stage: str, step: int, links: int, of: int | None = None) -> None:
        """Say how far a stage is, and how many links there are."""
        self.watch.tell(Progress(step, of, links, None, stage))

    def kept(self, stage: str, run: Callable[[], State]) -> State:
        """What a long stage gives: from the checkpoint, or made now and kept there."""
        checkpoint = self.watch.checkpoint
        if checkpoint is None:
            return run()
        packed = checkpoint.load(stage, self.rng)
        if packed is not None:
            arrays, plain = packed
            state = _unpacked(plain, arrays)
            assert isinstance(state, State), "that is what is packed"
            return state
        state, arrays = run(), dict[str, np.ndarray]()
        checkpoint.save(stage, self.rng, arrays, _packed(state, arrays))
        return state


def span(
    clouds: CloudPair,
    anchors: Anchors | None,
    options: SpanOptions = DEFAULT_OPTIONS,
    *,
    random_state: int = 0,
    watch: Watch = NOBODY,
) -> Decision:
    """Link the rows of two centred clouds from anchors: given pairs, outside vectors, or None for nothing.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    anchors : Anchors, optional
        What a person gave.
    options : SpanOptions
        Which parts are used, and how.
    random_state : int
        Seed of the random generator.
    watch : Watch
        Who hears of the run, and where it is kept.
    """
    if anchors is None and not options.fallbacks:
        raise InputError("Without seeds or anchors other starts have to be tried; leave fallbacks on.")
    given = no_pairs() if anchors is None or not anchors.marked else anchors.rows
    task = Task(clouds, anchors, options, np.random.default_rng(random_state), watch, given)
    state = task.kept("grown", partial(grow, task))
    bootstrap = state.bootstrap
    # How it came about, to keep with the links: links in the pool and pairs agreed on after each round; the starts that
    # were tried, and the share that each agreed on; the one whose pool was taken.
    trace: dict[str, Any] = {
        "growth": [list(each) for each in bootstrap.pool.history],
        "starts": [[name, float(share)] for name, share in bootstrap.tried],
        "started_from": bootstrap.started_from if bootstrap.converged else None,
        "hubs": {},
    }
    rounds = len(bootstrap.pool.history)
    if not bootstrap.converged:
        return Decision("span", not_converged(bootstrap, anchors), overlap=0.0, rounds=rounds, trace=trace)
    if bootstrap.means is not None:
        task = replace(task, clouds=centred(clouds, bootstrap.means))
    task.tell("matching", 0, len(state.links))
    state = task.kept("candidates", partial(match, task, state))
    found = state.candidates
    trace["hubs"] = {"a": _hubs(found.rows_a, found.best_b), "b": _hubs(found.rows_b, found.best_a)}
    task.tell("judging", rounds, len(found.mutual()))
    state = refit(task, estimate(task, score(task, state, state.links)))
    model = state.calibrated.model
    if model is not None:  # how many candidates are estimated to be wrong, over the probability that decoys were given
        wrong, _ = np.histogram(model.decoy_probability, 50, (0.0, 1.0), weights=model.decoy_weight)
        decoys = {"probability": wrong.round(3).tolist(), "made": len(model.decoy_probability)}
        trace |= {"model": model.plain(), "decoys": decoys}
    return replace(decide(task, state), trace=trace)


def grow(task: Task) -> State:
    """The pool of the best start, widened where the clouds are large, and the given pairs that do not look wrong."""
    begun: list[str] = []  # starts, which are told by their names from the second one on

    def tell(step: int, links: int, agreement: float | None) -> None:
        stage = "growing" if len(begun) < 2 else f"growing ({begun[-1]})"
        task.watch.tell(Progress(step, None, links, agreement, stage))

    def begin(start: str) -> None:
        begun.append(start)
        tell(0, 0, None)

    bootstrap = best_pool(
        task.clouds, task.anchors, task.rng, options=task.options, listener=tell, attempt_listener=begin
    )
    links = bootstrap.pool.pairs
    if bootstrap.converged:
        links = widen(task.clouds, bootstrap.pool, task.rng)
    given = task.given[np.setdiff1d(np.arange(len(task.given)), bootstrap.outlier_seeds)]
    others = links[sharing_no_row(links, given)]
    return State(bootstrap, np.concatenate([given, others]), given)


def match(task: Task, state: State) -> State:
    """Candidates among all rows, scored by maps that were fitted without them."""
    clouds, n_links = task.clouds, len(state.links)
    folds = FOLDS_OF_FEW if n_links < FEW_LINKS else FOLDS
    if clouds.large:
        folds = FOLDS_OF_MANY
    unfinished = task.watch.unfinished(lambda done, of: task.tell("matching", done, n_links, of))
    one_pass = None if unfinished is None else partial(clouds.matches, unfinished=unfinished)
    folds = folds if task.options.crossfitted else 1  # one map: not cross-fitted
    return _fitted(task, state, state.links, folds=folds, one_pass=one_pass)


def score(task: Task, state: State, links: np.ndarray) -> State:
    """What the links (m, 2) near the candidates say of them, and which the calibration is fitted to."""
    fitted = fitted_links(state.candidates, task.rng)
    nearby = nearby_links(links, task.rng)
    rivals_of = fitted if task.options.one_to_one else None
    features = neighbourhood_features(task.clouds, state.candidates, nearby, task.rng, rivals_of)
    return replace(state, features=features, fitted=fitted)


def estimate(task: Task, state: State) -> State:
    """Probabilities of the candidates, and the overlap that follows from them."""
    if not task.options.calibrated:  # all mutual candidates are equally probable, the best score first
        links = state.candidates.mutual()
        links = links[np.argsort(-state.candidates.score[links], kind="stable")]
        equal, none = np.full(len(links), 0.5), np.empty(0, np.int64)
        return replace(state, calibrated=Calibrated(links, equal, float(len(links)), none, np.empty(0)))
    runners_up = not task.options.one_to_one
    calibrated = calibrate(state.candidates, state.features, state.fitted, k=task.clouds.k, runners_up=runners_up)
    return replace(state, calibrated=calibrated)


def refit(task: Task, first: State) -> State:
    """The candidates under maps that are fitted to all of them, each by its probability, where that pays.

    Which share of them is right is estimated anew each time, by other maps and other folds; the mean of all estimates
    is taken, since their errors partly cancel. Clouds that are matched along one map alone are left as they are: there
    it was not measured.
    """
    options, sizes = task.options, (task.clouds.n_a, task.clouds.n_b)
    matched_once = max(sizes) > FULL_FOLDS
    judged = options.calibrated and options.crossfitted and first.calibrated.model is not None
    if matched_once or not judged or _verdict(task, first).name == NOT_LINKABLE:
        return first
    refits = options.refits
    if refits is None:
        best_f1 = intervals.expected_f1(first.calibrated.probability, first.calibrated.overlap).max()
        refits = REFITS if best_f1 < REFITTED_BELOW else 0
    state, shares = first, [first.calibrated.probability.mean()]
    for done in range(refits):
        task.tell("refitting", done + 1, len(state.calibrated.positions))
        again = _refitted(task, state)
        if again.calibrated.model is None:
            break
        state = again
        shares.append(state.calibrated.probability.mean())
    if state is first:
        return first
    share = float(np.exp(np.log(shares).mean()))
    return replace(state, calibrated=recounted(state.calibrated, share, min(sizes)), unaided=first)


def decide(task: Task, state: State) -> Decision:
    """Which pairs are links, with the evidence for each, and whether to believe them."""
    bootstrap, candidates, calibrated = state.bootstrap, state.candidates, state.calibrated
    clouds, options, anchors = task.clouds, task.options, task.anchors
    verdict = _verdict(task, state.unaided or state)
    wrong = task.given[bootstrap.outlier_seeds] if len(task.given) else task.given
    rounds = len(bootstrap.pool.history)
    nothing = Decision("span", verdict, overlap=calibrated.overlap, wrong_seeds=wrong, rounds=rounds)
    if verdict.name == NOT_LINKABLE:
        return nothing
    certain = anchors is None or anchors.trusted
    ranked = ranked_pairs(candidates, calibrated, state.given, options.one_to_one, certain)
    kept = len(ranked.pairs)
    shown = nearby_links(state.links, task.rng) if clouds.large else state.links
    found = int(np.count_nonzero(candidates.are_mutual(state.given)))
    shared = intervals.shared_objects(calibrated.probability, len(state.given), found, min(clouds.n_a, clouds.n_b))
    if options.thresholded:
        kept = intervals.best_threshold(ranked.probability, shared.value)
    right = ranked.probability[:kept].sum()
    if options.calibrated and bootstrap.anchored and right < MAPPED_LEAST_PRECISION * kept:
        return replace(nothing, verdict=Verdict(NOT_LINKABLE, (*verdict.why, Reason("as_many_by_chance"))))
    return Decision(
        "span",
        verdict,
        pairs=ranked.pairs,
        probability=ranked.probability,
        evidence=explaining_columns(clouds, candidates, state.features, ranked, bootstrap.pool, shown),
        kept=kept,
        overlap=shared.value,
        overlap_range=shared.range,
        wrong_seeds=wrong,
        rounds=rounds,
    )


def _refitted(task: Task, state: State) -> State:
    """One refit: the candidates of maps that every mutual candidate is an anchor of, given pairs like all others.

    With given pairs as anchors of weight 1, in place of candidates that share a row with them, F1 was 0.7 points lower
    on average in seven runs (nfcorpus, papers and stackexchange; 15 seeds).
    """
    positions, probability = state.calibrated.positions, state.calibrated.probability
    links = np.column_stack([state.candidates.rows_a[positions], state.candidates.rows_b[positions]])
    again = _fitted(task, state, links, folds=FOLDS_OF_REFIT, weights=anchor_weights(probability))
    return estimate(task, score(task, again, likely_links(links, probability)))


def _fitted(task: Task, state: State, links: np.ndarray, **how: Any) -> State:
    """The candidates of maps that are fitted to these links (m, 2), and to the outside anchors that the pool is of."""
    outside = None
    if state.bootstrap.anchored and task.anchors is not None:
        outside = task.anchors.left, task.anchors.right
    return replace(state, candidates=crossfit(task.clouds, links, task.rng, outside=outside, **how).candidates)


def _verdict(task: Task, state: State) -> Verdict:
    """Whether to believe what the pool's own maps gave."""
    given = task.given
    recovered = float(state.candidates.are_mutual(given).mean()) if len(given) else None
    return span_verdict(
        state.bootstrap,
        state.calibrated.overlap,
        smaller=min(task.clouds.n_a, task.clouds.n_b),
        dimension=task.clouds.dimension,
        seeds=SeedCheck(len(given), recovered, state.bootstrap.wrong[state.bootstrap.outlier_seeds]),
    )


def _hubs(rows: np.ndarray, best: np.ndarray) -> list[list[int]]:
    """The rows of candidates that most rows of the other cloud prefer to all others, with their counts."""
    counts = np.bincount(rows[best[best[:, 0] >= 0, 0]])
    most = np.argsort(-counts, kind="stable")[:20]
    hubs = most[counts[most] >= 3]  # by chance alone some are chosen twice
    return np.column_stack([hubs, counts[hubs]]).tolist()


def fitted_links(candidates: Candidates, rng: np.random.Generator) -> np.ndarray:
    """Positions of the mutual candidates that the calibration is fitted to: all, or of very many a sample."""
    links = candidates.mutual()
    if len(links) <= MAX_FITTED_CANDIDATES:
        return links
    return np.sort(rng.choice(links, FITTED_OF_MANY, replace=False))


def nearby_links(pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pool (m, 2), or of a very large one enough links to surround any pair."""
    if len(pool) <= NEIGHBOURHOOD_LINKS:
        return pool
    some = rng.choice(len(pool), NEIGHBOURHOOD_LINKS, replace=False)
    return pool[np.sort(some)]


def folds_of_known(links: np.ndarray) -> int:
    """Into how many folds the links (m, 2) are cut that new rows are judged by."""
    return FOLDS_OF_MANY if len(links) >= FEW_LINKS else FOLDS


def anchor_weights(probability: np.ndarray) -> np.ndarray:
    """How much each candidate counts as an anchor, (m,).

    Wrong links between near neighbours still say where things lie: none is left out.
    """
    return MIN_ANCHOR_WEIGHT + (1 - MIN_ANCHOR_WEIGHT) * probability


def likely_links(links: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Those of the links (m, 2), the surest first, that are more likely right than wrong; some in any case."""
    count = int(np.count_nonzero(probability > 0.5))
    return links[: max(MIN_NEARBY_LINKS, count)]


def _packed(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON has it; arrays are put aside, by number."""
    if is_dataclass(value):
        held = {each.name: _packed(getattr(value, each.name), arrays) for each in fields(value)}
        return {"kind": type(value).__name__, "held": held}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        return [_packed(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(plain: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that was packed."""
    if isinstance(plain, list):
        return tuple(_unpacked(each, arrays) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]]
    return KEPT[plain["kind"]](**{name: _unpacked(each, arrays) for name, each in plain["held"].items()})
