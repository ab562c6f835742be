"""Span linking, the default: grow a pool of links from any start, then calibrate every mutual candidate without labels.

`span` is the path: `grow` finds a pool whose bootstrap converges, `match` scores pairs by maps fitted without them,
`score` adds what their neighbourhoods say, `estimate` turns that into probabilities, `refit` does the three again with
the probable candidates as anchors, and `decide` says which pairs are links and whether to believe them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence import intervals
from veclink.confidence.calibration import Calibrated, calibrate, recounted
from veclink.confidence.candidates import FOLDS, Candidates, crossfit
from veclink.confidence.constants import FULL_FOLDS
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.pairs import sharing_no_row
from veclink.data.words import Reason
from veclink.errors import InputError
from veclink.linkers.anchors import Anchors
from veclink.linkers.checkpoint import NOBODY, Watch
from veclink.linkers.options import SpanOptions
from veclink.linkers.result import Decision
from veclink.linkers.span import scoring
from veclink.linkers.span.centring import centred
from veclink.linkers.span.constants import (
    FEW_LINKS,
    FOLDS_OF_FEW,
    FOLDS_OF_MANY,
    FOLDS_OF_REFIT,
    MAPPED_LEAST_PRECISION,
    REFITS,
    REFITTED_BELOW,
)
from veclink.linkers.span.growing import widen
from veclink.linkers.span.ranking import explaining_columns, ranked_pairs
from veclink.linkers.span.starts import DEFAULT_OPTIONS, best_pool
from veclink.linkers.span.state import Growing, State, Task
from veclink.linkers.trace import trace_of_calibration, trace_of_candidates, trace_of_growth
from veclink.linkers.verdict import NOT_LINKABLE, SeedCheck, Verdict, not_converged, span_verdict


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
    task = Task(clouds, anchors, options, np.random.default_rng(random_state), watch)
    state = task.kept("grown", partial(grow, task))
    bootstrap = state.bootstrap
    trace, rounds = trace_of_growth(bootstrap), len(bootstrap.pool.history)
    if not bootstrap.converged:
        return Decision("span", not_converged(bootstrap, anchors), overlap=0.0, rounds=rounds, trace=trace)
    if bootstrap.means is not None:
        task = replace(task, clouds=centred(clouds, bootstrap.means))
    task.tell("matching", 0, len(state.links))
    state = task.kept("candidates", partial(match, task, state))
    trace |= trace_of_candidates(state.candidates)
    task.tell("judging", rounds, len(state.candidates.mutual()))
    state = refit(task, estimate(task, score(task, state, state.links)))
    trace |= trace_of_calibration(state.calibrated)
    return replace(decide(task, state), trace=trace)


def grow(task: Task) -> State:
    """The pool of the best start, widened where the clouds are large, and the given pairs that do not look wrong."""
    growing = Growing(task.watch)
    bootstrap = best_pool(
        task.clouds, task.anchors, task.rng, options=task.options, listener=growing.tell, attempt_listener=growing.begin
    )
    links = bootstrap.pool.pairs
    if bootstrap.converged:
        links = widen(task.clouds, bootstrap.pool, task.rng)
    looks_wrong = np.isin(np.arange(len(task.given)), bootstrap.outlier_seeds)
    given = task.given[~looks_wrong]
    others = links[sharing_no_row(links, given)]
    return State(bootstrap, np.concatenate([given, others]), given)


def match(task: Task, state: State) -> State:
    """Candidates among all rows, scored by maps that were fitted without them."""
    clouds, n_links = task.clouds, len(state.links)
    folds = FOLDS_OF_FEW if n_links < FEW_LINKS else FOLDS
    if clouds.large:
        folds = FOLDS_OF_MANY
    unfinished = task.watch.unfinished(lambda done, of: task.tell("matching", done, n_links, of))
    fitted = crossfit(
        clouds,
        state.links,
        task.rng,
        folds=folds if task.options.crossfitted else 1,  # one map: not cross-fitted
        outside=task.outside(state.bootstrap),
        one_pass=None if unfinished is None else partial(clouds.matches, unfinished=unfinished),
    )
    return replace(state, candidates=fitted.candidates)


def score(task: Task, state: State, links: np.ndarray) -> State:
    """What the links (m, 2) near the candidates say of them, and which the calibration is fitted to."""
    fitted = scoring.fitted_links(state.candidates, task.rng)
    nearby = scoring.nearby_links(links, task.rng)
    rivals_of = fitted if task.options.one_to_one else None
    features = neighbourhood_features(task.clouds, state.candidates, nearby, task.rng, rivals_of)
    return replace(state, features=features, fitted=fitted)


def estimate(task: Task, state: State) -> State:
    """Probabilities of the candidates, and the overlap that follows from them."""
    if not task.options.calibrated:
        return replace(state, calibrated=_equally_probable(state.candidates))
    runners_up = not task.options.one_to_one
    calibrated = calibrate(state.candidates, state.features, state.fitted, k=task.clouds.k, runners_up=runners_up)
    return replace(state, calibrated=calibrated)


def refit(task: Task, first: State) -> State:
    """The candidates under maps that are fitted to all of them, each by its probability, where that pays.

    Which share of them is right is estimated anew each time, by other maps and other folds; the mean of all estimates
    is taken, since their errors partly cancel. Clouds that are matched along one map alone are left as they are: there
    it was not measured.
    """
    options, clouds = task.options, task.clouds
    matched_once = max(clouds.n_a, clouds.n_b) > FULL_FOLDS
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
    return replace(state, calibrated=recounted(state.calibrated, share, task.smaller), unaided=first)


def decide(task: Task, state: State) -> Decision:
    """Which pairs are links, with the evidence for each, and whether to believe them."""
    bootstrap, candidates, calibrated = state.bootstrap, state.candidates, state.calibrated
    clouds, options, anchors = task.clouds, task.options, task.anchors
    verdict = _verdict(task, state.unaided or state)
    wrong = task.given[np.isin(np.arange(len(task.given)), bootstrap.outlier_seeds)]
    rounds = len(bootstrap.pool.history)
    nothing = Decision("span", verdict, overlap=calibrated.overlap, wrong_seeds=wrong, rounds=rounds)
    if verdict.name == NOT_LINKABLE:
        return nothing
    certain = anchors is None or anchors.trusted
    ranked = ranked_pairs(candidates, calibrated, state.given, options.one_to_one, certain=certain)
    kept = len(ranked.pairs)
    shown = scoring.nearby_links(state.links, task.rng) if clouds.large else state.links
    found = int(np.count_nonzero(candidates.are_mutual(state.given)))
    shared = intervals.shared_objects(calibrated.probability, len(state.given), found, task.smaller)
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
    fitted = crossfit(
        task.clouds,
        links,
        task.rng,
        weights=scoring.anchor_weights(probability),
        folds=FOLDS_OF_REFIT,
        outside=task.outside(state.bootstrap),
    )
    again = replace(state, candidates=fitted.candidates)
    return estimate(task, score(task, again, scoring.likely_links(links, probability)))


def _verdict(task: Task, state: State) -> Verdict:
    """Whether to believe what the pool's own maps gave."""
    given = task.given
    recovered = float(state.candidates.are_mutual(given).mean()) if len(given) else None
    return span_verdict(
        state.bootstrap,
        state.calibrated.overlap,
        smaller=task.smaller,
        dimension=task.clouds.dimension,
        seeds=SeedCheck(len(given), recovered, state.bootstrap.wrong[state.bootstrap.outlier_seeds]),
    )


def _equally_probable(candidates: Candidates) -> Calibrated:
    """All mutual candidates as equally probable, the best score first."""
    links = candidates.mutual()
    order = np.argsort(-candidates.score[links], kind="stable")
    return Calibrated(
        positions=links[order],
        probability=np.full(len(links), 0.5),
        overlap=float(len(links)),
        others=np.empty(0, np.int64),
        other_probability=np.empty(0),
    )
