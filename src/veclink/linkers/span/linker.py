"""Span linking, the default: grow a pool of links from any start, then judge every mutual candidate without labels.

The path: `starts` finds a pool that takes off, `candidates` scores pairs by maps fitted without them, `locality` adds
what their surroundings say, `confidence` turns that into probabilities, and the verdict here says whether to believe
them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.calibration import FITTED, Calibrated, best_threshold, calibrate
from veclink.confidence.candidates import FOLDS, Candidates, crossfit
from veclink.data.pairs import one_to_one as choose_one_to_one
from veclink.data.pairs import pair_keys
from veclink.linkers.span.growing import Pool, Start, widen
from veclink.linkers.span.starts import Found, best_pool
from veclink.linkers.trace import traced
from veclink.progress import Progress, ProgressListener

if TYPE_CHECKING:
    from veclink.linkers.checkpoint import Checkpoint

NEIGHBOURS = 10
FEWER_FOLDS = 3  # of a pool of thousands: what is left out of each map is not missed
SURROUNDING = 1024  # links of a pool among which the neighbours of a pair are looked for
FEW = 30  # a pool of fewer links fits no map
RECOVERED = 0.5  # share of the given pairs that must come out as links again, unaided, to vouch for an overlap
SHARED = 0.085  # of the smaller cloud; without an overlap the estimate reached 0.07
ROOMY = 64  # dimensions; in fewer, random clouds can be turned until a few given pairs and many neighbours fit
CRAMPED = 8.0  # divided by the dimensions, the share that must seem to be in both there: 0.18 was seen by chance in 32

APPROXIMATE_IS_GONE = (
    "The approximate pass was removed, as it lost partners and was rarely quicker; the exact pass runs instead. Leave "
    "the option out: the next release refuses it."
)


@dataclass(frozen=True, eq=False)
class Linked:
    """What span linking found: all calibrated pairs, the surest first, of which the first `kept` are links.

    trace: how it came about (`trace.traced`).
    """

    pairs: np.ndarray
    probability: np.ndarray
    evidence: dict[str, np.ndarray]
    kept: int
    overlap: float
    verdict: str
    reasons: tuple[str, ...]
    suspects: np.ndarray
    rounds: int
    trace: dict[str, Any] = field(default_factory=dict)


def span(
    clouds: CloudPair,
    start: Start | None,
    *,
    one_to_one: bool = True,
    approximate: bool = False,
    random_state: int = 0,
    progress: ProgressListener | None = None,
    checkpoint: Checkpoint | None = None,
) -> Linked:
    """Link the rows of two centred clouds from a start: given pairs, outside anchors, or None for nothing.

    approximate: no longer does anything but warn; the final pass is always exact.
    checkpoint: where each stage is kept, and found again by a run that goes on.
    """
    if approximate:
        warnings.warn(APPROXIMATE_IS_GONE, FutureWarning, stacklevel=2)
    rng = np.random.default_rng(random_state)

    def listener(step: int, links: int, agreement: float) -> None:
        if progress is not None:
            progress(Progress(step, None, links, agreement, "growing"))

    given = np.empty((0, 2), np.int64) if start is None or start.pairs is None else start.pairs

    def grown() -> tuple[Found, np.ndarray]:
        found = best_pool(clouds, start, rng, listener=listener)
        wide = widen(clouds, found.pool, rng) if found.converged and len(found.pool.pairs) >= FEW else found.pool.pairs
        return found, wide

    found, wide = grown() if checkpoint is None else checkpoint.grown(rng, grown)
    rounds = len(found.pool.history)
    if not found.converged or len(found.pool.pairs) < FEW:
        return _nothing(found, rounds)
    suspect = np.isin(np.arange(len(given)), found.suspects)
    pool = _with_given(wide, given[~suspect])

    def matching(done: int, of: int | None) -> None:
        if progress is not None:
            progress(Progress(done, of, len(pool), None, "matching"))

    matching(0, None)

    def matched() -> tuple[Candidates, list[str]]:
        one_pass = None if checkpoint is None else partial(clouds.matches, unfinished=checkpoint.unfinished(matching))
        found = crossfit(clouds, pool, rng, folds=FEWER_FOLDS if clouds.large else FOLDS, one_pass=one_pass)
        return found, []

    candidates, said = matched() if checkpoint is None else checkpoint.candidates(rng, matched)
    links = candidates.mutual()
    if progress is not None:
        progress(Progress(rounds, None, len(links), None, "judging"))
    fitted = links if len(links) <= FITTED else np.sort(rng.choice(links, FITTED, replace=False))
    beside = _surroundings(clouds, candidates, _some(pool, rng), rng, None if not one_to_one else fitted)
    calibrated = calibrate(candidates, beside, fitted, k=clouds.k, runners_up=not one_to_one)
    recovered = _recovered(candidates, calibrated, given)
    verdict, reasons = _verdict(found, calibrated, min(clouds.n_a, clouds.n_b), clouds.dimension, recovered, len(given))
    reasons = (*reasons, *said)
    trace = traced(found, candidates, calibrated)
    if verdict == "not linkable":
        none = np.empty((0, 2), np.int64)
        return Linked(none, np.empty(0), {}, 0, calibrated.overlap, verdict, reasons, found.suspects, rounds, trace)
    listed = Listed.of(candidates, calibrated, given[~suspect], one_to_one)
    kept = best_threshold(listed.probability, calibrated.overlap)
    evidence = _evidence(clouds, candidates, beside, listed, found.pool, pool)
    return Linked(
        listed.pairs,
        listed.probability,
        evidence,
        kept,
        calibrated.overlap,
        verdict,
        reasons,
        found.suspects,
        rounds,
        trace,
    )


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs to report, the surest first: their probabilities, their positions among the candidates (−1: given only)."""

    pairs: np.ndarray
    probability: np.ndarray
    positions: np.ndarray
    given: np.ndarray

    @classmethod
    def of(cls, candidates: Candidates, calibrated: Calibrated, given: np.ndarray, one_to_one: bool) -> Listed:
        """The calibrated candidates and the given pairs, which are certain unless they look wrong."""
        n_b = len(candidates.best_b)
        positions, probability = (
            calibrated.ranked() if not one_to_one else (calibrated.positions, calibrated.probability)
        )
        pairs = np.column_stack([candidates.rows_a[positions], candidates.rows_b[positions]])
        keys, given_keys = pair_keys(pairs, n_b), pair_keys(given, n_b)
        again = np.isin(keys, given_keys)
        pairs = np.concatenate([given, pairs[~again]])
        probability = np.concatenate([np.ones(len(given)), probability[~again]])
        positions = np.concatenate([_looked_up(given_keys, keys, positions), positions[~again]])
        is_given = np.arange(len(pairs)) < len(given)
        chosen = (
            choose_one_to_one(pairs, probability)
            if one_to_one
            else np.lexsort((pairs[:, 1], pairs[:, 0], -probability))
        )
        return cls(pairs[chosen], probability[chosen], positions[chosen], is_given[chosen])


