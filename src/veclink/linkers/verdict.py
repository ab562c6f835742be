"""Whether to believe a result: a verdict and its reasons, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.no_links import (
    FEW_AMONG_MANY,
    FROM_NOTHING,
    MORE_WILL_HARDLY_HELP,
    NEXT_WITHOUT_SEEDS,
    NO_LINKS_FROM_GIVEN,
    NO_LINKS_WITHOUT_SEEDS,
    STILL_POSSIBLE,
    TOO_FEW_ROWS,
    USUALLY_ENOUGH,
    causes_from_anchors,
    causes_from_pairs,
    next_from_given,
)
from veclink.data.summary import DOUBTFUL, LINKABLE, NOT_LINKABLE
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh import AGREED, DISPUTED
from veclink.linkers.span.constants import (
    CLEAR_OVERLAP_FACTOR,
    LOW_DIM_OVERLAP_FACTOR,
    MIN_BORNE_OUT,
    MIN_DIM_FOR_SEED_CHECK,
    MIN_OVERLAP_FRACTION,
    MIN_POOL,
    MIN_SEED_RECOVERY,
    MIN_SEEDS_TO_VOUCH,
    ROWS_SAID_TO_BE_FEW,
)
from veclink.linkers.span.starts import Bootstrap

_AS_MANY_BY_CHANCE = "Chance alone would produce this many likely pairs"
NOTHING_CERTAIN = f"{_AS_MANY_BY_CHANCE}: no shared object is certain."
NOT_BORNE_OUT = (
    "Linking without seeds proposed far more pairs than seem to be shared. Look at the links before use, or give some "
    "known pairs (--seeds)."
)


@dataclass(frozen=True)
class Verdict:
    """One of "linkable", "doubtful" and "not linkable", and the reasons for it."""

    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class SeedCheck:
    """How the given pairs fared.

    Attributes
    ----------
    given : int
        How many there were.
    recovered : float, optional
        Share of them that are mutual candidates under maps fitted without them; None without any.
    outliers : int
        How many look wrong.
    """

    given: int
    recovered: float | None
    outliers: int

    def vouches(self, dimension: int) -> bool:
        """Whether enough of them come out as links again to vouch for a small overlap."""
        if self.recovered is None:
            return False
        enough = self.given >= MIN_SEEDS_TO_VOUCH and self.recovered >= MIN_SEED_RECOVERY
        return enough and dimension >= MIN_DIM_FOR_SEED_CHECK

    def reasons(self) -> list[str]:
        """What a person is told about them."""
        said = []
        if self.recovered is not None:
            found = round(self.recovered * self.given)
            again = f"All {found:,}" if found == self.given else f"{found:,} of {self.given:,}"
            said.append(f"{again} seeds were found again when held out.")
            if self.given >= USUALLY_ENOUGH and self.recovered < MIN_SEED_RECOVERY and not self.outliers:
                said.append(MORE_WILL_HARDLY_HELP)
        if self.outliers:
            of = f" of the {self.given:,}" if self.given else ""  # anchors are no pairs of rows
            said.append(f"{self.outliers:,}{of} seeds look wrong and were not used.")
        return said


def span_verdict(bootstrap: Bootstrap, overlap: float, *, smaller: int, dimension: int, seeds: SeedCheck) -> Verdict:
    """The verdict on calibrated links.

    Parameters
    ----------
    bootstrap : Bootstrap
        The pool that the maps were fitted to.
    overlap : float
        Estimated number of shared objects, by the probabilities alone.
    smaller : int
        Rows of the smaller cloud.
    dimension : int
        Of the smaller space: in few dimensions neighbours agree by chance.
    seeds : SeedCheck
        How the given pairs fared.
    """
    shared = overlap / smaller
    least = max(MIN_OVERLAP_FRACTION, LOW_DIM_OVERLAP_FACTOR / dimension)
    reasons = seeds.reasons()
    borne_out = bootstrap.started_from != FROM_NOTHING or shared >= MIN_BORNE_OUT * bootstrap.share
    if shared >= CLEAR_OVERLAP_FACTOR * least and borne_out:
        return Verdict(LINKABLE, tuple(reasons))
    if shared >= least and not borne_out:
        reasons.append(NOT_BORNE_OUT)
        return Verdict(DOUBTFUL, tuple(reasons))
    if seeds.vouches(dimension) or shared >= least:
        reasons.append("So few shared objects are hard to tell from near neighbours. Look at the links before use.")
        return Verdict(DOUBTFUL, tuple(reasons))
    # how many seem to be shared is not said: none of them is certain
    counted = f"{overlap:,.0f}, {shared:.0%} of the smaller collection"
    chance = f"{_AS_MANY_BY_CHANCE} ({counted}): no shared object is certain."
    coming = _next_from_nothing(seeds) if bootstrap.started_from == FROM_NOTHING else ()
    return Verdict(NOT_LINKABLE, (*reasons, chance, *coming))


def _next_from_nothing(seeds: SeedCheck) -> tuple[str, str]:
    """What to do where linking grew from nothing, and nothing is certain.

    Where it grew from given pairs or anchors, more of them would change nothing.
    """
    if not seeds.given:
        return STILL_POSSIBLE, NEXT_WITHOUT_SEEDS
    return STILL_POSSIBLE, next_from_given(seeds.given, outside=False, by_column=False)


def not_converged(bootstrap: Bootstrap, anchors: Anchors | None) -> Verdict:
    """The verdict where there is no pool to fit a map to. anchors: what was given."""
    n_rows = bootstrap.pool.extent
    if n_rows < MIN_POOL:
        reason = f"{TOO_FEW_ROWS}: the smaller collection has {n_rows:,}, and at least {MIN_POOL} are needed."
        return Verdict(NOT_LINKABLE, (reason,))
    best = max(share for _, share in bootstrap.tried)
    tried = (
        f"Of {len(bootstrap.tried)} ways to start, the best paired {best:.0%} of the smaller collection, no more than "
        "between unrelated vectors."
    )
    few = FEW_AMONG_MANY.format(rows=n_rows) if n_rows < ROWS_SAID_TO_BE_FEW else ""
    if anchors is None:
        reasons = NO_LINKS_WITHOUT_SEEDS, tried, few, NEXT_WITHOUT_SEEDS
        return Verdict(NOT_LINKABLE, tuple(filter(None, reasons)))
    return Verdict(NOT_LINKABLE, _nothing_from(anchors, few, tried))


def _nothing_from(anchors: Anchors, few: str, tried: str) -> tuple[str, ...]:
    """The reasons where anchors were given and no start converged: few rows, where they are, before all else."""
    given = len(anchors)
    if anchors.outside:
        causes = causes_from_anchors(other=bool(few))
    else:
        causes = causes_from_pairs(other=bool(few))
    coming = next_from_given(given, outside=anchors.outside, by_column=anchors.by_column)
    if few:
        return f"{NO_LINKS_FROM_GIVEN} {few}", causes, tried, coming
    return f"{NO_LINKS_FROM_GIVEN} {causes}", tried, coming


def geh_verdict(confidence: np.ndarray, *, n_views: int, most_anchors: int, n_given: int) -> Verdict:
    """The verdict on GEH's links from two plain signs: did it grow, and did the views agree?

    Precision, recall and overlap are not estimated: θ is a share of votes, which runs above the precision when the
    overlap is small.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Posterior θ of the links beyond the given pairs.
    n_views : int
        Views in all.
    most_anchors : int
        The most anchors that a view of any iteration held.
    n_given : int
        Pairs that were given.
    """
    if not len(confidence):
        return Verdict(NOT_LINKABLE, (f"No pair was found beyond the {n_given:,} given.",))
    if most_anchors <= n_given:
        n_new = len(confidence)
        reason = f"No view held more than the {n_given:,} given pairs, so nothing confirms the {n_new:,} new links."
        return Verdict(DOUBTFUL, (reason,))
    agreement = float(confidence.mean())
    reason = (
        f"On average, {agreement:.0%} of the {n_views:,} views proposed a new link. Where linking worked, it was "
        f"{AGREED:.0%} or more; where most links were wrong, under {DISPUTED:.0%}."
    )
    if agreement >= AGREED:
        return Verdict(LINKABLE, (reason,))
    return Verdict(DOUBTFUL if agreement >= DISPUTED else NOT_LINKABLE, (reason,))