def _looked_up(wanted: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value of each wanted key, −1 where it is not among the keys."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[place] == wanted, values[place], -1)


def _nothing(found: Found, rounds: int) -> Linked:
    best = max(share for _, share in found.tried)
    reason = (
        f"No start took off: of {len(found.tried)} tried, the best ended with {best:.0%} of the smaller collection in "
        "pairs that the views agree on, as few as between unrelated vectors."
        if not found.converged
        else f"Views agree on {len(found.pool.pairs)} pairs only, and probabilities need {FEW}: too few rows to judge."
    )
    none = np.empty((0, 2), np.int64)
    suspects = np.empty(0, np.int64)
    return Linked(none, np.empty(0), {}, 0, 0.0, "not linkable", (reason,), suspects, rounds, traced(found))


def _with_given(pool: np.ndarray, given: np.ndarray) -> np.ndarray:
    free = ~(np.isin(pool[:, 0], given[:, 0]) | np.isin(pool[:, 1], given[:, 1]))
    return np.concatenate([given, pool[free]])


def _some(pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pool, or of a very large one enough links to surround any pair."""
    return pool if len(pool) <= SURROUNDING else pool[np.sort(rng.choice(len(pool), SURROUNDING, replace=False))]


def _surroundings(
    clouds: CloudPair,
    candidates: Candidates,
    pool: np.ndarray,
    rng: np.random.Generator,
    fitted: np.ndarray | None = None,
) -> np.ndarray:
    """(c, 4): correlation and overlap of the links around both; how alike, and how high, their densities are.

    fitted: positions of the mutual candidates that others are learnt from, for which the rivals are looked at too;
    None looks at the rivals of all.
    """
    beside = np.zeros((len(candidates.rows_a), 4), np.float32)
    wanted = np.zeros(len(candidates.rows_a) + 1, bool)  # the last one stands for "no candidate", −1
    if fitted is None:
        wanted[candidates.best_a[:, :2]] = wanted[candidates.best_b[:, :2]] = True
    else:
        wanted[candidates.mutual()] = True
        wanted[candidates.best_a[candidates.rows_a[fitted], :2]] = True
        wanted[candidates.best_b[candidates.rows_b[fitted], :2]] = True
    looked_at = np.flatnonzero(wanted[:-1])
    beside[looked_at, 0], beside[looked_at, 1] = clouds.local_agreement(
        pool, candidates.rows_a[looked_at], candidates.rows_b[looked_at]
    )
    density_a, density_b = clouds.own_density("a", rng), clouds.own_density("b", rng)
    density_a, density_b = density_a[candidates.rows_a], density_b[candidates.rows_b]
    beside[:, 2], beside[:, 3] = -np.abs(density_a - density_b), density_a + density_b
    return beside


def _recovered(candidates: Candidates, calibrated: Calibrated, given: np.ndarray) -> float | None:
    """Share of the given pairs that are mutual candidates under maps fitted without them; None without any given."""
    if not len(given):
        return None
    n_b = len(candidates.best_b)
    keys = candidates.rows_a[calibrated.positions] * n_b + candidates.rows_b[calibrated.positions]
    return float(np.isin(pair_keys(given, n_b), keys).mean())


def _verdict(
    found: Found, calibrated: Calibrated, smaller: int, dimension: int, recovered: float | None, n_given: int
) -> tuple[str, tuple[str, ...]]:
    shared = calibrated.overlap / smaller
    reasons = [
        f"Starting from {found.started_from}, views agree on pairs for {found.share:.0%} of the smaller collection.",
        f"About {calibrated.overlap:,.0f} objects seem to be in both, {shared:.0%} of the smaller collection.",
    ]
    least = max(SHARED, CRAMPED / dimension)
    vouched = recovered is not None and n_given >= 3 and recovered >= RECOVERED and dimension >= ROOMY
    if recovered is not None:
        reasons.append(f"{recovered:.0%} of the {n_given:,} given pairs come out as links again when left out.")
    if len(found.suspects):
        reasons.append(f"{len(found.suspects):,} of the {n_given:,} given pairs look wrong and were not used.")
    if shared >= 1.5 * least:
        return "linkable", tuple(reasons)
    if vouched or shared >= least:
        reasons.append("So few shared objects are hard to tell from near neighbours: look at the links before use.")
        return "doubtful", tuple(reasons)
    reasons.append("That is no more than what near neighbours alone bring about: no shared object is certain.")
    return "not linkable", tuple(reasons)


def _evidence(
    clouds: CloudPair, candidates: Candidates, beside: np.ndarray, listed: Listed, found: Pool, pool: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns that explain each listed pair."""
    n_b, at = clouds.n_b, listed.positions
    known = at >= 0
    keys, wanted = pair_keys(found.pairs, n_b), pair_keys(listed.pairs, n_b)
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    in_pool = keys[order[place]] == wanted
    votes = np.where(in_pool, np.rint(found.share[order[place]] * found.views), 0).astype(np.int64)
    columns: dict[str, np.ndarray] = {
        "score": np.where(known, candidates.score[at], np.nan).astype(np.float32),
        "votes": votes,
        "views": np.full(len(at), found.views),
        "given": listed.given,
        "local_correlation": np.where(known, beside[at, 0], np.nan).astype(np.float32),
        "shared_neighbours": np.where(known, beside[at, 1], np.nan).astype(np.float32),
        "density_match": np.where(known, beside[at, 2], np.nan).astype(np.float32),
        "density": np.where(known, beside[at, 3], np.nan).astype(np.float32),
    }
    for side, best, own, other in (
        ("b", candidates.best_a, listed.pairs[:, 0], candidates.rows_b),
        ("a", candidates.best_b, listed.pairs[:, 1], candidates.rows_a),
    ):
        ranked = best[own]
        rival = np.where(ranked[:, 0] == at, ranked[:, 1], ranked[:, 0])
        place_of = np.argmax(ranked == at[:, None], axis=1) + 1
        columns[f"rank_{side}"] = np.where(known & (ranked == at[:, None]).any(axis=1), place_of, 0)
        columns[f"rival_{side}"] = np.where(rival >= 0, other[rival], -1)
        columns[f"rival_{side}_score"] = np.where(rival >= 0, candidates.score[rival], np.nan).astype(np.float32)
    nearest, similarity = clouds.nearest_links(listed.pairs, pool)
    for i in range(nearest.shape[1]):
        columns[f"near{i + 1}_a"], columns[f"near{i + 1}_b"] = pool[nearest[:, i], 0], pool[nearest[:, i], 1]
        columns[f"near{i + 1}_similarity"] = similarity[:, i]
    return columns
